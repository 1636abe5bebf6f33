"""Operands that share cells with what is written."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..operation import Table

TABLE = Table("overlap")
add = TABLE.add

ARITHMETIC = frozenset({"arithmetic"})


def put(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target


add("assign shifted up", lambda s: put(s.a, slice(1, None), s.a[:-1]))
add("assign shifted down", lambda s: put(s.a, slice(None, -1), s.a[1:]))
add("assign reversed", lambda s: put(s.a, slice(None), s.a[::-1]))
add("assign transposed", lambda s: put(s.m[:, :4], slice(None), s.m[:, :4].T))
add("assign rows shifted", lambda s: put(s.m, slice(1, None), s.m[:-1]))
add("assign columns shifted", lambda s: put(s.m, (slice(None), slice(1, None)), s.m[:, :-1]))
add("assign a row to its matrix", lambda s: put(s.m, slice(None), s.m[2]))
add("assign an element to its array", lambda s: put(s.a, slice(None), s.a[4]))
add("assign itself", lambda s: put(s.a, slice(None), s.a))
add("assign every other to the others", lambda s: put(s.a, slice(1, None, 2), s.a[::2]))
add("assign half-built shifted", lambda s: put(s.h, slice(3, None), s.h[:-3]), needs={"default"})
add("fancy set from itself", lambda s: put(s.a, [0, 1, 2], s.a[[2, 0, 1]]))
add("fancy set from a view", lambda s: put(s.a, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], s.a))
add("mask set from itself", lambda s: put(s.a, s.mask, s.a[:6]))
add("put from itself", lambda s: (np.put(s.a, [5, 6, 7], s.a[4:7]), s.a))
add("putmask from itself", lambda s: (np.putmask(s.a, s.mask, s.a[::-1]), s.a))
add("place from itself", lambda s: (np.place(s.a, s.mask, s.a[::-1]), s.a))
add("copyto shifted", lambda s: (np.copyto(s.a[2:], s.a[:-2]), s.a))
add("copyto shifted with where", lambda s: (np.copyto(s.a[2:], s.a[:-2], where=s.mask[:8]), s.a))
add("take into itself", lambda s: (np.take(s.a, [3, 2, 1, 0], out=s.a[:4], mode="clip"), s.a))
add("choose into itself", lambda s: np.choose([1, 0] * 5, [s.a, s.a[::-1]], out=s.a))
add("flat from itself", lambda s: (setattr(s.a, "flat", s.a[::-1]), s.a))
add("flat slice from itself", lambda s: (s.a.flat.__setitem__(slice(1, 9), s.a[:8]), s.a))
add("concatenate into itself", lambda s: np.concatenate([s.a[5:], s.a[:5]], out=s.a))
add("add to itself", lambda s: np.add(s.a, s.a, out=s.a), needs=ARITHMETIC)
add("add shifted up", lambda s: (np.add(s.a[:-1], s.b[:-1], out=s.a[1:]), s.a), needs=ARITHMETIC)
add("add shifted down", lambda s: (np.add(s.a[1:], s.b[1:], out=s.a[:-1]), s.a), needs=ARITHMETIC)
add("add reversed", lambda s: np.add(s.a, s.a[::-1], out=s.a), needs=ARITHMETIC)
add("add both reversed", lambda s: (np.add(s.a[::-1], s.b[::-1], out=s.a), s.a), needs=ARITHMETIC)
add(
    "add its transpose",
    lambda s: (np.add(s.m[:, :4], s.m[:, :4].T, out=s.m[:, :4]), s.m),
    needs=ARITHMETIC,
)
add("add a row in place", lambda s: (np.add(s.m, s.m[1], out=s.m), s.m), needs=ARITHMETIC)
add(
    "add its first element in place",
    lambda s: (np.add(s.a, s.a[:1], out=s.a), s.a),
    needs=ARITHMETIC,
)
add(
    "add shifted with where",
    lambda s: (np.add(s.a[:-1], s.b[:-1], out=s.a[1:], where=s.mask[1:]), s.a),
    needs=ARITHMETIC,
)
add(
    "add of two windows",
    lambda s: (np.add(s.a[:-4], s.a[4:], out=s.a[2:-2]), s.a),
    needs=ARITHMETIC,
)
add("sum into its own row", lambda s: (np.sum(s.m, axis=0, out=s.m[0]), s.m), needs=ARITHMETIC)
add(
    "accumulate in place",
    lambda s: (np.add.accumulate(s.m, axis=1, out=s.m), s.m),
    needs=ARITHMETIC,
)
add(
    "accumulate into reversed",
    lambda s: (np.add.accumulate(s.a, out=s.a[::-1]), s.a),
    needs=ARITHMETIC,
)
add("add.at from itself", lambda s: (np.add.at(s.a, [0, 1, 2], s.a[:3]), s.a), needs=ARITHMETIC)
add("matmul into an operand", lambda s: _matmul(s), needs=ARITHMETIC)
add(
    "maximum shifted",
    lambda s: (np.maximum(s.a[:-1], s.a[1:], out=s.a[1:]), s.a),
    needs={"ordering"},
)
add("sort of two halves", lambda s: (s.a[:6].sort(), s.a[4:].sort(), s.a), needs={"ordering"})


def _matmul(s: Subject) -> Any:
    square = s.m[:, :4].copy()
    np.matmul(square, square, out=square)
    return square
