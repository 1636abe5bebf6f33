"""MPFR numbers in arrays: the same values as gmpy2's, which are also MPFR's, and as float64's at
53 bits."""

import contextlib
import copy
import io
import itertools
import math
import operator
import pickle
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import denizen

real = pytest.importorskip("real", reason="MPFR is not installed, so the module was not built")
gmpy2 = pytest.importorskip("gmpy2")

R = real.real
PRECISIONS = [2, 24, 53, 64, 113, 200, 1000]
NAN, INF = float("nan"), float("inf")
SPECIAL = ["nan", "inf", "-inf", "0", "-0", "1", "-1", "0.5", "2", "-2.5", "3.5"]


def at(precision):
    """gmpy2 with MPFR's whole range of exponents."""
    return gmpy2.context(
        precision=int(precision), emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min()
    )


def numbers(rng, count, low=-40, high=40):
    """Values of mixed precision and size, the special ones among them: reals and gmpy2's."""
    texts = [(text, rng.choice(PRECISIONS)) for text in SPECIAL]
    for _ in range(count):
        digits = rng.randint(1, 10 ** rng.randint(1, 40))
        exponent = rng.randint(low, high) - len(str(digits))
        texts.append((f"{rng.choice(['', '-'])}{digits}e{exponent}", rng.choice(PRECISIONS)))
    rng.shuffle(texts)
    ours = np.array([real.make(text, precision) for text, precision in texts], dtype=R)
    theirs = []
    for text, precision in texts:
        with at(precision):
            theirs.append(gmpy2.mpfr(text, precision))
    return ours, theirs


def to_gmpy2(x):
    precision = int(real.precision(x))
    with at(precision):
        return gmpy2.mpfr(str(x), precision)


def same(x, expected):
    """Whether a real is that mpfr: value, sign of zero, and precision."""
    value = to_gmpy2(x)
    if value.precision != expected.precision:
        return False
    if gmpy2.is_nan(value) or gmpy2.is_nan(expected):
        return gmpy2.is_nan(value) and gmpy2.is_nan(expected)
    return value == expected and value.is_signed() == expected.is_signed()


def check_all(results, expected, inputs):
    assert len(results) == len(expected)
    for index, (x, y) in enumerate(zip(results, expected, strict=True)):
        operands = [(str(v), v.precision) for v in inputs(index)]
        assert same(x, y), f"{x} ({real.precision(x)}) is not {y} ({y.precision}) for {operands}"


# ---- functions -----------------------------------------------------------------------------------

UNARY = {
    "positive": operator.pos,
    "negative": operator.neg,
    "absolute": abs,
    "fabs": abs,
    "square": gmpy2.square,
    "reciprocal": lambda x: 1 / x,
    "sqrt": gmpy2.sqrt,
    "cbrt": gmpy2.cbrt,
    "exp": gmpy2.exp,
    "exp2": gmpy2.exp2,
    "expm1": gmpy2.expm1,
    "log": gmpy2.log,
    "log2": gmpy2.log2,
    "log10": gmpy2.log10,
    "log1p": gmpy2.log1p,
    "sin": gmpy2.sin,
    "cos": gmpy2.cos,
    "tan": gmpy2.tan,
    "arcsin": gmpy2.asin,
    "arccos": gmpy2.acos,
    "arctan": gmpy2.atan,
    "sinh": gmpy2.sinh,
    "cosh": gmpy2.cosh,
    "tanh": gmpy2.tanh,
    "arcsinh": gmpy2.asinh,
    "arccosh": gmpy2.acosh,
    "arctanh": gmpy2.atanh,
    "floor": gmpy2.rint_floor,
    "ceil": gmpy2.rint_ceil,
    "trunc": gmpy2.rint_trunc,
    "rint": gmpy2.rint,
}
SMALL_ARGUMENTS = {"exp", "exp2", "expm1", "sinh", "cosh", "tanh", "sin", "cos", "tan"}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_are_rounded_as_mpfr_rounds(name):
    high = 3 if name in SMALL_ARGUMENTS else 40
    ours, theirs = numbers(random.Random(name), 120, -20, high)
    expected = []
    for x in theirs:
        with at(x.precision):
            expected.append(UNARY[name](x))
    ufunc = getattr(np, name)
    check_all(ufunc(ours), expected, lambda i: [theirs[i]])
    out = real.with_precision(np.ones(len(ours)).astype(R), 300)
    assert ufunc(ours, out=out) is out
    check_all(out, expected, lambda i: [theirs[i]])
    ufunc(ours, out=ours)
    check_all(ours, expected, lambda i: [theirs[i]])


