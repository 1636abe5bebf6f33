"""Elements and subarrays read, by every kind of index."""

from typing import Any

import numpy as np

from ..inputs import raised
from ..operation import Table

TABLE = Table("indexing")
add = TABLE.add

ROWS = np.array([3, 0, -1, 3])

add("get one element", lambda s: (s.a[3], s.a[-1], s.m[2, 1]))
add("get a vacant element", lambda s: s.h[7], needs={"default"})
add("get through a 0-d array", lambda s: s.a[np.array(3)])
add("get () of a 0-d array", lambda s: s.a.reshape(2, 5)[1:, 2:3].reshape(())[()])
add("get a slice", lambda s: (s.a[2:7], s.a[::-2], s.a[5:2], s.m[1:3, ::2]))
add("get with newaxis and ellipsis", lambda s: (s.m[..., None], s.m[None, 1], s.m[..., 2]))
add("fancy get", lambda s: s.a[[3, 1, 1, 9, -2]])
add("fancy get with an array of two dimensions", lambda s: s.a[np.array([[1, 2], [0, 9]])])
add("fancy get of rows", lambda s: s.m[ROWS])
add("fancy get of columns", lambda s: s.m[:, [4, 0, 0]])
add("fancy get of pairs", lambda s: s.m[[1, 0, 3], [2, 2, -1]])
add("fancy get with broadcast indices", lambda s: s.m[[[1], [3]], [0, 2, 4]])
add("fancy get beside a slice", lambda s: s.m.reshape(2, 2, 5)[[1, 0], :, [2, 3]])
add("fancy get of a half-built array", lambda s: s.h[[0, 9, 4, 7]], needs={"default"})
add("fancy get with no index", lambda s: (s.a[[]], s.m[[], 1]))
add("fancy get with small integers", lambda s: s.a[np.array([1, 3], dtype=np.int8)])
add("fancy set", lambda s: _set(s.h, [9, 1, 8, 3], s.b[:4]), needs={"default"})
add("fancy set of one scalar", lambda s: _set(s.a, [9, 1, 8], s.values[5]))
add("fancy set of the same place twice", lambda s: _set(s.a, [2, 2, 2], s.b[:3]))
add("fancy set of rows", lambda s: _set(s.m, [3, 0], s.m[[1, 2]]))
add("fancy set of pairs", lambda s: _set(s.m, ([1, 0], [2, 4]), s.b[:2]))
add("fancy set with no index", lambda s: _set(s.a, [], s.b[:0]))
add("mask get", lambda s: s.a[s.mask])
add("mask get of two dimensions", lambda s: s.m[np.arange(20).reshape(4, 5) % 3 == 1])
add("mask get of rows", lambda s: s.m[np.array([True, False, False, True])])
add("mask get of nothing", lambda s: s.a[np.zeros(10, dtype=bool)])
add("mask get with a 0-d mask", lambda s: (s.a[np.True_], s.a[np.False_]))
add("mask set", lambda s: _set(s.h, s.mask, s.b[s.mask]), needs={"default"})
add("mask set of one scalar", lambda s: _set(s.m, np.arange(20).reshape(4, 5) > 6, s.values[3]))
add("mask set beside a slice", lambda s: _set(s.m, (s.mask[:4], slice(1, 3)), s.b[:2]))
add("np.ix_", lambda s: s.m[np.ix_([3, 1], [0, 2, 2])])
add("set at np.ix_", lambda s: _set(s.m, np.ix_([3, 1], [0, 2]), s.b[:4].reshape(2, 2)))
add("np.s_ and np.index_exp", lambda s: (s.m[np.s_[1:, ::2]], s.m[np.index_exp[0, 1:]]))
add("index with a boolean list", lambda s: s.m[[True, False, True, False], 2])
add("ndarray.item", lambda s: (s.a.item(3), s.m.item(2, 1), s.m.item(7)))
add("ndarray.tolist", lambda s: (s.m.tolist(), s.a[:0].tolist()))
add("tolist of a half-built array", lambda s: s.h.tolist(), needs={"default"})
add("tolist of a 0-d array", lambda s: s.a[2:3].reshape(()).tolist())
add(
    "an index out of bounds",
    lambda s: (
        raised(lambda: s.a[10], IndexError),
        raised(lambda: s.a[[1, 99]], IndexError),
        raised(lambda: s.m[:, -6], IndexError),
    ),
)
add("a mask of the wrong length", lambda s: raised(lambda: s.a[s.mask[:4]], IndexError))
add("set out of bounds", lambda s: (raised(lambda: _set(s.a, [1, 99], s.b[:2]), IndexError), s.a))
add("set of too many", lambda s: (raised(lambda: _set(s.a, [1, 2], s.b[:3]), ValueError), s.a))
add("np.unravel_index", lambda s: s.m[np.unravel_index([3, 17], s.m.shape)])


def _set(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target
