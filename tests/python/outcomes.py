"""What an operation on arrays came to, as plain values that two runs can be compared by."""

from collections.abc import Callable
from typing import Any

import numpy as np

from denizen import Integer, Rational

#: The kinds of exceptions that must agree, the more special ones first.
KINDS = (ZeroDivisionError, OverflowError, MemoryError, IndexError, TypeError, ValueError)


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
        array, plain = np.asarray(one), np.asarray(other)
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