BINARY = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "fmod": gmpy2.fmod,
    "hypot": gmpy2.hypot,
    "arctan2": gmpy2.atan2,
    "copysign": gmpy2.copy_sign,
    "fmax": gmpy2.maxnum,
    "fmin": gmpy2.minnum,
}


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers_have_the_larger_precision(name):
    rng = random.Random(name)
    x, x_theirs = numbers(rng, 150, -20, 20)
    y, y_theirs = numbers(rng, 150, -20, 20)
    expected = []
    for left, right in zip(x_theirs, y_theirs, strict=True):
        with at(max(left.precision, right.precision)):
            expected.append(BINARY[name](left, right))
    ufunc = getattr(np, name)

    def inputs(i):
        return x_theirs[i], y_theirs[i]

    check_all(ufunc(x, y), expected, inputs)
    # Strided, reversed, and into an operand.
    check_all(ufunc(x[::-2], y[::-2]), expected[::-2], lambda i: inputs(-1 - 2 * i))
    for out in (x, y):
        a, b = x.copy(), y.copy()
        target = a if out is x else b
        ufunc(a, b, out=target)
        check_all(target, expected, inputs)


def test_powers_are_rounded_as_mpfr_rounds():
    rng = random.Random(1)
    x, x_theirs = numbers(rng, 150, -3, 3)
    y, y_theirs = numbers(rng, 150, -2, 2)
    expected = []
    for left, right in zip(x_theirs, y_theirs, strict=True):
        with at(max(left.precision, right.precision)):
            expected.append(left**right)
    check_all(x**y, expected, lambda i: (x_theirs[i], y_theirs[i]))
    check_all(np.float_power(x, y), expected, lambda i: (x_theirs[i], y_theirs[i]))


@pytest.mark.parametrize("names", ["radians deg2rad", "degrees rad2deg"])
def test_angles_are_converted_to_the_last_bit(names):
    ours, theirs = numbers(random.Random(3), 100, -5, 5)
    assert np.isnan(np.radians(R(NAN))) and np.degrees(R(-INF)) == -INF
    finite = [i for i, x in enumerate(theirs) if gmpy2.is_finite(x)]
    ours, theirs = ours[finite], [theirs[i] for i in finite]
    expected = []
    for x in theirs:
        with at(x.precision + 100):
            pi = gmpy2.const_pi()
            wide = x * pi / 180 if names.startswith("radians") else x * 180 / pi
        with at(x.precision):
            expected.append(gmpy2.mpfr(wide, x.precision))
    for name in names.split():
        check_all(getattr(np, name)(ours), expected, lambda i: [theirs[i]])


def test_logarithms_of_sums_do_not_overflow():
    x = real.make([1e6, -1e6, 3.0, -INF, INF, INF, NAN, 0.0], 100)
    y = real.make([1e6 + 1, -1e6, 4.0, -INF, INF, -INF, 1.0, NAN], 100)
    for ufunc, base in ((np.logaddexp, gmpy2.exp), (np.logaddexp2, gmpy2.exp2)):
        result = ufunc(x, y)
        assert (real.precision(result) == 100).all()
        for r, a, b in list(zip(result, x, y, strict=True))[:3]:
            with at(160):
                total = base(to_gmpy2(a)) + base(to_gmpy2(b))
                exact = gmpy2.log(total) if ufunc is np.logaddexp else gmpy2.log2(total)
            assert abs(
                Fraction(*to_gmpy2(r).as_integer_ratio()) / Fraction(*exact.as_integer_ratio()) - 1
            ) < Fraction(1, 2**98)
        assert result[3] == -INF and result[4] == INF and result[5] == INF
        assert np.isnan(result[6:]).all()


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


