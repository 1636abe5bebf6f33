"""Linear algebra in exact arithmetic, for every element type that has `+ - * /` and `!=`.

`numpy.linalg` rounds; these functions do not. They take arrays of `denizen.Rational`, object
arrays of `fractions.Fraction`, and arrays or objects of any other exact field type to which
integers convert. Integers (NumPy's, `denizen.Integer`, Python's) are promoted to rational numbers
first. Floating-point input is refused, because its rounding has already happened: convert it with
`astype(denizen.Rational)` where its binary value is really meant. Types that round (decimal
numbers, MPFR's, dual numbers) are refused as well, whatever they say of themselves: a type is
taken for a field if `n * (1 / n)` is 1 for the integers up to 200, which binary and decimal
floating point of no precision in use passes.

Where one operand has an element type and the other holds objects (a list of fractions), the
objects are converted to the element type.

Shapes and errors are those of `numpy.linalg`. The method is Gaussian elimination in array
operations: the update of a step is one broadcast outer product. (G. H. Golub and C. F. Van Loan,
Matrix Computations, 4th ed., sections 3.1 and 3.2.) Exact arithmetic needs no pivoting for
stability, only a nonzero pivot; of those, the one with the fewest digits is taken, so that the
numbers grow less.
"""

from __future__ import annotations

import functools
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike, NDArray

from ._runtime import Integer, Rational

__all__ = ["LeastSquares", "LinAlgError", "det", "inv", "lstsq", "matrix_rank", "solve"]

#: Integers whose inverses tell an exact field from numbers that round.
_TRIED = np.arange(2, 201)

#: NumPy's scalar classes that these functions refuse.
_ROUNDED_OR_NO_NUMBER = (np.inexact, np.flexible, np.datetime64, np.timedelta64)


class LeastSquares(NamedTuple):
    """What `lstsq` returns."""

    #: The solution, shape (N,) or (N, K).
    x: NDArray[Any]
    #: Sums of squared residuals, shape (1,) or (K,), exact: zero means that the fit is perfect.
    residuals: NDArray[Any]
    #: The rank of the matrix; always N, since less is an error.
    rank: int


