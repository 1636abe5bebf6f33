"""Sorted, partitioned and searched arrays."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import ordered, packed
from ..operation import Table

TABLE = Table("sorting and searching")
add = TABLE.add

ORDERED = frozenset({"ordering"})

for kind in ("quicksort", "mergesort", "heapsort", "stable"):
    add(f"sort with kind='{kind}'", lambda s, kind=kind: (s.a.sort(kind=kind), s.a), needs=ORDERED)
add("argsort", lambda s: s.a.argsort(), needs=ORDERED)
add(
    "argsort with kind='stable' and ties",
    lambda s: np.argsort(np.concatenate([s.a, s.a]), kind="stable"),
    needs=ORDERED,
)
add(
    "argsort of rows and columns",
    lambda s: (np.argsort(s.m, axis=0, kind="stable"), np.argsort(s.m, axis=1, kind="stable")),
    needs=ORDERED,
)
add("argsort of everything", lambda s: np.argsort(s.m, axis=None, kind="stable"), needs=ORDERED)
add("sort of a sorted array", lambda s: np.sort(np.sort(s.a)), needs=ORDERED)
add("sort of equal elements", lambda s: np.sort(np.repeat(s.a[:1], 30)), needs=ORDERED)
add("sort of many elements", lambda s: np.sort(np.tile(s.m.ravel(), 20)), needs=ORDERED)
add(
    "stable sort of many elements",
    lambda s: np.sort(np.tile(s.m.ravel(), 20), kind="stable"),
    needs=ORDERED,
)
add("sort with stable=True", lambda s: np.sort(s.a, stable=True), needs=ORDERED)
add("sort of rows", lambda s: (s.m.sort(axis=1), s.m), needs=ORDERED)
add("sort of columns", lambda s: (s.m.sort(axis=0), s.m), needs=ORDERED)
add("np.sort of everything", lambda s: np.sort(s.m, axis=None), needs=ORDERED)
add("sort of a reversed view", lambda s: (s.a[::-1].sort(), s.a), needs=ORDERED)
add("sort of every other element", lambda s: (s.a[::2].sort(), s.a), needs=ORDERED)
add("sort of a transposed view", lambda s: (s.m.T.sort(axis=0), s.m), needs=ORDERED)
add("sort of a half-built array", lambda s: (s.h.sort(), s.h), needs={"ordering", "default"})
add("sort of nothing and of one", lambda s: (np.sort(s.a[:0]), np.sort(s.a[:1])), needs=ORDERED)
add("sort downwards", lambda s: np.sort(s.a)[::-1], needs=ORDERED)
add("lexsort", lambda s: np.lexsort([s.a, np.arange(10) // 3]), needs=ORDERED)
add("lexsort of two keys", lambda s: np.lexsort([s.b, np.repeat(s.a[:5], 2)]), needs=ORDERED)
add("lexsort of a view", lambda s: np.lexsort(s.m[::-1, ::-1]), needs=ORDERED)
add("lexsort of a packed field", lambda s: _lexsort_field(s), needs=ORDERED)
add("partition", lambda s: _partitioned(np.partition(s.a, 4), 4), needs=ORDERED)
add(
    "partition in place",
    lambda s: (s.a.partition([2, 7]), s.a[2], s.a[7], ordered(s.a)),
    needs=ORDERED,
)
add("partition of columns", lambda s: np.partition(s.m, 1, axis=0)[1], needs=ORDERED)
add("argpartition", lambda s: s.a[np.argpartition(s.a, 3)][3], needs=ORDERED)
add("searchsorted", lambda s: np.sort(s.a).searchsorted(s.b), needs=ORDERED)
add("searchsorted of one", lambda s: np.sort(s.a).searchsorted(s.values[12]), needs=ORDERED)
add(
    "searchsorted with side='right'",
    lambda s: np.searchsorted(np.sort(s.a), s.m, side="right"),
    needs=ORDERED,
)
add(
    "searchsorted with a sorter",
    lambda s: np.searchsorted(s.a, s.b, sorter=np.argsort(s.a)),
    needs=ORDERED,
)
add(
    "searchsorted among half-built",
    lambda s: np.searchsorted(np.sort(s.h), s.b),
    needs={"ordering", "default"},
)
add(
    "argmax and argmin",
    lambda s: (s.a.argmax(), s.a.argmin(), s.m.argmax(axis=0), s.m.argmin(axis=1, keepdims=True)),
    needs=ORDERED,
)
add(
    "argmax of a half-built array",
    lambda s: (s.h.argmax(), s.h.argmin()),
    needs={"ordering", "default"},
)
add(
    "argmax with out=",
    lambda s: np.argmax(s.m, axis=0, out=np.zeros(5, dtype=np.intp)),
    needs=ORDERED,
)
add("nonzero", lambda s: np.nonzero(s.h))
add("argwhere", lambda s: np.argwhere(s.m == s.m[1:2, 2:3]), needs={"equality"})
add("flatnonzero", lambda s: np.flatnonzero(s.a == s.b[2:3]), needs={"equality"})
add("count_nonzero", lambda s: (np.count_nonzero(s.h), np.count_nonzero(s.m, axis=1)))
add(
    "digitize",
    lambda s: np.digitize(s.b, np.sort(s.a)),
    lambda s: np.searchsorted(np.sort(s.a), s.b, side="right"),
    needs=ORDERED,
)
add("sort_complex", lambda s: np.sort_complex(s.a), needs=ORDERED)
add("np.msort by axis 0", lambda s: np.sort(s.m.T.copy().T, axis=0), needs=ORDERED)
add("median", lambda s: np.median(s.a[:9]), needs={"ordering", "arithmetic"})
add("sort by a key", lambda s: s.a[np.lexsort([[3, 1, 2, 0, 9, 8, 7, 6, 5, 4]])])
add("sorted by Python", lambda s: sorted(s.a), needs=ORDERED)
add("min and max by Python", lambda s: (min(s.a), max(s.a)), needs=ORDERED)


def _partitioned(a: Any, index: int) -> Any:
    return a[index], ordered(a[:index]), ordered(a[index:])


def _lexsort_field(s: Subject) -> Any:

    return np.lexsort([packed(s, s.a)["x"]])