# ---- order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 13, 100, 5000])
@pytest.mark.parametrize("nan", [False, True])
def test_sorts_are_stable_and_put_nan_last(count, nan):
    rng = np.random.default_rng(count)
    values = np.round(rng.standard_normal(count) * 20)
    if nan and count:
        values[rng.random(count) < 0.2] = NAN
    bits = rng.integers(40, 70, count)
    a = np.array([real.make(v, int(p)) for v, p in zip(values, bits, strict=True)], dtype=R)
    order = np.argsort(values, kind="stable")
    for kind in ("quicksort", "stable"):
        np.testing.assert_array_equal(np.argsort(a, kind=kind), order)
        sorted_ = np.sort(a, kind=kind)
        # The precision tells equal values apart.
        np.testing.assert_array_equal(sorted_.astype(float), values[order])
        np.testing.assert_array_equal(real.precision(sorted_), bits[order])
    strided = np.repeat(a, 2)[::2]
    strided.sort()
    np.testing.assert_array_equal(strided.astype(float), values[order])
    if count:
        middle = count // 2
        parts = np.partition(a, middle)
        np.testing.assert_array_equal(float(parts[middle]), np.sort(values)[middle])


def test_sorts_order_what_differs_in_the_last_bit_or_only_in_size():
    one = real.make(1, 300)
    tiny = real.make(2, 300) ** -250
    huge, small = real.make("1e1000000", 60), real.make("1e-1000000", 60)
    ordered = [
        *(-INF, -huge * 2, -huge, R(-2), -one - tiny, R(-1), -one + tiny, -small * 2, -small, 0.0),
        *(small, small * 2, one - tiny, R(1), one + tiny, R(2), huge, huge * 2, INF, NAN),
    ]
    rng = random.Random(70)
    for _ in range(20):
        order = list(range(len(ordered))) * 3
        rng.shuffle(order)
        a = np.array([ordered[i] for i in order], dtype=R)
        expected = [str(R(ordered[i])) for i in sorted(order)]
        assert [str(x) for x in np.sort(a)] == expected
        positions = np.argsort(a)
        assert [order[i] for i in positions] == sorted(order)
        for first, second in itertools.pairwise(positions):
            assert order[first] < order[second] or first < second


def test_extremes_follow_nan():
    a = np.array([1.0, NAN, -3.0, NAN], dtype=R)
    assert np.isnan(a.max()) and np.isnan(a.min())
    assert np.fmax.reduce(a) == 1 and np.fmin.reduce(a) == -3
    assert a.argmax() == 1
    b = a[[0, 2]]
    assert (b.argmax(), b.argmin(), b.max(), b.min()) == (0, 1, 1, -3)
    assert np.searchsorted(np.array([1, 2, 3], dtype=R), R("2.5")) == 2
    assert np.unique(np.array([2, 1, 2, 1], dtype=R)).astype(float).tolist() == [1, 2]


# ---- precision -----------------------------------------------------------------------------------


def test_the_precision_of_a_result_is_that_of_its_most_precise_operand():
    x = real.make("1", 113)
    assert real.precision(x / 3) == 113
    assert real.precision(3 / x) == 113
    assert real.precision(x + np.float64(1)) == 113
    assert real.precision(np.float32(1) + R(1)) == 53
    assert real.precision(R(1) + 2**60) == 53
    assert real.precision(R(1) + (2**60 + 1)) == 64
    assert real.precision(real.make("1", 10) + 1.0) == 53
    a = np.array([real.make("1", p) for p in (20, 80, 300)], dtype=R)
    assert real.precision(a + a[::-1]).tolist() == [300, 80, 300]
    assert real.precision(a.sum()) == 300
    assert real.precision(a).dtype == np.int64


def test_precision_is_set_for_arrays_of_any_shape():
    a = np.arange(6).reshape(2, 3).astype(R) / 7
    for bits in (2, 24, 53, 54, 1000):
        b = real.with_precision(a.T, bits)
        assert b.shape == (3, 2) and (real.precision(b) == bits).all()
        for x, y in zip(b.flat, a.T.flat, strict=True):
            with at(bits):
                assert same(x, gmpy2.mpfr(to_gmpy2(y), bits))
    assert real.with_precision(a[0, 1], 3) == 0.15625
    assert isinstance(real.make("0.1", 200), R)
    assert real.precision(real.make([[1, 2.5], [3, "4"]], 77)).tolist() == [[77, 77], [77, 77]]
    assert real.make([], 60).shape == (0,)
    for bad in (0, -1, 2**31):
        with pytest.raises(ValueError, match="precision"):
            real.make("1", bad)
        with pytest.raises(ValueError, match="precision"):
            real.with_precision(a, bad)
    with pytest.raises(TypeError, match="float64"):
        real.precision(np.zeros(2))


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


