"""`Integer` beside int64, which overflows, and beside object arrays, which are slow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, prod
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Elements of the arrays whose operations are timed.
TIMED_ELEMENTS = 100_000


@dataclass(frozen=True)
class Overflow:
    """One computation that leaves int64."""

    what: str
    integer: int
    int64: int
    truth: int


@dataclass(frozen=True)
class Timing:
    """Seconds that one operation took on `Integer` and on Python ints in an object array."""

    what: str
    integer: float
    objects: float
    #: Whether both gave the same values.
    equal: bool


def overflows(dtype: Any) -> list[Overflow]:
    """Computations whose results need more than 64 bits."""
    cases: list[tuple[str, list[int], Callable[[NDArray[Any]], Any], int]] = [
        ("2 ** 64", [2] * 64, np.prod, 2**64),
        ("25!", list(range(1, 26)), lambda a: np.cumprod(a)[-1], factorial(25)),
        (
            "(10 ** 10) ** 2 * 3",
            [10**10] * 3,
            lambda a: a @ a,
            sum(prod(pair) for pair in [(10**10, 10**10)] * 3),
        ),
    ]
    return [
        Overflow(
            what,
            int(compute(np.array(values, dtype=dtype))),
            int(compute(np.array(values, dtype=np.int64))),
            truth,
        )
        for what, values, compute, truth in cases
    ]


def timings(dtype: Any, count: int = TIMED_ELEMENTS, repeats: int = 5) -> list[Timing]:
    """Time array operations on `count` values below 2**31; the best of `repeats` runs counts."""
    generator = np.random.default_rng(20)
    left = generator.integers(-(2**31), 2**31, size=count).tolist()
    right = generator.integers(-(2**31), 2**31, size=count).tolist()
    fast = np.array(left, dtype=dtype), np.array(right, dtype=dtype)
    slow = np.array(left, dtype=object), np.array(right, dtype=object)
    operations: list[tuple[str, Callable[[NDArray[Any], NDArray[Any]], Any]]] = [
        ("a + b", lambda a, b: a + b),
        ("a * b", lambda a, b: a * b),
        ("a < b", lambda a, b: a < b),
        ("a.sum()", lambda a, b: a.sum()),
        ("np.sort(a)", lambda a, b: np.sort(a)),
    ]
    results = []
    for what, operation in operations:
        integer, result = _best(lambda: operation(*fast), repeats)  # noqa: B023
        objects, expected = _best(lambda: operation(*slow), repeats)  # noqa: B023
        equal = np.asarray(result).tolist() == np.asarray(expected).tolist()
        results.append(Timing(what, integer, objects, equal))
    return results


def _best(operation: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The shortest time of several runs, and the result."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        result = operation()
        seconds.append(perf_counter() - start)
    return min(seconds), result
