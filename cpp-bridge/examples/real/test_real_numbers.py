"""`real` beside the numbers of NumPy: as float64 computes, and conversions both ways."""

import math
import operator
import random

import numpy as np
import pytest
from real_numbers import INF, NAN, R, numbers, real

# ---- as float64 ----------------------------------------------------------------------------------


def floats(seed, count=400):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-30, 30, count)
    values[: count // 4] = np.round(rng.standard_normal(count // 4) * 8) / 2
    special = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0]
    pairs = np.array([(a, b) for a in special for b in special])
    return np.concatenate([values, pairs[:, 0]]), np.concatenate(
        [rng.permutation(values), pairs[:, 1]]
    )


def equal_floats(ours, expected):
    assert ours.dtype == np.dtype(R)
    assert (real.precision(ours) == 53).all()
    back = ours.astype(float)
    np.testing.assert_array_equal(back, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(back)[known], np.signbit(expected)[known])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", "add subtract multiply divide fmod maximum minimum fmax fmin copysign".split()
)
def test_two_floats_give_what_float64_gives(name):
    x, y = floats(len(name))
    if name in ("maximum", "minimum", "fmax", "fmin"):
        # Of zeros with two signs float64 takes either.
        keep = (x != 0) | (y != 0)
        x, y = x[keep], y[keep]
    equal_floats(getattr(np, name)(x.astype(R), y.astype(R)), getattr(np, name)(x, y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    "square sqrt negative positive absolute fabs sign floor ceil trunc rint reciprocal".split(),
)
def test_one_float_gives_what_float64_gives(name):
    x, _ = floats(len(name))
    equal_floats(getattr(np, name)(x.astype(R)), getattr(np, name)(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_division_rounds_down_as_float64_does():
    x, y = floats(5)
    with np.errstate(all="ignore"):
        # Of a quotient beyond 2 ** 53, float64 knows not all digits.
        keep = ~(np.abs(x / y) > 2.0**50) | (y == 0) | np.isinf(x)
    x, y = x[keep], y[keep]
    quotient, remainder = np.divmod(x.astype(R), y.astype(R))
    equal_floats(quotient, np.floor_divide(x, y))
    equal_floats(remainder, np.remainder(x, y))
    equal_floats(x.astype(R) // y.astype(R), np.floor_divide(x, y))
    equal_floats(x.astype(R) % y.astype(R), np.remainder(x, y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_with_two_results_give_what_float64_gives():
    x, _ = floats(6)
    fraction, whole = np.modf(x.astype(R))
    for ours, expected in zip((fraction, whole), np.modf(x), strict=True):
        equal_floats(ours, expected)
    mantissa, exponent = np.frexp(x.astype(R))
    finite = np.isfinite(x)
    expected = np.frexp(x)
    equal_floats(mantissa, expected[0])
    assert exponent.dtype == np.int32
    np.testing.assert_array_equal(exponent[finite], expected[1][finite])
    equal_floats(np.ldexp(mantissa[finite], exponent[finite]), x[finite])


@pytest.mark.parametrize("name", "less less_equal greater greater_equal equal not_equal".split())
def test_comparisons_order_nan_as_float64_does(name):
    x, y = floats(7)
    expected = getattr(np, name)(x, y)
    result = getattr(np, name)(x.astype(R), y.astype(R))
    assert result.dtype == bool
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(getattr(np, name)(x.astype(R), y), expected)
    np.testing.assert_array_equal(getattr(np, name)(x, y.astype(R)), expected)


@pytest.mark.parametrize("name", "isnan isinf isfinite signbit logical_not".split())
def test_predicates_give_what_float64_gives(name):
    x, _ = floats(8)
    x = x[~np.isnan(x)] if name == "signbit" else x
    np.testing.assert_array_equal(getattr(np, name)(x.astype(R)), getattr(np, name)(x))


def test_truth_is_not_being_zero():
    x, y = floats(9)
    a, b = x.astype(R), y.astype(R)
    assert np.count_nonzero(a) == np.count_nonzero(x)
    assert [list(i) for i in np.nonzero(a)] == [list(i) for i in np.nonzero(x)]
    np.testing.assert_array_equal(a.astype(bool), x.astype(bool))
    for ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        np.testing.assert_array_equal(ufunc(a, b), ufunc(x, y))
    assert a.any() and not a.all()


def test_clip_follows_nan_and_takes_the_largest_precision():
    x, _ = floats(10)
    equal_floats(np.clip(x.astype(R), -1.0, 2.5), np.clip(x, -1.0, 2.5))
    equal_floats(np.clip(x.astype(R), 0.5, None), np.clip(x, 0.5, None))
    low = real.make("-1", 99)
    assert (real.precision(np.clip(x.astype(R), low, R(2))) == 99).all()


# ---- conversions ---------------------------------------------------------------------------------

FLOATS = [np.float16, np.float32, np.float64, np.longdouble]


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def layouts(values):
    """The same values contiguous, reversed, strided, unaligned, and too many for one buffer."""
    yield values
    yield values[::-1]
    yield np.repeat(values, 3)[1::3]
    packed = np.zeros(len(values), dtype=np.dtype([("pad", "i1"), ("value", values.dtype)]))
    packed["value"] = values
    yield packed["value"]
    yield np.resize(values, 20001)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.__name__)
def test_every_float_becomes_a_real_and_comes_back(dtype):
    rng = np.random.default_rng(11)
    info = np.finfo(dtype)
    values = np.concatenate(
        [
            rng.standard_normal(50).astype(dtype) / dtype(3),
            np.array(
                [info.max, info.tiny, info.smallest_subnormal, 0, -0.0, INF, -INF, NAN], dtype
            ),
        ]
    )
    assert np.can_cast(dtype, R, "safe")
    assert np.can_cast(R, dtype, "same_kind") and not np.can_cast(R, dtype, "safe")
    for source in layouts(values):
        reals = source.astype(R)
        back = reals.astype(dtype)
        np.testing.assert_array_equal(back, source)
        known = ~np.isnan(source)
        np.testing.assert_array_equal(np.signbit(back)[known], np.signbit(source)[known])
        out = np.zeros(len(source), dtype=np.dtype([("pad", "i1"), ("value", dtype)]))
        out["value"] = reals
        np.testing.assert_array_equal(out["value"], source)
    bits = 64 if dtype is np.longdouble and info.nmant == 63 else max(53, info.nmant + 1)
    assert (real.precision(values.astype(R)) == bits).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_a_real_rounds_to_the_nearest_float(dtype):
    bits = np.finfo(dtype).nmant + 1
    half = real.make("2", 300) ** -bits
    tiny = real.make("2", 300) ** -200
    assert np.array([1 + half])[0].dtype.type is R
    one, above = dtype(1), np.nextafter(dtype(1), dtype(2))
    reals = np.array([1 + half, 1 + half + tiny, 1 + half - tiny], dtype=R)
    assert reals.astype(dtype).tolist() == [one, above, one]


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.__name__)
def test_every_integer_becomes_a_real_and_comes_back(dtype):
    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 0, 1, info.max // 3, info.max - 1], dtype=dtype)
    assert np.can_cast(dtype, R, "safe") and not np.can_cast(R, dtype, "same_kind")
    for source in layouts(values):
        reals = source.astype(R)
        back = reals.astype(dtype)
        assert back.dtype == dtype
        np.testing.assert_array_equal(back, source)
    assert values.astype(R).tolist() == values.tolist()
    assert np.array([2.75, 0.5], dtype=R).astype(dtype).tolist() == [2, 0]
    for bad in (NAN, INF, float(info.max) * 2, -float(info.max) * 2):
        with pytest.raises((ValueError, OverflowError)):
            np.array([1, bad, 2], dtype=R).astype(dtype)


def test_bools_and_complex_numbers():
    assert np.array([True, False]).astype(R).tolist() == [1, 0]
    assert np.array([0, NAN, -0.0, 2], dtype=R).astype(bool).tolist() == [False, True, False, True]
    a = np.ones(2, dtype=R)
    with pytest.raises(TypeError):
        a + 1j
    for operation in (lambda: np.array([1j]).astype(R), lambda: R(1j)):
        with pytest.raises(ValueError, match="imaginary"):
            operation()
    with pytest.raises(ValueError, match="imaginary"):
        a[0] = 1j
    assert np.array([1 + 0j]).astype(R).tolist() == [1]
    assert a.astype(complex).tolist() == [1, 1]


def test_numbers_meet_reals_as_reals():
    a = np.array([1.5, -2], dtype=R)
    for other in (
        2,
        2.0,
        True,
        np.int8(2),
        np.float16(2),
        np.longdouble(2),
        np.arange(2),
        [1, 2.5],
    ):
        for operation in (operator.add, operator.mul, operator.sub, operator.truediv):
            assert operation(a, other).dtype == np.dtype(R)
            assert operation(np.asarray(other), a + 4).dtype == np.dtype(R)
        np.testing.assert_array_equal(
            (a * other).astype(float), a.astype(float) * np.asarray(other)
        )
    assert (a == [1.5, 3]).tolist() == [True, False]
    assert (a < np.float32(0)).tolist() == [False, True]
    assert np.array([10**40], dtype=R)[0] == real.make(str(10**40), 200)
    assert R(2**80 + 1) - R(2**80) == 1


def test_every_scalar_of_numpy_makes_a_real():
    for scalar in (np.float16(1.5), np.float32(-0.1), np.float64(0.1), np.longdouble(1) / 3):
        assert R(scalar) == scalar
        assert R(scalar).dtype == np.dtype(R)
    for scalar in (np.int8(-5), np.uint64(2**64 - 1), np.bool_(True)):
        assert R(scalar) == int(scalar)
    assert R(np.complex64(1)) == 1
    for scalar in (np.datetime64(1, "s"), np.timedelta64(1, "s"), np.void(b"x")):
        with pytest.raises(TypeError):
            R(scalar)


@pytest.mark.parametrize(
    "text", ["1.5", " -2e-3\n", "+7", "inf", "-Infinity", "nan", ".5", "5.", "1e400", "0.1", "1e22"]
)
def test_text_is_read_as_python_reads_floats(text):
    x = R(text)
    assert real.precision(x) == 53
    if text != "1e400":
        assert repr(float(x)) == repr(float(text))
        assert str(x) == repr(float(text))
    assert str(np.array([text]).astype(R)[0]) == str(x)
    assert str(np.array([text], dtype="S20").astype(R)[0]) == str(x)


@pytest.mark.parametrize("text", ["", "x", "1.5x", "1__0", "0x10", "1e", "--1", "1 2", "1,5", "é"])
def test_what_is_no_number_is_a_value_error(text):
    for read in (R, lambda t: real.make(t, 99), lambda t: np.array([t]).astype(R)):
        with pytest.raises(ValueError, match="not a number"):
            read(text)
    a = np.arange(3).astype(R)
    with pytest.raises(ValueError):
        a[1] = text
    assert a.tolist() == [0, 1, 2]


def test_text_at_its_precision_gives_the_value_back():
    ours, _ = numbers(random.Random(20), 200, -400, 400)
    for x in ours:
        bits = real.precision(x)
        again = real.make(str(x), bits)
        assert str(again) == str(x) and (again == x or np.isnan(x))
    assert str(real.make("0.1", 113)) == "0.1"
    assert R("3.14159265358979323846264338327950288") != R(math.pi)


def test_numbers_print_as_floats_do():
    values = [0.0, -0.0, 1.0, 1e15, 1e16, 1e22, 123456.789, 1e-4, 1e-5, 1e-300, 1.7e308, -2.5e-7]
    for value in values:
        assert str(R(value)) == repr(value)
    rng = np.random.default_rng(30)
    for value in rng.standard_normal(300) * 10.0 ** rng.integers(-20, 20, 300):
        assert float(str(R(value))) == value
        assert len(str(R(value))) <= len(repr(float(value))) + 1


def test_equal_numbers_have_equal_hashes():
    for value in (0, 1, -1, 2**61 - 1, 2**61, -(2**61), 10**30, 7**90, -(3**50)):
        assert hash(R(value)) == hash(value)
    for value in (0.5, -0.1, 1e300, 5e-324, INF, -INF, -0.0, math.pi):
        assert hash(R(value)) == hash(value)
        assert hash(real.with_precision(R(value), 999)) == hash(value)
    assert {R(1): "one"}[1] == "one"
    hash(R(NAN))
