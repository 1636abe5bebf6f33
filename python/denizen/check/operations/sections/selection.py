"""Elements chosen, repeated, moved and left out."""

from typing import Any

import numpy as np

from ..inputs import numbers
from ..operation import Table

TABLE = Table("selection")
add = TABLE.add

PLACES = [0, 3, 3, 5, -1]
CHOICE = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0, 1])

add("take", lambda s: s.a.take(PLACES))
add("take of rows and columns", lambda s: (s.m.take([3, 0, 3], axis=0), s.m.take([1, 1], axis=1)))
add("take with an array of two dimensions", lambda s: np.take(s.a, [[0, 1], [8, 9]]))
add("take with mode='clip'", lambda s: np.take(s.a, [0, 30, -4], mode="clip"))
add("take with mode='wrap'", lambda s: np.take(s.a, [0, 13, -14], mode="wrap"))
add("take with out=", lambda s: (np.take(s.a, PLACES, out=s.b[2:7], mode="clip"), s.b)[1])
add("take with out= and mode='raise'", lambda s: np.take(s.a, PLACES, out=s.b[2:7].copy()))
add("take of a half-built array", lambda s: s.h.take([0, 9, 4]), needs={"default"})
add("take of nothing", lambda s: s.a.take(np.array([], dtype=int)))
add("np.take_along_axis", lambda s: np.take_along_axis(s.m, np.array([[1, 0, 4]] * 4), axis=1))
add(
    "np.put_along_axis",
    lambda s: (np.put_along_axis(s.m, np.array([[1], [0], [4], [2]]), s.b[:4, None], axis=1), s.m),
)
add("put", lambda s: (np.put(s.a, [1, 2, -1], s.b[:3]), s.a))
add("put of one scalar", lambda s: (s.a.put([1, 2], s.values[7]), s.a))
add("put with mode='clip'", lambda s: (np.put(s.a, [1, 40], s.b[:2], mode="clip"), s.a))
add("put with mode='wrap'", lambda s: (np.put(s.a, [1, 14], s.b[:2], mode="wrap"), s.a))
add("put into a view", lambda s: (np.put(s.m.T, [1, 7], s.b[:2]), s.m))
add("put into a half-built array", lambda s: (np.put(s.h, [8, 1], s.b[:2]), s.h), needs={"default"})
add("putmask", lambda s: (np.putmask(s.a, s.mask, s.b), s.a))
add("putmask of fewer values", lambda s: (np.putmask(s.a, s.mask, s.b[:3]), s.a))
add("putmask of a view", lambda s: (np.putmask(s.m.T, s.m.T == s.m[1, 2], s.b[:1]), s.m))
add("place", lambda s: (np.place(s.a, s.mask, s.b[:2]), s.a))
add("place into a half-built array", lambda s: (np.place(s.h, s.mask, s.b), s.h), needs={"default"})
add("extract", lambda s: np.extract(s.mask, s.a))
add("choose", lambda s: np.choose(CHOICE, [s.a, s.b]))
add("choose with mode='wrap'", lambda s: np.choose(CHOICE + 4, [s.a, s.b, s.a[::-1]], mode="wrap"))
add("choose with out=", lambda s: np.choose(CHOICE, [s.a, s.b], out=s.h))
add("choose among broadcast arrays", lambda s: np.choose([[0], [1]], [s.a, s.b[:1]]))
add("repeat", lambda s: (s.a.repeat(2), s.a.repeat(0)))
add("repeat by counts", lambda s: s.a.repeat([0, 1, 2, 0, 3, 0, 0, 1, 1, 1]))
add("repeat of rows and columns", lambda s: (s.m.repeat(2, axis=0), s.m.repeat(3, axis=1)))
add("tile", lambda s: (np.tile(s.a, 2), np.tile(s.m, (2, 1, 2)), np.tile(s.a, 0)))
add("where with three arguments", lambda s: np.where(s.mask, s.a, s.b))
add("where with scalars", lambda s: np.where(s.mask, s.a, s.values[3]))
add("where that broadcasts", lambda s: np.where(s.mask[:5], s.m, s.b[:4, None]))
add("where with a 0-d condition", lambda s: np.where(True, s.a, s.b))
add("where with one argument", lambda s: np.where(s.a == s.a[3:4]), needs={"equality"})
add("select", lambda s: np.select([s.mask, ~s.mask], [s.a, s.b], default=s.values[2]))
add("select with a default", lambda s: np.select([s.mask], [s.a], s.b))
add("compress", lambda s: (s.a.compress(s.mask), np.compress([1, 0, 1], s.m, axis=0)))
add("compress with out=", lambda s: np.compress(s.mask, s.a, out=s.b[:6].copy()))
add("insert one", lambda s: np.insert(s.a, 2, s.values[9]))
add("insert many", lambda s: np.insert(s.a, [1, 1, 8], s.b[:3]))
add(
    "insert a row and a column",
    lambda s: (np.insert(s.m, 1, s.b[:5], axis=0), np.insert(s.m, -1, s.b[:4], axis=1)),
)
add("insert at a slice", lambda s: np.insert(s.a, slice(2, 5), s.b[:3]))
add("delete one", lambda s: (np.delete(s.a, 3), np.delete(s.a, -1)))
add("delete many", lambda s: (np.delete(s.a, [1, 5, 5]), np.delete(s.a, slice(None, None, 2))))
add("delete by a mask", lambda s: np.delete(s.a, s.mask))
add(
    "delete rows and columns", lambda s: (np.delete(s.m, 1, axis=0), np.delete(s.m, [0, 2], axis=1))
)
add("append", lambda s: (np.append(s.a, s.b), np.append(s.m, s.m[:1], axis=0)))
add("append one scalar", lambda s: np.append(s.a, s.values[3]))
add("roll", lambda s: (np.roll(s.a, 3), np.roll(s.a, -13), np.roll(s.m, (1, 2), axis=(0, 1))))
add(
    "tril and triu",
    lambda s: (np.tril(s.m), np.triu(s.m, 1)),
    lambda s: (
        np.where(np.tri(4, 5, dtype=bool), s.m, s.zeros((4, 5))),
        np.where(~np.tri(4, 5, 0, dtype=bool), s.m, s.zeros((4, 5))),
    ),
    needs={"default"},
)
add("tril_indices", lambda s: s.m[np.tril_indices(4, m=5)])
add("diag_indices", lambda s: s.m[:, :4][np.diag_indices(4)])
add(
    "trim_zeros",
    lambda s: np.trim_zeros(numbers(s, [0, 0, 3, 0, 2, 0])),
    lambda s: numbers(s, [3, 0, 2]),
    needs={"counting"},
)
for mode in ("edge", "wrap", "reflect", "symmetric"):
    add(
        f"pad with mode='{mode}'",
        lambda s, mode=mode: (np.pad(s.a, 3, mode=mode), np.pad(s.m, ((1, 2), (0, 1)), mode=mode)),
    )
