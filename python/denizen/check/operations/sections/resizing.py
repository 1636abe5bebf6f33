"""Arrays that grow and shrink."""

import gc
from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import Array, failing, raised
from ..operation import Table

TABLE = Table("resizing")
add = TABLE.add


def _owned(s: Subject, count: int = 10) -> Array:
    """An array of its own memory, to which there is no other reference."""
    return s.a[:count].copy()


def _resized(x: Array, *shapes: Any, refcheck: bool = False) -> Array:
    for shape in shapes:
        x.resize(shape, refcheck=refcheck)
    return x


def _filled(s: Subject, x: Array, count: int) -> Array:
    """The elements beyond the tenth are the default, on both sides."""
    return np.concatenate([x, s.zeros(count)])


add("to more", lambda s: _resized(_owned(s), 25), lambda s: _filled(s, s.a, 15), needs={"default"})
add("to more without a default", lambda s: _resized(_owned(s), 25)[:10], lambda s: s.a)
add(
    "to many more",
    lambda s: _resized(_owned(s), 100_000)[:20],
    lambda s: _filled(s, s.a, 10),
    needs={"default"},
)
add("to fewer", lambda s: _resized(_owned(s), 3), lambda s: s.a[:3])
add(
    "to nothing and back",
    lambda s: _resized(_owned(s), 0, 4),
    lambda s: s.zeros(4),
    needs={"default"},
)
add(
    "to fewer and to more",
    lambda s: _resized(_owned(s), 4, 8),
    lambda s: _filled(s, s.a[:4], 4),
    needs={"default"},
)
add(
    "to two dimensions",
    lambda s: _resized(_owned(s), (3, 4)),
    lambda s: _filled(s, s.a, 2).reshape(3, 4),
    needs={"default"},
)
add("to the same size", lambda s: _resized(_owned(s), (2, 5)), lambda s: s.a.reshape(2, 5))
add(
    "of a half-built array",
    lambda s: _resized(s.h.copy(), 15),
    lambda s: _filled(s, s.h, 5),
    needs={"default"},
)
add(
    "of nothing built",
    lambda s: _resized(np.empty(4, s.dtype), 9),
    lambda s: s.zeros(9),
    needs={"default"},
)
add("and use it", lambda s: _used(s), lambda s: np.concatenate([s.a, s.b]))
add("step by step", lambda s: _resized(_owned(s, 1), *range(2, 40))[:1], lambda s: s.a[:1])
add("with a view", lambda s: _with_a_view(s), lambda s: ("ValueError", s.a))
add(
    "of a view",
    lambda s: (raised(lambda: s.a[2:].resize(20), ValueError), s.a),
    lambda s: ("ValueError", s.a),
)
add(
    "to a negative size",
    lambda s: (raised(lambda: _owned(s).resize(-3), ValueError), s.a),
    lambda s: ("ValueError", s.a),
)
add(
    "to a size that overflows",
    lambda s: (
        raised(lambda: _resized(_owned(s), 2**62), ValueError, MemoryError)
        in ("ValueError", "MemoryError"),
        s.a,
    ),
    lambda s: (True, s.a),
)
add("np.resize", lambda s: (np.resize(s.a, 15), np.resize(s.m, (2, 3)), np.resize(s.a, 0)))
add("fromiter that grows", lambda s: np.fromiter((s.values[i % 20] for i in range(3000)), s.dtype))
add(
    "fromiter of too few",
    lambda s: raised(lambda: np.fromiter(s.values, s.dtype, count=100), ValueError),
    lambda s: "ValueError",
)
add("fromiter of nothing", lambda s: np.fromiter([], s.dtype))
add(
    "fromiter that raises",
    lambda s: raised(lambda: np.fromiter(failing(s.values, 15), s.dtype), RuntimeError),
    lambda s: "RuntimeError",
)
add(
    "fromiter that raises with a count",
    lambda s: raised(lambda: np.fromiter(failing(s.values, 5), s.dtype, count=9), RuntimeError),
    lambda s: "RuntimeError",
)
add(
    "fromiter of a wrong object",
    lambda s: (
        raised(lambda: np.fromiter([*s.values[:5], object()], s.dtype), TypeError, ValueError)
        in ("TypeError", "ValueError")
    ),
    lambda s: True,
)
add("collected while it lives", lambda s: _collected(s), lambda s: s.a)
add(
    "a size that overflows",
    lambda s: raised(lambda: np.empty((2**40, 2**40), s.dtype), ValueError, MemoryError),
    lambda s: "ValueError",
)
add(
    "a size that no memory has",
    lambda s: raised(lambda: np.empty(2**45, s.dtype), ValueError, MemoryError),
    lambda s: "MemoryError",
)


def _used(s: Subject) -> Array:
    x = _resized(_owned(s), 20)
    x[10:] = s.b
    return x


def _with_a_view(s: Subject) -> Any:
    x = s.a.copy()
    view = x[2:]
    return raised(lambda: x.resize(20), ValueError), np.concatenate([x[:2], view])


def _collected(s: Subject) -> Array:
    x = _owned(s)
    cycle: list[Any] = [x.copy()]
    cycle.append(cycle)
    del cycle
    gc.collect()
    return x
