"""What Integer arrays take, refuse and give; test_differential_*.py compare every function with
Python's int."""

import math
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import denizen
from denizen import Integer


def check(result: np.ndarray, expected: Any) -> None:
    assert result.dtype == np.dtype(Integer)
    assert result.tolist() == np.asarray(expected, dtype=object).tolist()


COMPARING = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


def test_casts_that_would_lose_something_raise() -> None:
    with pytest.raises(ValueError):
        np.array([0.5]).astype(Integer)
    with pytest.raises(ValueError):
        np.array([np.nan]).astype(Integer)
    with pytest.raises(OverflowError):
        np.array([np.inf]).astype(Integer)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (" -1_000 ", -1000),
        (True, 1),
        (2.0, 2),
        (Decimal("1e20"), 10**20),
        (Fraction(6, 2), 3),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(4.0), 4),
        (10**4000, 10**4000),
    ],
)
def test_whatever_is_an_integer_is_taken(source: Any, value: int) -> None:
    a = np.zeros(2, dtype=Integer)
    a[0] = source
    assert a[0] == value == Integer(source)
    assert type(Integer(source)) is Integer


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("ten", ValueError),
        ("1.5", ValueError),
        (2.5, ValueError),
        (math.nan, ValueError),
        (math.inf, OverflowError),
        (Decimal("0.1"), ValueError),
        (Fraction(1, 2), ValueError),
        (None, TypeError),
        (1j, TypeError),
        (object(), TypeError),
    ],
)
def test_anything_else_is_refused_and_nothing_changes(source: Any, error: type[Exception]) -> None:
    a = np.array([2**100, 7], dtype=Integer)
    with pytest.raises(error):
        a[0] = source
    assert a.tolist() == [2**100, 7]
    with pytest.raises(error):
        Integer(source)


def test_absurd_results_are_refused() -> None:
    one = np.array([1, 5], dtype=Integer)
    for operation in (
        lambda: one << np.array([2**45, 1], dtype=Integer),
        lambda: (one + 9) ** np.array([10**12, 1], dtype=Integer),
    ):
        with pytest.raises((OverflowError, MemoryError)):
            operation()
    with pytest.raises(ZeroDivisionError):
        one // np.zeros(2, dtype=Integer)
    with pytest.raises(ValueError):
        one ** np.array([-1, 1], dtype=Integer)
    assert one.tolist() == [1, 5]


def test_small_values_own_no_memory() -> None:
    a = np.arange(1000).astype(Integer)
    assert a.itemsize == 8
    assert denizen.inspect(a).heap_bytes == 0
    b = np.array([2**1000], dtype=Integer)
    assert denizen.inspect(b).heap_bytes >= 125


def test_truth_is_that_of_python() -> None:
    a = np.array([[3, 0], [2**70, -1]], dtype=Integer)
    assert a.any() and not a.all()
    assert a.all(axis=1).tolist() == [False, True]
    assert np.logical_xor(a, a[::-1]).tolist() == [[False, True], [False, True]]
    assert np.logical_not(a).tolist() == [[False, True], [False, False]]


def test_division_by_anything_is_exact_or_float() -> None:
    a = np.array([3, -7, 2**70], dtype=Integer)
    halves = [Fraction(3, 2), Fraction(-7, 2), Fraction(2**69)]
    for two in (2, np.int8(2), np.array([2], dtype=np.uint64), a[:1] - 1):
        result = a / two
        assert result.dtype == np.dtype(denizen.Rational)
        assert result.tolist() == halves
    floats = a / 0.5
    assert floats.dtype == np.float64
    assert floats.tolist() == [6.0, -14.0, 2.0**71]
    with pytest.raises(ZeroDivisionError):
        a / 0


def test_clip_and_mixed_operands() -> None:
    a = np.array([3, -7, 2**70], dtype=Integer)
    check(np.clip(a, -1, 5), [3, -1, 5])
    check(a + np.arange(3), [3, -6, 2**70 + 2])
    check(2**60 * a, [v * 2**60 for v in a.tolist()])
    assert (a + 0.5).dtype == np.float64
    assert (a == 3).tolist() == [True, False, False]


def test_truth_of_no_elements_is_that_of_python() -> None:
    empty = np.zeros(0, dtype=Integer)
    assert empty.all() and not empty.any()
    assert empty.sum() == 0 and empty.prod() == 1


EDGES = [2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**62 - 1, 2**63 - 1, 2**63, 10**400, 1, 0]
FLOATS = [2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, 0.5, 0.1, 0.0, 5e-324, 1.7e308, math.inf]


@pytest.mark.parametrize("compare", COMPARING, ids=lambda f: f.__name__)
def test_comparisons_with_floats_are_those_of_python(compare: Any) -> None:
    values = EDGES + [-v for v in EDGES]
    floats = [*FLOATS, *(-f for f in FLOATS), math.nan]
    a = np.array(values, dtype=Integer)
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore"):
            b = np.array(floats).astype(dtype)
        expected = [[compare(v, f) for f in b.tolist()] for v in values]
        mirrored = [[compare(f, v) for f in b.tolist()] for v in values]
        with np.errstate(all="raise"):
            result, other = compare(a[:, None], b), compare(b, a[:, None])
            assert result.dtype == other.dtype == np.bool_
            assert result.tolist() == expected
            assert other.tolist() == mirrored
            for i in range(len(b)):
                assert compare(a, b[i]).tolist() == [row[i] for row in expected]
                assert compare(b[i], a).tolist() == [row[i] for row in mirrored]
    for f in floats:
        assert compare(a, f).tolist() == [compare(v, f) for v in values]
        assert compare(f, a).tolist() == [compare(f, v) for v in values]
        for i, v in enumerate(values):
            zero_dimensional = a[i : i + 1].reshape(())
            assert bool(compare(zero_dimensional, f)) is compare(v, f)
            assert bool(compare(f, zero_dimensional)) is compare(f, v)
            assert bool(compare(a[i], f)) is compare(v, f)
            assert bool(compare(f, a[i])) is compare(f, v)


def test_what_is_no_float_is_compared_as_before() -> None:
    a = np.array([2**53 + 1, 3, 0], dtype=Integer)
    assert (a == 2**53 + 1).tolist() == [True, False, False]
    assert (a < 10**30).all() and (a > -(10**30)).all()
    assert (a == np.array([1, 3, 0], dtype=np.int8)).tolist() == [False, True, True]
    assert (a > np.array([1, 3, 0], dtype=np.uint64)).tolist() == [True, False, False]
    assert (a == np.array([2**53 + 1, 3.0, "x"], dtype=object)).tolist() == [True, True, False]
    assert (a == np.array(["9007199254740993", 3, "1/2"], dtype=denizen.Rational)).tolist() == [
        True,
        True,
        False,
    ]
    assert (a == np.array([3 + 0j, 3 + 0j, 0j])).tolist() == [False, True, True]
    assert (a + 1.0).dtype == (a * np.float32(1)).dtype == np.float64
    assert np.equal(a, 3.0, dtype=object).tolist() == [False, True, False]
    assert np.equal(a, 3.0, dtype=bool).tolist() == [False, True, False]
