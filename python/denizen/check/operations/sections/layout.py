"""The same work over every order and stride that memory can have."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import Array, packed
from ..operation import Table

TABLE = Table("memory layout")


def _unaligned(s: Subject) -> Array:
    return packed(s, s.a)["x"].reshape(10)


LAYOUTS: dict[str, Callable[[Subject], Array]] = {
    "C order": lambda s: s.m,
    "Fortran order": lambda s: np.asfortranarray(s.m),
    "reversed rows and columns": lambda s: s.m[::-1, ::-1],
    "strides of two": lambda s: s.m[::2, 1::2],
    "a transpose": lambda s: s.m.T,
    "axes in another order": lambda s: s.m.reshape(2, 2, 5).transpose(2, 0, 1),
    "one column": lambda s: s.m[:, 2:3],
    "an inner window": lambda s: s.m[1:3, 1:4],
    "a 0-d view": lambda s: s.m[1:2, 2:3].reshape(()),
    "an empty view": lambda s: s.m[:, 5:],
    "a broadcast row": lambda s: np.broadcast_to(s.m[0], (3, 5)),
    "a diagonal": lambda s: s.m.diagonal(),
    "a packed field": _unaligned,
}
WRITEABLE = LAYOUTS.keys() - {"a broadcast row", "a diagonal"}


def _fill(x: Array, value: Any) -> Array:
    x[...] = value
    return x


def _write(x: Array) -> Array:
    out = np.empty_like(x)
    out[...] = x
    return out


READS: dict[str, tuple[Callable[[Array], Any], frozenset[str]]] = {
    "copy": (lambda x: (x.copy(), x.copy("F"), x.copy("K")), frozenset()),
    "assign": (_write, frozenset()),
    "ravel and flat": (lambda x: (x.ravel(), list(x.flat)), frozenset()),
    "to objects and back": (lambda x: (x.astype(object), x.tolist()), frozenset()),
    "take, compress and repeat": (
        lambda x: (
            x.take(range(0, x.size, 2)),
            x.ravel().compress([1] * (x.size // 2)),
            x.repeat(2),
        ),
        frozenset(),
    ),
    "fancy get": (lambda x: np.atleast_1d(x)[[0] * (np.atleast_1d(x).shape[0] > 0)], frozenset()),
    "compare": (lambda x: (x == x, x != x.copy()), frozenset({"equality"})),
    "add": (lambda x: x + x.copy(), frozenset({"arithmetic"})),
    "add into Fortran order": (
        lambda x: np.add(x, x, out=np.asfortranarray(x.copy())),
        frozenset({"arithmetic"}),
    ),
    "sum": (lambda x: [x.sum(axis=i) for i in range(x.ndim) if x.size], frozenset({"arithmetic"})),
    "sort": (lambda x: np.sort(np.atleast_1d(x), axis=0), frozenset({"ordering"})),
    "argsort": (
        lambda x: np.argsort(np.atleast_1d(x), axis=-1, kind="stable"),
        frozenset({"ordering"}),
    ),
    "maximum": (lambda x: x.max(axis=-1) if x.size and x.ndim else 0, frozenset({"ordering"})),
    "concatenate": (
        lambda x: np.concatenate([x.ravel()[:3], np.atleast_1d(x).ravel()]),
        frozenset(),
    ),
    "where": (lambda x: np.where(np.ones(x.shape, bool), x, x), frozenset()),
}
for layout, view in LAYOUTS.items():
    for work, (read, needs) in READS.items():
        TABLE.add(f"{work}: {layout}", lambda s, view=view, read=read: read(view(s)), needs=needs)
    if layout in WRITEABLE:
        TABLE.add(
            f"write: {layout}",
            lambda s, view=view: (_fill(view(s), s.values[7]), s.m),
        )
