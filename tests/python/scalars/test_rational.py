"""What Rational arrays take, refuse and give; test_differential_*.py compare every function with
Python's Fraction."""

import math
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from denizen import Integer, Rational


def check(result: np.ndarray, expected: Any) -> None:
    assert result.dtype == np.dtype(Rational)
    assert result.tolist() == np.asarray(expected, dtype=object).tolist()


COMPARING = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def test_levels_of_casts_between_the_element_types() -> None:
    assert np.can_cast(Integer, Rational, "safe")
    assert not np.can_cast(Rational, Integer, "same_kind")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("3/4", Fraction(3, 4)),
        (" -6/8 ", Fraction(-3, 4)),
        ("1.25e-3", Fraction(1, 800)),
        (0.1, Fraction(0.1)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.int8(-3), Fraction(-3)),
        (np.float32(0.5), Fraction(1, 2)),
        (Integer(2**70), Fraction(2**70)),
        (2**70, Fraction(2**70)),
        (True, Fraction(1)),
    ],
)
def test_whatever_is_a_fraction_is_taken(source: Any, value: Fraction) -> None:
    a = np.zeros(2, dtype=Rational)
    a[0] = source
    assert a[0] == value == Rational(source)
    assert type(Rational(source)) is Rational
    assert type(Rational(source).numerator) is int


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("x", ValueError),
        ("1/0", ZeroDivisionError),
        (math.nan, ValueError),
        (math.inf, OverflowError),
        (None, TypeError),
        (1j, TypeError),
        (object(), TypeError),
    ],
)
def test_anything_else_is_refused_and_nothing_changes(source: Any, error: type[Exception]) -> None:
    a = np.array([Fraction(1, 2**100), 7], dtype=Rational)
    with pytest.raises(error):
        a[0] = source
    assert a.tolist() == [Fraction(1, 2**100), 7]
    with pytest.raises(error):
        Rational(source)


def test_division_by_zero_raises_and_nothing_is_lost() -> None:
    a = np.array(["1/3", 2**200, 5], dtype=Rational)
    b = np.array([1, 2, 0], dtype=Rational)
    out = np.array([2**300, 2**300, 2**300], dtype=Rational)
    for ufunc in (np.divide, np.floor_divide, np.remainder):
        with pytest.raises(ZeroDivisionError):
            ufunc(a, b, out=out)
        assert out[2] == 2**300
    with pytest.raises(OverflowError):
        (a + 2) ** np.array([10**12], dtype=Rational)


def test_arrays_print_plain_fractions() -> None:
    assert str(np.array(["1/3", 2], dtype=Rational)) == "[1/3 2]"
    assert repr(Rational(3, 6)) == "1/2"


def test_truth_clip_and_mixed_operands() -> None:
    q = np.array(["1/2", -7, 0], dtype=Rational)
    assert q.any() and not q.all()
    check(np.clip(q, -1, 0), [0, -1, 0])
    check(q + np.arange(3), [Fraction(1, 2), -6, 2])
    check(1 - q, [Fraction(1, 2), 8, 1])
    check(q + np.array([1, 2, 2**70], dtype=Integer), [Fraction(3, 2), -5, 2**70])
    check(np.array([2, 3, 4], dtype=Integer) * q, [1, -21, 0])
    check(q[:2] ** np.array([2, -1], dtype=Integer), [Fraction(1, 4), Fraction(-1, 7)])
    assert (q * 0.5).dtype == np.float64
    assert q.mean() == Fraction(-13, 6)


@pytest.mark.parametrize("base", [2, Fraction(1, 3), Rational(-2, 3), 2.0])
@pytest.mark.parametrize("exponent", ["-2", "0", "3", "1/2"])
def test_scalars_are_exponents_as_fractions_are(base, exponent):
    plain = Fraction(base) if isinstance(base, Rational) else base
    assert base ** Rational(exponent) == plain ** Fraction(exponent)
    if not isinstance(base, float):
        powers = np.array([plain], dtype=object) ** np.array([exponent], dtype=Rational)
        assert powers[0] == plain ** Fraction(exponent)


EDGES = [
    *(Fraction(v) for v in (0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 10**400)),
    *(Fraction(1, v) for v in (3, 10, 2**53 + 1, 2**1074, 10**400)),
    *(Fraction(f) for f in (0.1, 1 / 3, 5e-324)),
]
FLOATS = [0.0, 1.0, 2.0**53, 2.0**63, 1 / 3, 0.1, 5e-324, 1.7e308, math.inf]


@pytest.mark.parametrize("compare", COMPARING, ids=lambda f: f.__name__)
def test_comparisons_with_floats_are_those_of_python(compare: Any) -> None:
    values = EDGES + [-v for v in EDGES]
    floats = [*FLOATS, *(-f for f in FLOATS), math.nan]
    q = np.array(values, dtype=Rational)
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore", under="ignore"):
            b = np.array(floats).astype(dtype)
        expected = [[compare(v, f) for f in b.tolist()] for v in values]
        mirrored = [[compare(f, v) for f in b.tolist()] for v in values]
        with np.errstate(all="raise"):
            result, other = compare(q[:, None], b), compare(b, q[:, None])
            assert result.dtype == other.dtype == np.bool_
            assert result.tolist() == expected
            assert other.tolist() == mirrored
            for i in range(len(b)):
                assert compare(q, b[i]).tolist() == [row[i] for row in expected]
                assert compare(b[i], q).tolist() == [row[i] for row in mirrored]
    for f in floats:
        assert compare(q, f).tolist() == [compare(v, f) for v in values]
        assert compare(f, q).tolist() == [compare(f, v) for v in values]
        for i, v in enumerate(values):
            zero_dimensional = q[i : i + 1].reshape(())
            assert bool(compare(zero_dimensional, f)) is compare(v, f)
            assert bool(compare(f, zero_dimensional)) is compare(f, v)
            assert bool(compare(q[i], f)) is compare(v, f)
            assert bool(compare(f, q[i])) is compare(f, v)


def test_what_is_no_float_is_compared_as_before() -> None:
    q = np.array(["1/3", 3, 0], dtype=Rational)
    assert (q == 3).tolist() == [False, True, False]
    assert (q < 10**30).all() and (q > -(10**30)).all()
    assert (q == np.array([0, 3, 0], dtype=np.int8)).tolist() == [False, True, True]
    assert (q > np.array([0, 3, 0], dtype=np.uint64)).tolist() == [True, False, False]
    objects = np.array([Fraction(1, 3), 3.0, "x"], dtype=object)
    assert (q == objects).tolist() == [True, True, False]
    assert (q == np.array([0, 3, 0], dtype=Integer)).tolist() == [False, True, True]
    assert (np.array([0, 3, 0], dtype=Integer) < q).tolist() == [True, False, False]
    assert (q + 1.0).dtype == (q * np.float32(1)).dtype == np.float64
