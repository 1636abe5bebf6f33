"""Functions of `real` and their order: rounded as MPFR rounds them, checked with gmpy2."""

import itertools
import operator
import random
from fractions import Fraction

import numpy as np
import pytest
from real_numbers import INF, NAN, R, at, check_all, gmpy2, numbers, real, to_gmpy2

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
