"""Arrays from nothing, from Python values and from other arrays."""

import copy

import numpy as np

from ...subject import Subject
from ..inputs import NUMBERS, Array, numbers, rounded
from ..operation import Table

TABLE = Table("creation")
add = TABLE.add

add("np.array of scalars", lambda s: np.array(s.values, dtype=s.dtype))
add(
    "np.array of scalars finds the dtype",
    lambda s: (np.array(s.values[:4]).dtype == s.dtype, np.array(s.values[:4])),
    oracle=lambda s: (True, s.array(s.values[:4])),
)
add("np.array of nested lists", lambda s: np.array([s.values[:3], s.values[3:6]], dtype=s.dtype))
add("np.array of arrays", lambda s: np.array([s.a, s.b]))
add("np.array of tuples of arrays", lambda s: np.array(((s.a, s.b), (s.b, s.a))))
add("np.array with ndmin", lambda s: np.array(s.a, ndmin=3))
add("np.array with order='F'", lambda s: np.array(s.m, order="F"))
add("np.array with copy=False", lambda s: np.array(s.a, copy=False) is s.a)
add("np.array of one scalar", lambda s: np.array(s.values[3], dtype=s.dtype))
add(
    "np.array of an object array",
    lambda s: np.array(np.array(s.values, dtype=object), dtype=s.dtype),
)
add(
    "np.array of texts",
    lambda s: np.array([str(x) for x in s.values], dtype=s.dtype),
    oracle=lambda s: s.array(s.values),
    needs={"text", "codec"},
)
add(
    "np.array of numbers",
    lambda s: np.array(NUMBERS, dtype=s.dtype),
    oracle=lambda s: numbers(s),
    needs={"numbers"},
)
add(
    "np.array of ints beside scalars",
    lambda s: np.array([numbers(s)[0], 7, numbers(s)[1]], dtype=s.dtype),
    oracle=lambda s: numbers(s, [NUMBERS[0], 7, NUMBERS[1]]),
    needs={"numbers"},
)
add("np.asarray", lambda s: (np.asarray(s.a) is s.a, np.asarray(s.values, dtype=s.dtype)))
add("np.asarray of a list of rows", lambda s: np.asarray(list(s.m)))
add("np.asanyarray", lambda s: np.asanyarray(s.m))
add("np.ascontiguousarray", lambda s: np.ascontiguousarray(s.m.T))
add("np.asfortranarray", lambda s: np.asfortranarray(s.m))
add("np.require", lambda s: np.require(s.m.T[::2], requirements=["C", "O", "W"]))
add("np.zeros", lambda s: np.zeros((2, 3), dtype=s.dtype), oracle=lambda s: s.zeros((2, 3)))
add("np.empty", lambda s: np.empty(5, dtype=s.dtype), oracle=lambda s: s.zeros(5))
add("np.empty of 0 elements", lambda s: np.empty((3, 0, 2), dtype=s.dtype))
add("np.zeros of one 0-d element", lambda s: np.zeros((), s.dtype), oracle=lambda s: s.zeros(()))
add("np.zeros_like", lambda s: np.zeros_like(s.m), oracle=lambda s: s.zeros(s.m.shape))
add("np.empty_like", lambda s: np.empty_like(s.m.T), oracle=lambda s: s.zeros(s.m.T.shape))
add(
    "np.empty_like from another dtype",
    lambda s: np.empty_like(np.ones((2, 2)), dtype=s.dtype),
    oracle=lambda s: s.zeros((2, 2)),
)
add("np.ones", lambda s: np.ones(4, s.dtype), lambda s: numbers(s, [1] * 4), needs={"numbers"})
add("np.ones_like", lambda s: np.ones_like(s.a), lambda s: numbers(s, [1] * 10), needs={"numbers"})
add("np.full", lambda s: np.full((2, 3), s.values[4], dtype=s.dtype))
add("np.full of a row", lambda s: np.full((3, 10), s.a))
add("np.full finds the dtype", lambda s: np.full(3, s.a[2]), lambda s: s.array([s.a[2]] * 3))
add("np.full_like", lambda s: np.full_like(s.m, s.values[1]))
add(
    "np.eye",
    lambda s: np.eye(3, 4, 1, dtype=s.dtype),
    lambda s: _ones_at(s, np.eye(3, 4, 1, dtype=bool)),
    needs={"numbers", "default"},
)
add(
    "np.identity",
    lambda s: np.identity(3, dtype=s.dtype),
    lambda s: _ones_at(s, np.identity(3, dtype=bool)),
    needs={"numbers", "default"},
)
add(
    "np.tri",
    lambda s: np.tri(3, dtype=s.dtype),
    lambda s: numbers(s, np.tri(3, dtype=int)),
    needs={"numbers"},
)
add(
    "np.diag of a vector",
    lambda s: np.diag(s.a[:4], 1),
    lambda s: _on_diagonal(s, s.a[:4], 1),
    needs={"default"},
)
add("np.diag of a matrix", lambda s: np.diag(s.m, -1))
add(
    "np.diagflat",
    lambda s: np.diagflat(s.m[:2, :2]),
    lambda s: _on_diagonal(s, s.m[:2, :2].ravel(), 0),
    needs={"default"},
)
add(
    "np.vander",
    lambda s: np.vander(numbers(s)[:4], 3, increasing=True),
    lambda s: numbers(s, np.vander(np.array(NUMBERS[:4]), 3, increasing=True)),
    needs={"numbers", "arithmetic"},
)
add(
    "np.arange with a dtype",
    lambda s: np.arange(0, 6, 2, dtype=s.dtype),
    lambda s: numbers(s, [0, 2, 4]),
    needs={"numbers", "arithmetic"},
)
add(
    "np.linspace with a dtype",
    lambda s: np.linspace(0, 8, 5, dtype=s.dtype),
    lambda s: numbers(s, [0, 2, 4, 6, 8]),
    needs={"numbers"},
)
add(
    "np.linspace between elements",
    lambda s: rounded(np.linspace(numbers(s)[0], numbers(s)[4], 5)),
    lambda s: np.linspace(5, 40, 5),
    needs={"numbers", "arithmetic"},
)
add(
    "np.geomspace with a dtype",
    lambda s: np.geomspace(1, 16, 5).round().astype(s.dtype),
    lambda s: numbers(s, [1.0, 2.0, 4.0, 8.0, 16.0]),
    needs={"numbers"},
)
add(
    "np.logspace with a dtype",
    lambda s: np.logspace(0, 3, 4, base=2, dtype=s.dtype),
    lambda s: numbers(s, [1.0, 2.0, 4.0, 8.0]),
    needs={"numbers"},
)
add("np.meshgrid", lambda s: np.meshgrid(s.a[:3], s.b[:2]))
add("np.meshgrid with sparse=True", lambda s: np.meshgrid(s.a[:3], s.b[:2], sparse=True))
add("np.copy", lambda s: np.copy(s.m.T, order="F"))
add("ndarray.copy", lambda s: (s.a.copy(), s.h.copy()), needs={"default"})
add("copy.copy", lambda s: (copy.copy(s.a), copy.copy(s.values[2])))
add("copy.deepcopy", lambda s: (copy.deepcopy(s.m), copy.deepcopy([s.a, s.a])))
add("deepcopy of a scalar", lambda s: copy.deepcopy(s.a[3]))
add("np.fromfunction", lambda s: np.fromfunction(lambda i: s.a[i.astype(int)], (10,)))
add("np.fromiter with a count", lambda s: np.fromiter(iter(s.values), s.dtype, count=20))
add("np.fromiter without a count", lambda s: np.fromiter((x for x in s.values), s.dtype))
add("np.fromiter of fewer than there are", lambda s: np.fromiter(s.values, s.dtype, count=3))
add("np.block", lambda s: np.block([[s.m, s.m], [s.m[::-1], s.m]]))
add("np.mat of rows", lambda s: np.asmatrix(s.m).T.A)
add("a subclass of ndarray", lambda s: type("Sub", (np.ndarray,), {})((2,), s.dtype).shape)
add("np.from_dlpack", lambda s: np.from_dlpack(s.a))
add(
    "np.fromstring of texts",
    lambda s: np.fromstring(" ".join(str(x) for x in s.a), sep=" ", dtype=s.dtype),
    lambda s: s.a,
)


def _ones_at(s: Subject, mask: Array) -> Array:
    out = s.zeros(mask.shape)
    out[mask] = numbers(s, [1])[0]
    return out


def _on_diagonal(s: Subject, values: Array, offset: int) -> Array:
    size = len(values) + offset
    out = s.zeros((size, size))
    out[np.arange(len(values)), np.arange(len(values)) + offset] = values
    return out
