"""Masked arrays."""

import copy
import pickle
from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import NUMBERS, Array, numbers, rounded, variance
from ..operation import Table

TABLE = Table("masked arrays")
add = TABLE.add

ARITHMETIC = frozenset({"arithmetic"})
ORDERED = frozenset({"ordering"})


def masked(s: Subject, x: Array | None = None) -> Any:
    """Ten elements, of which every third is masked."""
    return np.ma.array(s.a if x is None else x, mask=~s.mask)


def plain(x: Any) -> Any:
    """What is not masked, and where it stands."""
    return x.compressed(), np.ma.getmaskarray(x)


add("np.ma.array", lambda s: plain(masked(s)))
add("data of a masked array", lambda s: (masked(s).data, np.ma.getdata(masked(s))))
add("get and set", lambda s: _get_and_set(s))
add("mask an element", lambda s: _mask_one(s))
add("slices", lambda s: plain(masked(s)[::-2]))
add("fancy get of a masked array", lambda s: plain(masked(s)[[0, 1, 1, 9]]))
add("filled", lambda s: masked(s).filled(s.values[12]))
add("filled by default", lambda s: masked(s).filled().shape)
add("copy and deepcopy", lambda s: (plain(masked(s).copy()), plain(copy.deepcopy(masked(s)))))
add("reshape and transpose", lambda s: plain(masked(s).reshape(2, 5).T))
add("compressed", lambda s: masked(s).compressed())
add("concatenate", lambda s: plain(np.ma.concatenate([masked(s), s.b])))
add("where", lambda s: plain(np.ma.where(s.mask, masked(s), s.b)))
add("choose", lambda s: plain(np.ma.choose([0, 1] * 5, [masked(s), s.b])))
add("repeat and take", lambda s: (plain(masked(s).repeat(2)), plain(masked(s).take([0, 1, 9]))))
add("put", lambda s: _put(s))
add("add", lambda s: plain(masked(s) + s.b), needs=ARITHMETIC)
add("add in place", lambda s: _add_in_place(s), needs=ARITHMETIC)
add(
    "add of two", lambda s: plain(masked(s) + np.ma.array(s.b, mask=s.mask[::-1])), needs=ARITHMETIC
)
add("multiply", lambda s: plain(masked(s, numbers(s)) * numbers(s)), needs={"counting"})
add(
    "divide",
    lambda s: plain(masked(s, numbers(s)) / numbers(s)),
    lambda s: plain(masked(s, numbers(s) / numbers(s))),
    needs={"counting", "division"},
)
add(
    "sum",
    lambda s: (masked(s).sum(), np.ma.array(s.m, mask=s.m == s.m[1, 1]).sum(axis=0)[2:]),
    needs={"arithmetic", "equality"},
)
add(
    "cumsum",
    lambda s: masked(s, numbers(s)).cumsum().compressed(),
    needs={"counting", "arithmetic"},
)
add("mean", lambda s: masked(s, numbers(s)).mean(), needs={"counting", "division"})
add(
    "var",
    lambda s: rounded(masked(s, numbers(s)).reshape(2, 5).var(axis=1)),
    lambda s: rounded([variance(numbers(s)[places]) for places in ([1, 2, 4], [5, 7, 8])]),
    needs={"counting", "division"},
)
add(
    "median",
    lambda s: np.ma.median(masked(s, numbers(s))),
    lambda s: np.median(numbers(s)[s.mask]),
    needs={"counting", "division", "ordering"},
)
add("equal", lambda s: plain(masked(s) == s.a), needs={"equality"})
add("less", lambda s: plain(masked(s) < s.b), needs=ORDERED)
add(
    "max and min",
    lambda s: (masked(s, numbers(s)).max(), masked(s, numbers(s)).min()),
    lambda s: (numbers(s)[s.mask].max(), numbers(s)[s.mask].min()),
    needs={"counting", "ordering"},
)
add(
    "sort",
    lambda s: np.ma.sort(masked(s, numbers(s))).compressed(),
    lambda s: np.sort(numbers(s)[s.mask]),
    needs={"counting", "ordering"},
)
add(
    "sort with a fill value",
    lambda s: np.ma.sort(masked(s, numbers(s)), fill_value=numbers(s)[4]).compressed(),
    lambda s: np.sort(numbers(s)[s.mask]),
    needs={"counting", "ordering"},
)
add(
    "max with a fill value",
    lambda s: masked(s, numbers(s)).max(fill_value=numbers(s)[6]),
    needs={"counting", "ordering"},
)
add(
    "max of rows with a fill value",
    lambda s: plain(masked(s, numbers(s)).reshape(2, 5).max(axis=1, fill_value=numbers(s)[6])),
    lambda s: (numbers(s, [40, 11]), np.zeros(2, bool)),
    needs={"counting", "ordering"},
)
add(
    "argmax with a fill value",
    lambda s: masked(s, numbers(s)).argmax(fill_value=numbers(s)[6]),
    lambda s: 4,
    needs={"counting", "ordering"},
)
add(
    "argsort",
    lambda s: masked(s, numbers(s)).argsort()[:6],
    lambda s: np.flatnonzero(s.mask)[np.argsort(np.array(NUMBERS)[s.mask])],
    needs={"counting", "ordering"},
)
add("argmax", lambda s: masked(s, numbers(s)).argmax(), lambda s: 4, needs={"counting", "ordering"})
add(
    "unique",
    lambda s: np.ma.unique(masked(s)).compressed(),
    lambda s: np.sort(s.a[s.mask]),
    needs=ORDERED,
)
add("masked_where", lambda s: plain(np.ma.masked_where(s.mask, s.a)))
add(
    "masked_equal",
    lambda s: plain(np.ma.masked_equal(numbers(s), 17)),
    lambda s: plain(np.ma.masked_where(np.array(NUMBERS) == 17, numbers(s))),
    needs={"counting"},
)
add(
    "masked_greater",
    lambda s: plain(np.ma.masked_greater(numbers(s), 9)),
    lambda s: plain(np.ma.masked_where(np.array(NUMBERS) > 9, numbers(s))),
    needs={"counting", "ordering"},
)
add(
    "masked_inside",
    lambda s: plain(np.ma.masked_inside(numbers(s), 2, 9)),
    lambda s: plain(
        np.ma.masked_where((np.array(NUMBERS) >= 2) & (np.array(NUMBERS) <= 9), numbers(s))
    ),
    needs={"counting", "ordering"},
)
add(
    "masked_invalid",
    lambda s: plain(np.ma.masked_invalid(numbers(s))),
    lambda s: plain(np.ma.array(numbers(s))),
    needs={"counting"},
)
add("count", lambda s: (masked(s).count(), np.ma.count_masked(masked(s))))
add(
    "dot",
    lambda s: np.ma.dot(masked(s, numbers(s)), numbers(s)),
    lambda s: np.multiply(numbers(s)[s.mask], numbers(s)[s.mask]).sum(),
    needs={"counting", "arithmetic"},
)
add("anom", lambda s: plain(masked(s, numbers(s)).anom()), needs={"counting", "division"})
add(
    "clip",
    lambda s: plain(masked(s, numbers(s)).clip(2, 9)),
    lambda s: plain(masked(s, numbers(s, np.clip(NUMBERS, 2, 9)))),
    needs={"counting", "ordering"},
)
add("tolist", lambda s: masked(s).tolist())
add(
    "str",
    lambda s: str(masked(s)).split(),
    needs={"text"},
)
add("pickle", lambda s: plain(pickle.loads(pickle.dumps(masked(s)))), needs={"codec"})
add("hard masks", lambda s: _hard(s))
add("shrink and soften", lambda s: plain(masked(s).soften_mask().shrink_mask()))
add(
    "compress_rows and cols",
    lambda s: np.ma.compress_rowcols(np.ma.array(s.m, mask=np.arange(20).reshape(4, 5) == 7)),
)
add("notmasked_edges", lambda s: np.ma.notmasked_edges(masked(s)))
add("mvoid of records", lambda s: _records(s))
add(
    "apply_along_axis",
    lambda s: plain(
        np.ma.apply_along_axis(lambda row: row[::-1], 1, masked(s).reshape(2, 5))
    ).__len__(),
)
add("average", lambda s: np.ma.average(masked(s, numbers(s))), needs={"counting", "division"})
add(
    "ediff1d",
    lambda s: plain(np.ma.ediff1d(masked(s, numbers(s)))),
    needs={"counting", "arithmetic"},
)


def _get_and_set(s: Subject) -> Any:
    x = masked(s)
    x[0] = s.b[3]
    x[1] = s.b[4]
    return x[0], x[1], x[3] is np.ma.masked, plain(x)


def _mask_one(s: Subject) -> Any:
    x = masked(s)
    x[1] = np.ma.masked
    x[2:5] = np.ma.masked
    return plain(x)


def _put(s: Subject) -> Any:
    x = masked(s)
    x.put([0, 1], s.b[:2])
    return plain(x)


def _add_in_place(s: Subject) -> Any:
    x = masked(s)
    x += s.b
    return plain(x)


def _hard(s: Subject) -> Any:
    x = masked(s).harden_mask()
    x[:] = s.b
    return plain(x), x.data


def _records(s: Subject) -> Any:
    records = np.ma.zeros(4, dtype=[("n", int), ("x", s.dtype)])
    records["x"] = s.a[:4]
    records.mask = [(0, 1), (0, 0), (1, 0), (1, 1)]
    return records["x"].compressed(), records["n"].compressed()
