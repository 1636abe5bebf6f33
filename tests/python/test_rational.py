"""Rational arrays against object arrays of Fraction: same values, and nothing left over."""

import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from denizen import Integer, Rational


def parts() -> st.SearchStrategy[int]:
    edges = [1 << bits for bits in (31, 62, 63, 64, 127)]
    return st.one_of(
        st.integers(-12, 12),
        st.integers(-(2**31), 2**31),
        st.builds(operator.add, st.sampled_from(edges), st.integers(-2, 2)),
        st.integers(-(2**64), 2**64),
        st.integers(-(2**600), 2**600),
    )


def fractions() -> st.SearchStrategy[Fraction]:
    return st.builds(Fraction, parts(), parts().filter(bool))


def pairs(values: Any = None) -> st.SearchStrategy[list[tuple[Fraction, Fraction]]]:
    values = fractions() if values is None else values
    return st.lists(st.tuples(values, values), min_size=1, max_size=25)


def arrays(values: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The same values as Rational and as objects."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return np.array(values, dtype=Rational), objects


def check(result: np.ndarray, expected: Any) -> None:
    assert result.dtype == np.dtype(Rational)
    assert result.tolist() == np.asarray(expected, dtype=object).tolist()


@pytest.mark.parametrize(
    "ufunc",
    [np.add, np.subtract, np.multiply, np.minimum, np.maximum],
    ids=lambda f: f.__name__,
)
@settings(max_examples=50, deadline=None)
@given(values=pairs(), step=st.sampled_from([1, 2, -1]))
def test_binary_ufuncs_give_what_python_gives(
    ufunc: Any, values: list[tuple[Fraction, Fraction]], step: int
) -> None:
    (a, a_objects), (b, b_objects) = (arrays([v[i] for v in values]) for i in (0, 1))
    a, b = a[::step], b[::step]
    expected = ufunc(a_objects[::step], b_objects[::step])
    check(ufunc(a, b), expected)
    ufunc(a, b, out=b)
    check(b, expected)


@pytest.mark.parametrize(
    "ufunc", [np.divide, np.floor_divide, np.remainder], ids=lambda f: f.__name__
)
@settings(max_examples=50, deadline=None)
@given(values=pairs(fractions().filter(bool)))
def test_division_is_that_of_python(ufunc: Any, values: list[tuple[Fraction, Fraction]]) -> None:
    (a, a_objects), (b, b_objects) = (arrays([v[i] for v in values]) for i in (0, 1))
    check(ufunc(a, b), ufunc(a_objects, b_objects))


COMPARING = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("compare", COMPARING, ids=lambda f: f.__name__)
@settings(max_examples=50, deadline=None)
@given(values=pairs())
def test_comparisons_give_bool_arrays(
    compare: Any, values: list[tuple[Fraction, Fraction]]
) -> None:
    (a, a_objects), (b, b_objects) = (arrays([v[i] for v in values]) for i in (0, 1))
    result = compare(a, b)
    assert result.dtype == np.bool_
    assert result.tolist() == compare(a_objects, b_objects).tolist()


@settings(max_examples=50, deadline=None)
@given(values=st.lists(fractions(), min_size=1, max_size=25), exponent=st.integers(-4, 4))
def test_unary_ufuncs_rounding_and_powers(values: list[Fraction], exponent: int) -> None:
    a, objects = arrays(values)
    check(-a, -objects)
    check(abs(a), abs(objects))
    check(np.square(a), objects * objects)
    check(np.sign(a), [(v > 0) - (v < 0) for v in values])
    check(np.floor(a), [math.floor(v) for v in values])
    check(np.ceil(a), [math.ceil(v) for v in values])
    check(np.trunc(a), [math.trunc(v) for v in values])
    check(np.rint(a), [round(v) for v in values])
    exponents = np.array([exponent], dtype=Rational)
    if exponent < 0 and 0 in values:
        with pytest.raises(ZeroDivisionError):
            a**exponents
    else:
        check(a**exponents, [v**exponent for v in values])


@settings(max_examples=50, deadline=None)
@given(values=st.lists(fractions(), max_size=25))
def test_reductions_and_sorting(values: list[Fraction]) -> None:
    a, _ = arrays(values)
    assert a.sum() == sum(values)
    assert a.prod() == math.prod(values)
    check(np.sort(a), sorted(values))
    order = np.argsort(a, kind="stable")
    assert order.tolist() == sorted(range(len(values)), key=lambda i: values[i])
    if values:
        assert a.max() == max(values)
        assert a.min() == min(values)


@settings(max_examples=30, deadline=None)
@given(values=st.lists(fractions(), min_size=6, max_size=6))
def test_products_of_matrices(values: list[Fraction]) -> None:
    a, objects = arrays(values)
    a, objects = a.reshape(2, 3), objects.reshape(2, 3)
    check((a @ a.T).ravel(), objects.dot(objects.T).ravel())
    check(np.vecdot(a, a[::-1]), (objects * objects[::-1]).sum(axis=1))


@settings(max_examples=50, deadline=None)
@given(values=st.lists(fractions(), max_size=25))
def test_values_survive_python_text_and_pickle(values: list[Fraction]) -> None:
    a, _ = arrays(values)
    assert a.tolist() == values
    assert all(type(v) is Rational for v in a)
    check(np.array([str(v) for v in values], dtype=Rational), values)
    for protocol in range(2, 6):
        check(pickle.loads(pickle.dumps(a, protocol)), values)
    assert [hash(v) for v in a] == [hash(v) for v in values]


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(fractions(), max_size=25),
    floats=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=25),
)
def test_floats_are_exact_one_way_and_nearest_the_other(
    values: list[Fraction], floats: list[float]
) -> None:
    a, _ = arrays(values)
    try:
        expected = [float(v) for v in values]
    except OverflowError:
        with pytest.raises(OverflowError):
            a.astype(np.float64)
    else:
        assert a.astype(np.float64).tolist() == expected
    exact = np.array(floats, dtype=np.float64).astype(Rational)
    check(exact, [Fraction(v) for v in floats])
    assert exact.astype(np.float64).tolist() == floats


