"""Elements put into arrays: one, many, of other types, into arrays that are built in part."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import NUMBERS, numbers
from ..operation import Table

TABLE = Table("assignment")
add = TABLE.add


def put(target: Any, index: Any, value: Any) -> Any:
    """`target[index] = value` as an expression; the target."""
    target[index] = value
    return target


add("assign one element", lambda s: put(s.a, 3, s.b[4]))
add("assign one element at a negative index", lambda s: put(s.a, -1, s.b[4]))
add("assign one element at a tuple", lambda s: put(s.m, (2, -1), s.b[4]))
add("assign one scalar to all", lambda s: put(s.a, slice(None), s.values[3]))
add("assign one scalar to an ellipsis", lambda s: put(s.m, ..., s.values[3]))
add("assign an array", lambda s: put(s.a, slice(None), s.b))
add("assign a list of scalars", lambda s: put(s.a, slice(None), s.values[:10]))
add("assign an array of objects", lambda s: put(s.a, slice(None), s.b.astype(object)))
add("assign to a half-built array", lambda s: put(s.h, slice(None), s.b))
add("assign a half-built array", lambda s: put(s.a, slice(None), s.h), needs={"default"})
add("assign to an empty array", lambda s: put(s.empty(10), slice(None), s.b))
add("assign to every third", lambda s: put(s.a, slice(None, None, 3), s.b[:4]))
add("assign to reversed", lambda s: put(s.a, slice(None, None, -1), s.b))
add("assign a row to all rows", lambda s: put(s.m, slice(None), s.b[:5]))
add("assign a column to all columns", lambda s: put(s.m, slice(None), s.b[:4, None]))
add("assign to a transposed view", lambda s: put(s.m.T, (slice(1, 3), slice(None)), s.m[:, :2].T))
add("assign to a row", lambda s: put(s.m, 2, s.b[:5]))
add("assign rows in exchange", lambda s: put(s.m, [0, 1], s.m[[1, 0]]))
add("exchange two elements", lambda s: _exchange(s))
add("assign to a 0-d array", lambda s: put(s.zeros(()), (), s.values[2]))
add(
    "assign a 0-d array",
    lambda s: put(s.a, 2, np.array(s.values[7], dtype=s.dtype)),
    lambda s: put(s.a, 2, s.values[7]),
)
add(
    "assign texts",
    lambda s: put(s.a, slice(None), [str(x) for x in s.b]),
    lambda s: s.b,
    needs={"text", "codec"},
)
add(
    "assign an array of texts",
    lambda s: put(s.h, slice(None), np.array([str(x) for x in s.b])),
    lambda s: s.b,
    needs={"text", "codec"},
)
add(
    "assign numbers",
    lambda s: put(s.a, slice(None), NUMBERS),
    lambda s: numbers(s),
    needs={"numbers"},
)
add(
    "assign one number to all",
    lambda s: put(s.a, slice(None), 3),
    lambda s: numbers(s, [3] * 10),
    needs={"numbers"},
)
add(
    "assign an array of numbers",
    lambda s: put(s.h, slice(None), np.array(NUMBERS)),
    lambda s: numbers(s),
    needs={"numbers"},
)
add(
    "assign to numbers",
    lambda s: put(np.zeros(10, int), slice(None), numbers(s)),
    lambda s: np.array(NUMBERS),
    needs={"numbers"},
)
add("assign None", lambda s: _none(s), lambda s: np.delete(s.a, 3))
add("ndarray.fill", lambda s: (s.a.fill(s.values[5]), s.a))
add("fill a half-built array", lambda s: (s.h.fill(s.values[5]), s.h))
add("fill a view", lambda s: (s.m[1:3, ::2].fill(s.values[5]), s.m))
add(
    "fill with a number",
    lambda s: (s.a.fill(7), s.a),
    lambda s: (None, numbers(s, [7] * 10)),
    needs={"numbers"},
)
add("np.copyto", lambda s: (np.copyto(s.a, s.b), s.a))
add("np.copyto with where", lambda s: (np.copyto(s.h, s.b, where=s.mask), s.h), needs={"default"})
add("np.copyto of one scalar", lambda s: (np.copyto(s.m, s.a[3]), s.m))
add("np.copyto of rows", lambda s: (np.copyto(s.m, s.a[:5]), s.m))
add(
    "np.copyto of numbers",
    lambda s: (np.copyto(s.a, np.array(NUMBERS), casting="unsafe"), s.a),
    lambda s: (None, numbers(s)),
    needs={"numbers"},
)
add("np.fill_diagonal", lambda s: (np.fill_diagonal(s.m, s.values[9]), s.m))
add("np.fill_diagonal with wrap", lambda s: (np.fill_diagonal(s.m.T, s.a[:2], wrap=True), s.m))
add("assign into flat", lambda s: (s.m.flat.__setitem__(slice(1, 8), s.b[:7]), s.m))
add("assign one element into flat", lambda s: (s.m.T.flat.__setitem__(7, s.b[3]), s.m))
add("assign into flat at a list", lambda s: (s.m.flat.__setitem__([3, 1, 19], s.b[:3]), s.m))
add("assign into flat at a mask", lambda s: (s.a.flat.__setitem__(s.mask, s.b[:3]), s.a))
add("assign flat", lambda s: (setattr(s.m, "flat", s.b[:3]), s.m))
add("assign flat of a transposed view", lambda s: (setattr(s.m.T, "flat", s.b), s.m))
add("assign flat of a half-built array", lambda s: (setattr(s.h, "flat", s.b), s.h))
add("ndarray.itemset by index", lambda s: put(s.m, np.unravel_index(7, s.m.shape), s.b[3]))
add("ndarray.setfield", lambda s: (s.a.setfield(s.b[3], s.dtype), s.a))
add(
    "assign shape",
    lambda s: (setattr(s.a, "shape", (2, 5)), s.a),
    lambda s: (None, s.a.reshape(2, 5)),
)
add("assign to a read-only array", lambda s: _read_only(s))


def _exchange(s: Subject) -> object:
    s.a[2], s.a[5] = s.a[5], s.a[2]
    return s.a


def _none(s: Subject) -> object:
    """An error where no element is made of None; the others are as they were."""
    try:
        s.a[3] = None
    except (TypeError, ValueError):
        pass
    return np.delete(s.a, 3)


def _read_only(s: Subject) -> object:
    s.a.flags.writeable = False
    try:
        s.a[3] = s.b[3]
    except ValueError as error:
        return str(error), s.a
    return s.a
