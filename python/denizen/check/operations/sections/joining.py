"""Arrays put together."""

from typing import Any

import numpy as np

from ..inputs import NUMBERS, numbers
from ..operation import Table

TABLE = Table("joining")
add = TABLE.add

add("concatenate", lambda s: np.concatenate([s.a, s.b[:0], s.b]))
add("concatenate half-built arrays", lambda s: np.concatenate([s.h, s.a, s.h]), needs={"default"})
add(
    "concatenate along axes",
    lambda s: (
        np.concatenate([s.m, s.m[:1]]),
        np.concatenate([s.m, s.m[:, :2]], axis=1),
        np.concatenate([s.m, s.m], axis=None),
    ),
)
add("concatenate views", lambda s: np.concatenate([s.m.T, s.m[::-1, ::-1].T], axis=1))
add("concatenate with out=", lambda s: np.concatenate([s.a[:4], s.b[:6]], out=s.h))
add("concatenate with a dtype", lambda s: np.concatenate([s.a, s.b], dtype=s.dtype))
add(
    "concatenate with numbers",
    lambda s: np.concatenate([numbers(s), np.array(NUMBERS)]),
    lambda s: numbers(s, NUMBERS * 2),
    needs={"numbers"},
)
add("concatenate with objects", lambda s: np.concatenate([s.a, s.b.astype(object)]).tolist())
add("stack", lambda s: (np.stack([s.a, s.b]), np.stack([s.a, s.b], axis=1)))
add("stack with out=", lambda s: np.stack([s.a[:5], s.b[:5]], out=s.m[:2].copy()))
add("vstack", lambda s: np.vstack([s.a, s.b]))
add("hstack", lambda s: np.hstack([s.m, s.m[:, ::-1]]))
add("dstack", lambda s: np.dstack([s.m, s.m]))
add("column_stack", lambda s: np.column_stack([s.a, s.b]))
add("stack of scalars", lambda s: np.stack([s.a[1], s.a[2]]), lambda s: s.array(list(s.a[1:3])))
add("block of rows", lambda s: np.block([s.a, s.b]))
add("block of blocks", lambda s: np.block([[s.m[:2], s.m[2:]], [s.m[2:], s.m[:2]]]))
add("np.r_", lambda s: np.r_[s.a, s.b[2:4]])
add("np.c_", lambda s: np.c_[s.a, s.b])
add("concatenate with casting='no'", lambda s: np.concatenate([s.a, s.b], casting="no"))
add("kron-like repetition", lambda s: np.hstack([s.m] * 3)[:, ::4])
add("concatenate many", lambda s: np.concatenate([s.a[i : i + 2] for i in range(9)]))
add("append in a loop", lambda s: _append(s.a))


def _append(a: Any) -> Any:
    out = a[:0]
    for index in range(len(a)):
        out = np.concatenate([out, a[index : index + 1]])
    return out
