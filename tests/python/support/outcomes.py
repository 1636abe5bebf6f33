"""What an operation on arrays came to, as plain values that two runs can be compared by."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from denizen import Integer, Rational

#: The kinds of exceptions that must agree, the more special ones first.
KINDS = (
    ZeroDivisionError,
    OverflowError,
    MemoryError,
    IndexError,
    AttributeError,
    TypeError,
    ValueError,
)


def outcome(run: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """The result, or the kind of exception."""
    try:
        return run(*operands, **keywords)
    except KINDS as error:
        return next(kind for kind in KINDS if isinstance(error, kind))


def refused(result: Any) -> bool:
    """Whether an outcome is an exception."""
    return isinstance(result, type)


def agree(result: Any, expected: Any, *dtypes: Any) -> None:
    """Asserts that a result has the dtypes, the shapes and the values of the expected one, or that
    both are exceptions of the same kind."""
    if refused(result) or refused(expected):
        assert result is expected, f"{describe(result)} instead of {describe(expected)}"
        return
    results = result if isinstance(result, tuple) else (result,)
    expectations = expected if isinstance(expected, tuple) else (expected,)
    for one, other, dtype in zip(results, expectations, dtypes, strict=True):
        # Object arrays have no scalars of their own.
        array, plain = np.asarray(one, object if dtype is object else None), np.asarray(other)
        if array.dtype == bool:
            plain = plain.astype(bool)
        assert array.dtype == np.dtype(dtype)
        assert array.shape == plain.shape
        assert values(array) == values(plain)
        if dtype in (Integer, Rational):
            assert {type(element) for element in values(array)} <= {dtype}


def values(array: np.ndarray) -> list[Any]:
    """The elements in the order of C. Floats as text, which tells zeros and NaNs apart."""
    elements = array.ravel().tolist()
    return [repr(element) for element in elements] if array.dtype.kind in "fc" else elements


def describe(result: Any) -> str:
    return result.__name__ if refused(result) else repr(result)


def whole(value: Any) -> int:
    """The value as an int, if it is one."""
    if isinstance(value, float) and not math.isfinite(value):
        return int(value)
    if value != int(value):
        raise ValueError(f"{value} is no integer")
    return int(value)


#: The types of the parts of complex numbers.
PARTS = {"F": "f4", "D": "f8", "G": "g"}


def nearest(value: Any, dtype: Any) -> Any:
    """The nearest number of a floating-point dtype to an exact one, rounded once, ties to even.
    From the definition: no arithmetic of floats in between."""
    info = np.finfo(dtype)
    value = Fraction(value)
    top = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** top:
        top -= 1
    last = max(top, int(info.minexp)) - int(info.nmant)
    mantissa = round(abs(value) / Fraction(2) ** last)
    if mantissa * Fraction(2) ** last >= Fraction(2) ** int(info.maxexp):
        raise OverflowError(value)
    # Exact, in a type that holds all of these numbers.
    wide = np.ldexp(np.longdouble(mantissa), last)
    return np.dtype(dtype).type(-wide if value < 0 else wide)


def to_number(value: Any, name: str) -> Any:
    """What the value is in a type of NumPy's."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        value, limits = whole(value), np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(value)
        return value
    result = dtype.type(nearest(value, PARTS.get(dtype.char, name)))
    # As `tolist` has it, which leaves long doubles as they are.
    return result.item()


def each(function: Callable[..., Any], plain: list[Any], *rest: Any) -> tuple[list[Any], set[Any]]:
    """What comes of each value, and the exceptions among that."""
    results = [outcome(function, value, *rest) for value in plain]
    return results, {result for result in results if refused(result)}


def agree_one_by_one(result: Any, results: list[Any], failures: set[Any], dtype: Any) -> None:
    """A cast of an array is the cast of each element, or fails as one of them does."""
    if failures:
        assert result in failures
        return
    assert not refused(result), result
    assert result.dtype == dtype
    assert values(result) == (
        [repr(one) for one in results] if result.dtype.kind in "fc" else results
    )