add("pad with a constant", lambda s: np.pad(s.a, 2, constant_values=s.values[4]))
add(
    "pad with the default constant",
    lambda s: np.pad(s.a, (1, 2)),
    lambda s: np.concatenate([s.zeros(1), s.a, s.zeros(2)]),
    needs={"counting"},
)
add("pad with mode='empty'", lambda s: np.pad(s.a, 2, mode="empty")[2:-2])
for mode in ("maximum", "minimum"):
    add(
        f"pad with mode='{mode}'",
        lambda s, mode=mode: np.pad(s.a, 2, mode=mode),
        needs={"ordering"},
    )
add("pad with mode='linear_ramp'", lambda s: np.pad(s.a, 2, mode="linear_ramp").shape)
add("pad by a function", lambda s: np.pad(s.a, 2, _ramp, value=s.values[3]))
add("apply_along_axis", lambda s: np.apply_along_axis(lambda row: row[::-1], 1, s.m))
add("apply_over_axes", lambda s: np.apply_over_axes(lambda m, axis: m.take([0], axis), s.m, [0]))
add("piecewise", lambda s: np.piecewise(s.a, [s.mask, ~s.mask], [lambda x: x[::-1], s.values[2]]))
add("np.unstack", lambda s: np.unstack(s.m, axis=1))
add("np.array_split", lambda s: np.array_split(s.a, 3))
add("np.split", lambda s: (np.split(s.a, 5), np.split(s.a, [2, 7]), np.split(s.m, [1], axis=1)))
add("np.hsplit and vsplit", lambda s: (np.hsplit(s.m, [2, 3]), np.vsplit(s.m, 2)))
add("np.dsplit", lambda s: np.dsplit(s.m.reshape(2, 2, 5), [2]))


def _ramp(vector: Any, width: Any, axis: int, keywords: Any) -> None:
    vector[: width[0]] = keywords["value"]
    vector[-width[1] :] = keywords["value"]
