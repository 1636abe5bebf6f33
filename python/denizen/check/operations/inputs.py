"""What operations are made from: numbers, exact oracles, inputs that fail midway, ordered results.

Everything works on a `Subject` of the type and on the one of its oracle, which holds the type's
Python scalars in arrays of objects.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..subject import Subject

Array: TypeAlias = NDArray[Any]

#: Small integers that differ, one of them negative, none of them zero.
NUMBERS = (5, -3, 17, 2, 40, 11, -8, 9, 1, 6)
#: The same without signs, for operations that shift, repeat or take roots.
COUNTS = (5, 3, 17, 2, 40, 11, 8, 9, 1, 6)


class StopMidway(RuntimeError):
    """What failing inputs raise."""


def numbers(s: Subject, values: ArrayLike = NUMBERS) -> NDArray[Any]:
    """Numbers as an array of the subject's, cast from NumPy's own."""
    typed = np.asarray(values).astype(s.element_dtype)
    return s.array(list(typed.ravel())).reshape(typed.shape) if s.is_oracle else typed


def counts(s: Subject) -> NDArray[Any]:
    """`COUNTS` as an array of the subject's."""
    return numbers(s, COUNTS)


def rounded(values: Any) -> Any:
    """Floats to six digits: what two ways of rounding agree on."""
    return np.asarray(values).astype(np.float64).round(6)


def variance(x: Array, ddof: int = 0) -> Any:
    """The mean square of what `x` differs from its mean, of the scalars' own arithmetic."""
    away = x - x.sum() / len(x)
    return (away * away).sum() / (len(x) - ddof)


def raised(work: Callable[[], Any], *errors: type[Exception]) -> str:
    """The name of the exception that `work` must raise; one of another type passes through."""
    try:
        work()
    except errors as error:
        return next(kind.__name__ for kind in errors if isinstance(error, kind))
    return "nothing raised"


def failing(values: Any, count: int) -> Iterator[Any]:
    """The first `count` values, and then an exception."""
    yield from values[:count]
    raise StopMidway("the values end here")


def ordered(values: Any) -> list[Any]:
    """Values in an order that does not depend on where they stood: that of their texts."""
    return sorted(np.asarray(values).ravel().tolist(), key=str)


def small_buffers(work: Callable[[], Any]) -> Any:
    """What `work` returns where NumPy casts sixteen elements at a time."""
    old = np.setbufsize(16)
    try:
        return work()
    finally:
        np.setbufsize(old)


def packed(s: Subject, values: NDArray[Any]) -> NDArray[Any]:
    """Records whose subject field `x` is unaligned, beside a byte and a short text."""
    records = np.zeros(len(values), dtype=[("tag", "u1"), ("x", s.dtype), ("name", "S3")])
    records["tag"] = np.arange(len(values))
    records["x"] = values
    records["name"] = b"abc"
    return records