# ---- sums and products ---------------------------------------------------------------------------


def test_reductions_add_from_left_to_right():
    ours, theirs = numbers(random.Random(40), 60, -10, 10)
    keep = [i for i, x in enumerate(theirs) if gmpy2.is_finite(x)]
    a, values = ours[keep], [theirs[i] for i in keep]
    for ufunc, operation in ((np.add, operator.add), (np.multiply, operator.mul)):
        total, steps = values[0], [values[0]]
        for x in values[1:]:
            with at(max(total.precision, x.precision)):
                total = operation(total, x)
            steps.append(total)
        check_all(ufunc.accumulate(a), steps, lambda i: [values[i]])
        assert real.precision(ufunc.reduce(a)) == total.precision
        if ufunc is np.multiply:
            assert same(a.prod(), total)
    assert np.zeros(0, dtype=R).sum() == 0 and np.zeros(0, dtype=R).prod() == 1
    b = np.arange(24).reshape(2, 3, 4).astype(R)
    for axis in (None, 0, 1, 2, (0, 2)):
        expected = np.arange(24).reshape(2, 3, 4).sum(axis)
        np.testing.assert_array_equal(np.asarray(b.sum(axis)).astype(int), expected)
    assert np.arange(5).astype(R).mean() == 2
    assert b[::-1, ::2].sum(where=b[::-1, ::2] > 10) == sum(
        x for x in (b[::-1, ::2]).flat if x > 10
    )


def test_products_of_matrices_add_products_without_rounding_them():
    rng = np.random.default_rng(50)
    x, y = rng.integers(-9, 9, (4, 5)), rng.integers(-9, 9, (5, 3))
    a, b = x.astype(R), y.astype(R)
    np.testing.assert_array_equal((a @ b).astype(int), x @ y)
    np.testing.assert_array_equal(np.matvec(a, b[:, 0]).astype(int), x @ y[:, 0])
    np.testing.assert_array_equal(np.vecmat(b[:, 0], b).astype(int), y[:, 0] @ y)
    np.testing.assert_array_equal(np.vecdot(a, a).astype(int), (x * x).sum(1))
    np.testing.assert_array_equal((a @ b.T[::-1].T).astype(int), x @ y.T[::-1].T)
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        # Before, NumPy refuses every new dtype in dot.
        np.testing.assert_array_equal(np.dot(a, b[:, 1]).astype(int), x @ y[:, 1])
    assert (np.zeros((2, 0), R) @ np.zeros((0, 2), R)).astype(int).tolist() == [[0, 0], [0, 0]]
    # 1 / 3 * 3 - 1 is not 0 where the product is not rounded.
    third = R(1) / 3
    u = np.array([R(-1), third], dtype=R)
    v = np.array([R(1), R(3)], dtype=R)
    with at(53):
        exact = gmpy2.fma(to_gmpy2(third), gmpy2.mpfr(3), gmpy2.mpfr(-1))
    assert exact != 0
    assert same(np.vecdot(u, v), exact) and same(u @ v, exact)


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Custom dtypes are saved as python objects")
def test_pickles_keep_value_and_precision():
    ours, theirs = numbers(random.Random(60), 100, -500, 500)
    for protocol in range(6):
        again = pickle.loads(pickle.dumps(ours.reshape(3, -1), protocol))
        check_all(again.ravel(), theirs, lambda i: [theirs[i]])
    check_all(copy.deepcopy(ours), theirs, lambda i: [theirs[i]])
    scalar = pickle.loads(pickle.dumps(ours[0]))
    assert same(scalar, theirs[0])
    file = io.BytesIO()
    np.save(file, ours, allow_pickle=True)
    file.seek(0)
    check_all(np.load(file, allow_pickle=True), theirs, lambda i: [theirs[i]])


