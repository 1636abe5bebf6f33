"""Products of vectors and matrices, and what NumPy computes by rounding."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import COUNTS, NUMBERS, Array, counts, numbers, rounded
from ..operation import Table

TABLE = Table("linear algebra")
add = TABLE.add

ARITHMETIC = frozenset({"arithmetic"})
NUMERIC = frozenset({"arithmetic", "counting"})
EXACT = frozenset({"arithmetic", "counting", "division"})


def square(s: Subject) -> Array:
    """A regular matrix of numbers."""
    return numbers(s, [[2, 1, 0], [1, 3, -1], [0, -1, 4]])


add("matmul of matrices", lambda s: s.m @ s.m.T, needs=ARITHMETIC)
add("matmul of vectors", lambda s: (s.a @ s.b, s.m @ s.a[:5], s.a[:4] @ s.m), needs=ARITHMETIC)
add("matmul of stacks", lambda s: s.m.reshape(2, 2, 5) @ s.m.reshape(2, 5, 2), needs=ARITHMETIC)
add("matmul of stacks that broadcast", lambda s: s.m.reshape(2, 2, 5) @ s.m.T, needs=ARITHMETIC)
add("matmul of views", lambda s: s.m[::-1, ::2] @ s.m.T[::2, ::-2], needs=ARITHMETIC)
# NumPy leaks the objects that its own product of object arrays overwrites.
add(
    "matmul with out=",
    lambda s: np.matmul(s.m, s.m.T, out=s.empty((4, 4))),
    lambda s: s.m @ s.m.T,
    needs=ARITHMETIC,
)
add(
    "matmul of nothing",
    lambda s: s.m[:, :0] @ s.m.T[:0],
    lambda s: s.zeros((4, 4)),
    needs=ARITHMETIC,
)
add(
    "matmul with numbers",
    lambda s: (numbers(s) @ np.array(COUNTS), np.array(COUNTS) @ numbers(s)),
    lambda s: (numbers(s) @ counts(s),) * 2,
    needs=NUMERIC,
)
add(
    "matmul of half-built arrays",
    lambda s: s.h.reshape(2, 5) @ s.h.reshape(5, 2),
    needs={"arithmetic", "default"},
)
add(
    "matmul of large matrices",
    lambda s: _large(s),
    lambda s: numbers(s, np.arange(1600).reshape(40, 40) @ np.arange(1600).reshape(40, 40)),
    needs=NUMERIC,
)
add(
    "matmul in place",
    lambda s: square(s).__imatmul__(square(s)),
    lambda s: square(s) @ square(s),
    needs=NUMERIC,
)
add(
    "vecdot",
    lambda s: (np.vecdot(s.a, s.b), np.vecdot(s.m, s.a[:5])),
    lambda s: (s.a @ s.b, s.m @ s.a[:5]),
    needs=ARITHMETIC,
)
add(
    "matvec and vecmat",
    lambda s: (np.matvec(s.m, s.a[:5]), np.vecmat(s.a[:4], s.m)),
    lambda s: (s.m @ s.a[:5], s.a[:4] @ s.m),
    needs=ARITHMETIC,
)
add("dot", lambda s: (np.dot(s.a, s.b), s.m.dot(s.a[:5]), np.dot(s.m, s.m.T)), needs=ARITHMETIC)
add("dot with a scalar", lambda s: np.dot(s.a, s.values[3]), needs=ARITHMETIC)
add("dot with out=", lambda s: np.dot(s.m, s.m.T, out=s.zeros((4, 4))), needs=ARITHMETIC)
add("vdot", lambda s: np.vdot(s.a, s.b), lambda s: s.a @ s.b, needs=ARITHMETIC)
add("inner", lambda s: (np.inner(s.a, s.b), np.inner(s.m, s.m)), needs=ARITHMETIC)
add("outer", lambda s: np.outer(s.a, s.b[:3]), needs=ARITHMETIC)
add("tensordot", lambda s: np.tensordot(s.m, s.m, axes=([0], [0])), needs=ARITHMETIC)
add(
    "tensordot of three dimensions",
    lambda s: np.tensordot(s.m.reshape(2, 2, 5), s.m, axes=([2], [1])),
    needs=ARITHMETIC,
)
add("kron", lambda s: np.kron(s.m[:2, :2], s.a[:3]), needs=ARITHMETIC)
add("trace", lambda s: (np.trace(s.m), s.m.trace(offset=1)), needs=ARITHMETIC)
add("cross", lambda s: np.cross(s.a[:3], s.b[:3]), needs=ARITHMETIC)
add("einsum", lambda s: np.einsum("ij,kj->ik", s.m, s.m), lambda s: s.m @ s.m.T, needs=ARITHMETIC)
add(
    "einsum of a trace",
    lambda s: np.einsum("ii", s.m[:, :4]),
    lambda s: s.m[:, :4].trace(),
    needs=ARITHMETIC,
)
add(
    "einsum with optimize=True",
    lambda s: np.einsum("ij,jk,kl->il", s.m, s.m.T, s.m, optimize=True),
    lambda s: s.m @ s.m.T @ s.m,
    needs=ARITHMETIC,
)
add(
    "matrix_power",
    lambda s: (np.linalg.matrix_power(square(s), 3), np.linalg.matrix_power(square(s), 1)),
    needs=NUMERIC,
)
add(
    "matrix_power of 0",
    lambda s: np.linalg.matrix_power(square(s), 0),
    lambda s: numbers(s, np.eye(3, dtype=int)),
    needs=NUMERIC,
)
add(
    "multi_dot",
    lambda s: np.linalg.multi_dot([s.m, s.m.T, s.m]),
    lambda s: s.m @ s.m.T @ s.m,
    needs=ARITHMETIC,
)
add(
    "linalg.outer, matmul and trace",
    lambda s: (np.linalg.outer(s.a, s.b), np.linalg.matmul(s.m, s.m.T), np.linalg.trace(s.m)),
    lambda s: (np.outer(s.a, s.b), s.m @ s.m.T, np.trace(s.m)),
    needs=ARITHMETIC,
)
add(
    "linalg.diagonal and matrix_transpose",
    lambda s: (np.linalg.diagonal(s.m), np.linalg.matrix_transpose(s.m)),
)
add("asmatrix products", lambda s: (np.asmatrix(s.m) * np.asmatrix(s.m).T).A, needs=ARITHMETIC)

#: What `numpy.linalg` computes in floats, and what it would be exactly. It must not answer in
#: floats that were not asked for.
ROUNDING: dict[str, Any] = {
    "solve": lambda x: np.linalg.solve(x, x[:, 0]),
    "inv": lambda x: np.linalg.inv(x),
    "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: np.linalg.slogdet(x),
    "eig": lambda x: np.linalg.eig(x),
    "eigh": lambda x: np.linalg.eigh(x),
    "eigvals": lambda x: np.linalg.eigvals(x),
    "svd": lambda x: np.linalg.svd(x),
    "qr": lambda x: np.linalg.qr(x),
    "cholesky": lambda x: np.linalg.cholesky(x),
    "lstsq": lambda x: np.linalg.lstsq(x, x[:, 0]),
    "pinv": lambda x: np.linalg.pinv(x),
    "matrix_rank": lambda x: np.linalg.matrix_rank(x),
    "cond": lambda x: np.linalg.cond(x),
    "tensorinv": lambda x: np.linalg.tensorinv(x, ind=1),
}
for name, function in ROUNDING.items():
    add(
        f"rounding linalg.{name}",
        lambda s, f=function: f(square(s)),
        lambda s: "a TypeError that names denizen.linalg",
        needs=NUMERIC,
    )
add(
    "linalg.norm",
    lambda s: rounded(np.linalg.norm(numbers(s))),
    lambda s: rounded(np.linalg.norm(np.array(NUMBERS))),
    needs=EXACT,
)
add(
    "linalg.norm by absolute values",
    lambda s: np.linalg.norm(numbers(s), 1),
    lambda s: np.abs(numbers(s)).sum(),
    needs=NUMERIC,
)


def _large(s: Subject) -> Array:
    x = numbers(s, np.arange(1600)).reshape(40, 40)
    return x @ x