@settings(max_examples=50, deadline=None)
@given(values=st.lists(parts(), min_size=1, max_size=25))
def test_integers_and_rationals_convert_into_each_other(values: list[int]) -> None:
    integers = np.array(values, dtype=Integer)
    rationals = integers.astype(Rational)
    check(rationals, [Fraction(v) for v in values])
    assert rationals.astype(Integer).tolist() == values
    rationals[0] = Fraction(1, 3)
    with pytest.raises(ValueError):
        rationals.astype(Integer)
    with pytest.raises(ValueError):
        rationals.astype(np.int64)
    assert np.can_cast(Integer, Rational, "safe")
    assert not np.can_cast(Rational, Integer, "same_kind")


@settings(max_examples=50, deadline=None)
@given(values=pairs())
def test_integers_divide_to_exact_rationals(values: list[tuple[Fraction, Fraction]]) -> None:
    tops = [v[0].numerator for v in values]
    bottoms = [v[1].denominator for v in values]
    result = np.array(tops, dtype=Integer) / np.array(bottoms, dtype=Integer)
    check(result, [Fraction(t, b) for t, b in zip(tops, bottoms, strict=True)])


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


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.tuples(fractions(), st.floats()), min_size=1, max_size=25))
def test_comparisons_with_any_float_are_those_of_python(
    values: list[tuple[Fraction, float]],
) -> None:
    # Each also with the float nearest to it, where it has one.
    near = [(v, float(v)) for v, _ in values if abs(v) < 10**300]
    values = values + near
    q = np.array([v for v, _ in values], dtype=Rational)
    b = np.array([f for _, f in values])
    for compare in COMPARING:
        assert compare(q, b).tolist() == [compare(v, f) for v, f in values]
        assert compare(b, q).tolist() == [compare(f, v) for v, f in values]


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