def test_damaged_pickles_are_refused_or_give_numbers():
    a = np.array([real.make("1.5", 100), R(NAN), R(0)], dtype=R)
    data = pickle.dumps(a)
    rng = random.Random(61)
    outcomes = set()
    for _ in range(400):
        damaged = bytearray(data)
        damaged[rng.randrange(len(damaged) // 2, len(damaged))] ^= 1 << rng.randrange(8)
        with contextlib.suppress(Exception):
            outcomes.add(str(pickle.loads(bytes(damaged))))
    assert outcomes


def test_writing_into_parts_and_where():
    a = np.arange(6).astype(R)
    out = np.full(6, R(-1))
    np.add(a, a, out=out, where=a > 2)
    assert out.tolist() == [-1, -1, -1, 6, 8, 10]
    np.add.at(a, [0, 0, 5], np.array([1, 2, 3], dtype=R))
    assert a.tolist() == [3, 1, 2, 3, 4, 8]
    np.negative.at(a, [1, 1, 2])
    assert a.tolist() == [3, 1, -2, 3, 4, 8]
    a[1:] += a[:-1].copy()
    assert a.tolist() == [3, 4, -1, 1, 7, 12]
    a[::2] = [0.5, "7", 2]
    assert a.tolist() == [0.5, 4, 7, 1, 2, 12]
    with pytest.raises(TypeError):
        a[0] = object()
    with pytest.raises(TypeError):
        a[0] = None
    assert a[0] == 0.5


def test_growing_and_shrinking_arrays():
    a = np.arange(5).astype(R) / 3
    values = [str(x) for x in a]
    a.resize(20, refcheck=False)
    assert [str(x) for x in a[:5]] == values and (a[5:] == 0).all()
    a[10:] = R("2.5")
    a.resize(3, refcheck=False)
    assert [str(x) for x in a] == values[:3]
    b = np.concatenate([a, a[::-1], np.zeros(2, R)])
    assert b.shape == (8,) and b[3] == a[2]
    assert np.take(b, [7, 0, 3]).tolist() == [0, a[0], a[2]]
    assert np.where(b > 0, b, -1).dtype == np.dtype(R)
    assert np.fromiter((R(i) for i in range(50)), dtype=R).sum() == 1225


def test_cells_that_nothing_was_written_to_are_zero_at_default_precision():
    a = np.empty((2, 2), dtype=R)
    assert (a == 0).all() and (real.precision(a) == 53).all()
    before = denizen.stats()["real.real"]["constructed"]
    b = np.zeros(1000, dtype=R)
    assert denizen.stats()["real.real"]["constructed"] == before
    assert (b + 1).sum() == 1000


def test_objects_are_counted_and_their_heap_is_known():
    before = denizen.stats()["real.real"]
    a = real.make(np.arange(100) + 0.5, 640)
    assert denizen.stats()["real.real"]["live"] - before["live"] == 100
    assert "8,000 bytes" in str(denizen.inspect(a))
    del a
    after = denizen.stats()["real.real"]
    assert after["live"] == before["live"]
    built = after["constructed"] - before["constructed"]
    assert built == after["destroyed"] - before["destroyed"] >= 100


def test_buffered_operations_of_many_elements_are_right():
    count = 20001
    x = np.arange(count)
    a = x.astype(R)
    np.testing.assert_array_equal((a + x).astype(int), 2 * x)
    np.testing.assert_array_equal(
        (x.astype(np.float32) * a[::-1]).astype(float), x * (count - 1.0 - x)
    )
    assert a.sum() == x.sum()
    assert (a * 0.5).sum() == x.sum() / 2
    np.testing.assert_array_equal(a.astype("S10").astype(R).astype(int), x)


def test_functions_run_in_many_threads_at_once():
    a = real.make(np.arange(1, 2001) / 7, 113)
    expected = [str(v) for v in (np.exp(np.sin(a)) + np.sqrt(a) ** 3)]

    def work(_):
        b = np.exp(np.sin(a)) + np.sqrt(a) ** 3
        b.sort()
        return sorted(str(v) for v in b)

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(work, range(8)):
            assert result == sorted(expected)


@pytest.mark.short
def test_a_short_life():
    a = real.make([3.5, "nan", -1], 113)
    b = np.sort(a * a - 1)
    assert b[0] == 0 and b[1] == 11.25 and np.isnan(b[2])
    assert b.astype(np.longdouble)[1] == 11.25
    assert str(pickle.loads(pickle.dumps(b))) == str(b)
    b.resize(7, refcheck=False)
    assert b[6] == 0
    with pytest.raises(ValueError):
        b[0] = "x"
    assert (a[[0, 2]] @ a[[0, 2]]) == 13.25


def test_the_class_alone_keeps_its_promises():
    program = Path(real.__file__).with_name("check_real")
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
