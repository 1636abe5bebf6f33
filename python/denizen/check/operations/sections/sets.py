"""Arrays as sets."""

import numpy as np

from ..operation import Table

TABLE = Table("sets")
add = TABLE.add

ORDERED = frozenset({"ordering"})

add("unique", lambda s: np.unique(np.concatenate([s.a, s.b[:4]])), needs=ORDERED)
add(
    "unique with all outputs",
    lambda s: np.unique(
        s.a.take([3, 1, 3, 0, 9, 1]), return_index=True, return_inverse=True, return_counts=True
    ),
    needs=ORDERED,
)
add("unique of a matrix", lambda s: np.unique(s.m[:, [0, 0, 1]]), needs=ORDERED)
add("unique rows", lambda s: np.unique(s.m[[1, 0, 1]], axis=0), needs=ORDERED)
add("unique of nothing", lambda s: np.unique(s.a[:0]), needs=ORDERED)
add("unique of a half-built array", lambda s: np.unique(s.h), needs={"ordering", "default"})
add("unique_all", lambda s: tuple(np.unique_all(s.a.take([3, 1, 3]))), needs=ORDERED)
add("unique_counts", lambda s: tuple(np.unique_counts(s.a.take([3, 1, 3]))), needs=ORDERED)
add("unique_inverse", lambda s: tuple(np.unique_inverse(s.a.take([3, 1, 3]))), needs=ORDERED)
add("unique_values", lambda s: np.sort(np.unique_values(s.a.take([3, 1, 3]))), needs=ORDERED)
add("union1d", lambda s: np.union1d(s.a, s.m), needs=ORDERED)
add("intersect1d", lambda s: np.intersect1d(s.a[:6], s.b[:6]), needs=ORDERED)
add(
    "intersect1d with indices",
    lambda s: np.intersect1d(s.a[:6], s.b[:6], return_indices=True),
    needs=ORDERED,
)
add("setdiff1d", lambda s: np.setdiff1d(s.a, s.b[:4]), needs=ORDERED)
add("setxor1d", lambda s: np.setxor1d(s.a[:6], s.b[:6]), needs=ORDERED)
add("isin", lambda s: np.isin(s.m, s.a[:4]), needs={"equality"})
add("isin with invert=True", lambda s: np.isin(s.a, s.b[:4], invert=True), needs={"equality"})
add("isin of many", lambda s: np.isin(s.a, np.tile(s.b, 5)), needs=ORDERED)
add("isin with kind='sort'", lambda s: np.isin(s.a, s.b[:4], kind="sort"), needs=ORDERED)
add("set of scalars", lambda s: len({*s.a.tolist(), *s.a.tolist()}))