def solve(a: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """Solve `a @ x == b` exactly.

    Parameters
    ----------
    a : (..., M, M) array
        The matrices.
    b : (M,) or (..., M, K) array
        The right-hand sides. As in NumPy 2, only a 1-dimensional `b` is a vector.

    Returns
    -------
    (..., M) or (..., M, K) array
        The solutions, in the field of `a` and `b`.

    Raises
    ------
    LinAlgError
        A matrix is singular or not square.
    ValueError
        The shapes do not fit.
    TypeError
        The elements are not exact.
    """
    matrices, sides = _exact_pair(a, b)
    _require_square(matrices)
    if sides.ndim == 0:
        raise ValueError("solve: the right-hand side needs at least one dimension")
    vector = sides.ndim == 1
    if vector:
        sides = sides[:, np.newaxis]
    size = matrices.shape[-1]
    if sides.shape[-2] != size:
        raise ValueError(
            f"solve: the matrix has {size} rows, but the right-hand side has {sides.shape[-2]}"
        )
    stack = np.broadcast_shapes(matrices.shape[:-2], sides.shape[:-2])
    matrices = np.broadcast_to(matrices, stack + matrices.shape[-2:])
    sides = np.broadcast_to(sides, stack + sides.shape[-2:])
    solutions = np.empty(sides.shape, dtype=sides.dtype)
    for index in np.ndindex(stack):
        solutions[index] = _solve_one(matrices[index], sides[index])
    return solutions[..., 0] if vector else solutions


def inv(a: ArrayLike) -> NDArray[Any]:
    """Invert square matrices exactly.

    Parameters
    ----------
    a : (..., M, M) array
        The matrices.

    Returns
    -------
    (..., M, M) array
        Their inverses: `a @ inv(a)` *is* the identity.

    Raises
    ------
    LinAlgError
        A matrix is singular or not square.
    TypeError
        The elements are not exact.
    """
    matrices = _exact(a)
    _require_square(matrices)
    one = _one(matrices)
    identity = np.full((matrices.shape[-1],) * 2, one - one, dtype=matrices.dtype)
    np.fill_diagonal(identity, one[()])
    inverses = np.empty(matrices.shape, dtype=matrices.dtype)
    for index in np.ndindex(matrices.shape[:-2]):
        inverses[index] = _solve_one(matrices[index], identity)
    return inverses


def det(a: ArrayLike) -> Any:
    """Compute determinants exactly: the product of the pivots, with the sign of the row swaps.

    Parameters
    ----------
    a : (..., M, M) array
        The matrices.

    Returns
    -------
    scalar or (...) array
        The determinants; 1 for a matrix without rows.

    Raises
    ------
    LinAlgError
        A matrix is not square.
    TypeError
        The elements are not exact.
    """
    matrices = _exact(a)
    _require_square(matrices)
    size = matrices.shape[-1]
    stack = matrices.shape[:-2]
    one = _one(matrices)
    determinants = np.empty(stack, dtype=matrices.dtype)
    for index in np.ndindex(stack):
        work = matrices[index].copy()
        pivots, swaps = _eliminate(work, size)
        if len(pivots) < size:
            determinants[index] = one - one
        else:
            product = np.multiply.reduce(work.diagonal(), initial=one[()])
            determinants[index] = -product if swaps % 2 else product
    return determinants[()]


def matrix_rank(a: ArrayLike) -> Any:
    """Compute the exact rank of matrices: the number of pivots, with no tolerance.

    Parameters
    ----------
    a : (..., M, N) array
        The matrices. A vector counts as a matrix of one row.

    Returns
    -------
    int or (...) array of int
        The ranks.

    Raises
    ------
    TypeError
        The elements are not exact.
    """
    matrices = np.atleast_2d(_exact(a))
    ranks = np.empty(matrices.shape[:-2], dtype=np.intp)
    for index in np.ndindex(ranks.shape):
        pivots, _ = _eliminate(matrices[index].copy(), matrices.shape[-1])
        ranks[index] = len(pivots)
    return ranks[()]


def lstsq(a: ArrayLike, b: ArrayLike) -> LeastSquares:
    """Solve the least-squares problem `min |a @ x - b|` exactly.

    The method is elimination on the normal equations `a.T @ a @ x = a.T @ b`. In floating point
    they lose half of the digits; in an exact ordered field they lose nothing, and they are small.
    (Golub and Van Loan, section 5.3.)

    Parameters
    ----------
    a : (M, N) array
        The design matrix, of rank N.
    b : (M,) or (M, K) array
        The observations.

    Returns
    -------
    LeastSquares
        `x`, `residuals` and `rank`, as the first three results of `numpy.linalg.lstsq`; the
        residual sums are given for every M. There are no singular values: they are irrational.

    Raises
    ------
    LinAlgError
        The matrix is not 2-dimensional, or its columns depend on each other, so that there is
        more than one solution. The message names the first column that depends on those before.
    TypeError
        The elements are not exact, or have no order: without one nothing is least.
    """
    matrix, observations = _exact_pair(a, b)
    _require_order(matrix)
    if matrix.ndim != 2:
        raise LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be two-dimensional")
    if observations.ndim not in (1, 2):
        raise LinAlgError("the observations must be one- or two-dimensional")
    rows, columns = matrix.shape
    if observations.shape[0] != rows:
        raise LinAlgError(
            f"incompatible dimensions: the matrix has {rows} rows, "
            f"but there are {observations.shape[0]} observations"
        )
    vector = observations.ndim == 1
    if vector:
        observations = observations[:, np.newaxis]
    gram = matrix.T @ matrix
    work = np.concatenate([gram, matrix.T @ observations], axis=1)
    pivots, _ = _eliminate(work, columns)
    if len(pivots) < columns:
        dependent = next(c for c in range(columns) if c not in pivots)
        raise LinAlgError(
            f"the matrix has rank {len(pivots)}, less than its {columns} columns: "
            f"column {dependent} is a combination of the columns before it"
        )
    solution = _substitute(work, columns)
    misfit = observations - matrix @ solution
    residuals = (misfit * misfit).sum(axis=0)
    return LeastSquares(solution[:, 0] if vector else solution, residuals, columns)


def _solve_one(matrix: NDArray[Any], sides: NDArray[Any]) -> NDArray[Any]:
    """Solve for one (M, M) matrix and (M, K) right-hand sides."""
    size = matrix.shape[0]
    work = np.concatenate([matrix, sides], axis=1)
    pivots, _ = _eliminate(work, size)
    if len(pivots) < size:
        raise LinAlgError("Singular matrix")
    return _substitute(work, size)


def _eliminate(work: NDArray[Any], columns: int) -> tuple[list[int], int]:
    """Bring the first `columns` columns of `work` to row echelon form, in place.

    Returns the pivots' columns and the number of row swaps.
    """
    pivots: list[int] = []
    swaps = 0
    for column in range(columns):
        row = len(pivots)
        if row == work.shape[0]:
            break
        best = _choose_pivot(work[row:, column])
        if best is None:
            continue
        if best:
            work[[row, row + best]] = work[[row + best, row]]
            swaps += 1
        factors = work[row + 1 :, column] / work[row, column, ...]
        work[row + 1 :, column:] -= factors[:, np.newaxis] * work[row, column:]
        pivots.append(column)
    return pivots, swaps


def _choose_pivot(candidates: NDArray[Any]) -> int | None:
    """The index of the nonzero candidate with the fewest digits; None where all are zero."""
    nonzero = np.flatnonzero(candidates != 0)
    if not nonzero.size:
        return None
    return int(min(nonzero, key=lambda index: _digits(candidates[index])))


def _digits(value: Any) -> int:
    """The size of a number in bits; 0 where its type does not tell."""
    if isinstance(value, Fraction):
        return value.numerator.bit_length() + value.denominator.bit_length()
    return 0


def _substitute(work: NDArray[Any], size: int) -> NDArray[Any]:
    """Back substitution: `work` is [U | b] with U upper triangular and no zero on its diagonal."""
    solution = work[:size, size:].copy()
    for row in reversed(range(size)):
        solution[row] /= work[row, row, ...]
        solution[:row] -= work[:row, row, np.newaxis] * solution[row]
    return solution


def _exact(a: ArrayLike) -> NDArray[Any]:
    """`a` as an array over an exact field."""
    array = np.asarray(a)
    if array.dtype.kind in "biu" or array.dtype == np.dtype(Integer):
        return array.astype(Rational)
    if issubclass(array.dtype.type, _ROUNDED_OR_NO_NUMBER):
        raise TypeError(
            f"denizen.linalg needs exact elements, not {array.dtype}; use numpy.linalg, or "
            "convert with astype(denizen.Rational)"
        )
    if array.dtype != object:
        _require_field(array.dtype)
        return array
    flat = [_exact_object(value) for value in array.flat]
    for scalar, value in {type(value): value for value in flat}.items():
        if not issubclass(scalar, Fraction):
            _require_field_of(value)
    return np.fromiter(flat, dtype=object, count=len(flat)).reshape(array.shape)


def _exact_object(value: Any) -> Any:
    """An element of an object array, with integers made fractions: `/` on them would round."""
    if isinstance(value, (bool, np.bool_, numbers.Integral)):
        return Fraction(int(value))
    if isinstance(value, (float, complex, np.inexact, Decimal)):
        raise TypeError(
            f"denizen.linalg needs exact elements, not {type(value).__name__} ({value!r}) in an "
            "object array; convert it with fractions.Fraction"
        )
    return value


def _exact_pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both arrays over one field."""
    first, second = _exact(a), _exact(b)
    if first.dtype == second.dtype:
        return first, second
    if object in (first.dtype, second.dtype):
        common = first.dtype if second.dtype == object else second.dtype
        if common == np.dtype(Rational):
            for value in (first if first.dtype == object else second).flat:
                if not isinstance(value, numbers.Rational):
                    # Of another field, in which fractions are taken to lie.
                    common = np.dtype(object)
    else:
        common = np.result_type(first.dtype, second.dtype)
    return first.astype(common, copy=False), second.astype(common, copy=False)


def _one(matrices: NDArray[Any]) -> NDArray[Any]:
    """The one of the field, as a 0-dimensional array."""
    one = np.ones((), dtype=np.int64)
    if matrices.dtype != object:
        return one.astype(matrices.dtype)
    nonzero = (value for value in matrices.flat if value != 0)
    unit = next((value / value for value in nonzero), Fraction(1))
    return np.array(unit, dtype=object)


@functools.cache
def _require_field(dtype: np.dtype[Any]) -> None:
    """Refuse element types that round or lack an operation."""
    try:
        tried = _TRIED.astype(dtype)
        one = np.ones(1, dtype=np.int64).astype(dtype)
        # In a finite field some of the integers are zero.
        nonzero = tried != one - one
        tried = tried[nonzero]
        wrong = np.flatnonzero((one / tried) * tried != one)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise TypeError(
            f"denizen.linalg needs elements with + - * / and !=, and integers that convert to "
            f"them, but with {dtype}: {error}"
        ) from error
    if wrong.size:
        _refuse_rounding(str(dtype), int(_TRIED[nonzero][wrong[0]]))


def _require_field_of(value: Any) -> None:
    """Refuse objects of types that round; `value` is one of them."""
    if value == 0:
        return
    one = value / value
    for integer in _TRIED.tolist():
        multiple = one * integer
        if multiple != 0 and (one / multiple) * multiple != one:
            _refuse_rounding(type(value).__name__, integer)


def _refuse_rounding(name: str, integer: int) -> None:
    raise TypeError(
        f"denizen.linalg needs exact elements, but {name} rounds: {integer} * (1 / {integer}) is "
        "not 1; convert to denizen.Rational"
    )


def _require_order(matrix: NDArray[Any]) -> None:
    """Refuse elements without an order."""
    try:
        np.less(matrix[:1], matrix[:1])
    except TypeError as error:
        raise TypeError(
            f"lstsq needs elements with an order, which {matrix.dtype} lacks: {error}"
        ) from error


def _require_square(matrices: NDArray[Any]) -> None:
    """Refuse what is not a stack of square matrices."""
    if matrices.ndim < 2:
        raise LinAlgError(
            f"{matrices.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if matrices.shape[-1] != matrices.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
