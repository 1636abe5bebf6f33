"""Integer and Rational beside every dtype of NumPy, in both orders; functions that NumPy computes as
floats; `dtype=` and `signature=`."""

import inspect
import math
import operator
from fractions import Fraction

import numpy as np
import pytest

import denizen
from denizen import Integer, IntegerDType, Rational, RationalDType

INTEGERS = [3, -5, 2**62, -(2**64) - 1, 0]
RATIONALS = [Fraction(1, 3), Fraction(-7, 2), Fraction(5), Fraction(2**70, 3), Fraction(0)]
EXACT = {Integer: np.dtype(Integer), Rational: np.dtype(Rational)}

INTEGRAL = "? b B h H i I l L q Q".split()
FLOATING = {"e": "d", "f": "d", "d": "d", "g": "g", "F": "D", "D": "D", "G": "G"}


def elements(element):
    return np.array(INTEGERS if element is Integer else RATIONALS, dtype=element)


def objects(values):
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def plain(array):
    """The values as Python's own numbers, for an oracle that knows nothing of the types."""
    return objects([Fraction(v) if array.dtype == Rational else int(v) for v in array])


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("code", INTEGRAL)
@pytest.mark.parametrize(
    "operation",
    [
        operator.add,
        operator.sub,
        operator.mul,
        operator.floordiv,
        operator.mod,
        np.minimum,
        np.maximum,
        np.fmin,
        np.fmax,
        divmod,
    ],
    ids=lambda f: f.__name__,
)
def test_beside_integers_of_numpy_arithmetic_stays_exact(element, code, operation):
    a, b = elements(element), np.array([1, 1, 1, 1, 1]).astype(code)
    other = objects([int(v) for v in b])
    cases = [(a, b, plain(a), other), (a, b[0], plain(a), 1)]
    # Nothing divides by the last element.
    cases += [(b[:4], a[:4], other[:4], plain(a)[:4]), (b[0], a[:4], 1, plain(a)[:4])]
    for left, right, left_plain, right_plain in cases:
        result = operation(left, right)
        if operation is divmod:
            result, rest = result
            assert rest.tolist() == (left_plain % right_plain).tolist()
            left_plain, right_plain = np.floor_divide(left_plain, right_plain), 0
            expected = left_plain
        else:
            expected = operation(left_plain, right_plain)
        assert result.dtype == element
        assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("code", INTEGRAL)
def test_beside_integers_of_numpy_division_is_a_rational(element, code):
    a, b = elements(element), np.array([1, 1, 1, 1, 1]).astype(code)
    for result in (a / b, a / b[0], a / 1):
        assert result.dtype == Rational
        assert result.tolist() == [Fraction(v) for v in plain(a)]
    assert (b[:4] / a[:4]).tolist() == [Fraction(1) / v for v in map(Fraction, plain(a)[:4])]


BITS = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "gcd": math.gcd,
    "lcm": math.lcm,
}


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("code", INTEGRAL)
def test_bits_and_divisors_of_integers_beside_those_of_numpy(name, code):
    ufunc, python = getattr(np, name), BITS[name]
    a, b = elements(Integer), np.array([1, 0, 1, 1, 0]).astype(code)
    # Counts of shifts are not negative.
    counts = abs(a) >> 60
    for left, right in ((a, b), (b, counts), (a, b[0]), (a, True), (a, np.True_), (a, 2)):
        result = ufunc(left, right)
        assert result.dtype == Integer
        pairs = zip(*np.broadcast_arrays(left, right), strict=True)
        assert result.tolist() == [python(int(x), int(y)) for x, y in pairs]


def test_negative_counts_of_shifts_are_refused():
    for a, count in ((elements(Integer), -1), (np.arange(3), np.array([-1, 0, 1], dtype=Integer))):
        for shift in (operator.lshift, operator.rshift):
            with pytest.raises(ValueError, match="negative shift count"):
                shift(a, count)


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize(("code", "expected"), FLOATING.items())
def test_beside_floats_the_result_is_a_float(element, code, expected):
    a, b = elements(element), np.array([1, 2, 0.5, 4, 8]).astype(code)
    wanted = a.astype(expected)
    with np.errstate(all="ignore"):
        for ufunc in (np.add, np.subtract, np.multiply, np.divide, np.power):
            for result, floats in (
                (ufunc(a, b), ufunc(wanted, b.astype(expected))),
                (ufunc(b, a), ufunc(b.astype(expected), wanted)),
                (ufunc(a, b[2]), ufunc(wanted, b.astype(expected)[2])),
            ):
                assert result.dtype == np.dtype(expected)
                np.testing.assert_array_equal(result, floats)
    assert np.result_type(a, b) == np.result_type(b, a) == np.dtype(expected)
    assert np.concatenate([a, b]).dtype == np.concatenate([b, a]).dtype == np.dtype(expected)
    assert np.where([True, False] * 2 + [True], a, b).dtype == np.dtype(expected)


@pytest.mark.parametrize("code", INTEGRAL)
def test_promotion_outside_ufuncs_keeps_integers_exact(code):
    for element in (Integer, Rational):
        dtype, other = np.dtype(element), np.dtype(code)
        assert np.promote_types(dtype, other) == np.promote_types(other, dtype) == dtype
        a, b = elements(element), np.ones(5, dtype=code)
        assert np.concatenate([a, b]).tolist() == [*a.tolist(), 1, 1, 1, 1, 1]
        assert np.where(b == 0, b, a).tolist() == a.tolist()
        assert np.stack([b, a]).dtype == dtype
    assert np.promote_types(np.dtype(Integer), np.dtype(Rational)) == np.dtype(Rational)


@pytest.mark.parametrize("element", [Integer, Rational])
def test_python_numbers_beside_arrays(element):
    a = elements(element)
    assert (a + True).dtype == (a + 1).dtype == (1 - a).dtype == (a + 2**200).dtype == element
    assert (a + 2**200).tolist() == [v + 2**200 for v in plain(a)]
    assert (2**200 - a).tolist() == [2**200 - v for v in plain(a)]
    assert (a + 0.5).dtype == (0.5 * a).dtype == np.float64
    assert (a + 1j).dtype == np.complex128
    assert (a + Integer(1)).dtype == element
    assert (a + Rational(1, 2)).dtype == Rational
    # NumPy knows no Fraction.
    assert (a + Fraction(1, 2)).tolist() == [v + Fraction(1, 2) for v in plain(a)]


@pytest.mark.parametrize("element", [Integer, Rational])
def test_objects_stay_objects(element):
    a = elements(element)
    result = a + objects([1, 2.5, Fraction(1, 2), 4, 5])
    assert result.dtype == object
    assert result[1] == a[1] + 2.5 and result[2] == a[2] + Fraction(1, 2)


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("code", ["M8[s]", "m8[s]", "S3", "U3"])
def test_what_is_no_number_is_refused(element, code):
    a, b = elements(element), np.array([1, 2, 3, 4, 5]).astype(code)
    for ufunc in (np.add, np.multiply, np.equal, np.less, np.hypot, np.power):
        for operands in ((a, b), (b, a)):
            with pytest.raises(TypeError, match=f"denizen.{element.__name__}"):
                ufunc(*operands)


def test_mixed_exact_operands():
    a, r = np.array([3, -5, 12], dtype=Integer), np.array(RATIONALS[:3], dtype=Rational)
    for ufunc in (np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder):
        for left, right in ((a, r), (r, a)):
            result = ufunc(left, right)
            assert result.dtype == Rational
            assert result.tolist() == ufunc(plain(left), plain(right)).tolist()
    assert np.fmod(a, r).tolist() == [0, Fraction(-3, 2), 2]
    quotient, rest = divmod(a, r)
    assert (quotient * r + rest).tolist() == a.tolist()
    assert (a < r).tolist() == [False, True, False]
    assert np.vecdot(a, r) == sum(x * y for x, y in zip(plain(a), plain(r), strict=True))
    assert (a @ r).tolist() if isinstance(a @ r, np.ndarray) else (a @ r) == np.vecdot(a, r)
    with pytest.raises(TypeError, match="gcd"):
        np.gcd(a, r)


def test_powers():
    r = np.array([Fraction(1, 3), Fraction(-7, 2), Fraction(5)], dtype=Rational)
    expected = [9, Fraction(4, 49), Fraction(1, 25)]
    for exponent in (-2, np.int8(-2), Integer(-2), Rational(-2), np.array([-2] * 3, dtype="i2")):
        result = r**exponent
        assert result.dtype == Rational and result.tolist() == expected
    assert np.power(r, np.array([-2], dtype=Integer)).tolist() == expected
    a = np.array([3, -5, 12], dtype=Integer)
    assert (a**70).tolist() == [3**70, 5**70, 12**70]
    assert (2 ** abs(a)).tolist() == [8, 32, 4096]
    assert np.power(a, Rational(2)).tolist() == [9, 25, 144]
    with pytest.raises(ValueError, match="negative integer powers"):
        a**-1
    with pytest.raises(ValueError, match="fractional power"):
        r ** Rational(1, 2)
    for huge in (10**12, 10**40):
        with pytest.raises(OverflowError, match="bits"):
            a**huge
        with pytest.raises(OverflowError, match="bits"):
            r**huge
        with pytest.raises(OverflowError, match="bits"):
            abs(a) << huge


def test_logical_functions_take_the_truth_of_each():
    for values, element in (([0, 1, 10**400], Integer), ([0, Fraction(1, 2), 3], Rational)):
        a, truth = np.array(values, dtype=element), [False, True, True]
        for other in (2**200, 0.5, 1j, True, Integer(1), np.float32(1), np.array([1, 1, 1])):
            assert np.logical_and(a, other).tolist() == truth
            assert np.logical_and(other, a).tolist() == truth
            assert np.logical_xor(a, other).tolist() == [not v for v in truth]
        assert a.any() and not a.all()
        assert np.logical_not(a, dtype=object).tolist() == [not v for v in truth]
        assert np.logical_or.accumulate(a).tolist() == truth
        assert np.logical_xor.reduce(a) == (sum(truth) % 2 == 1)


# ---- functions of floats -------------------------------------------------------------------------

UNARY = """sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh
tanh arcsinh arccosh arctanh deg2rad rad2deg degrees radians fabs spacing""".split()
BINARY = """arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside float_power""".split()


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("element", [Integer, Rational])
def test_functions_of_one_float_are_those_of_numpy(name, element):
    a = np.array([0, 1, 2, 3], dtype=element) / (1 if element is Integer else 3)
    a = a.astype(element)
    ufunc = getattr(np, name)
    with np.errstate(all="ignore"):
        result, floats = ufunc(a), ufunc(a.astype(float))
        np.testing.assert_array_equal(ufunc(a, dtype=np.float32), ufunc(a.astype(np.float32)))
        np.testing.assert_array_equal(ufunc(a, dtype="g"), ufunc(a.astype("g")))
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, floats)
    out = np.zeros(4)
    with np.errstate(all="ignore"):
        assert ufunc(a, out=out) is out
    np.testing.assert_array_equal(out, floats)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_floats_are_those_of_numpy(name):
    ufunc = getattr(np, name)
    a = np.array([1, 2, 3], dtype=Integer)
    r = a / 4
    floats = np.array([0.5, 1.5, 2.5])
    cases = [(a, a), (r, r), (a, r), (r, a), (a, floats), (floats, r), (a, 2), (0.5, a), (r, True)]
    cases += [(a, np.float16(2)), (np.int8(3), r)]
    for left, right in cases:
        result = ufunc(left, right)
        assert result.dtype == np.float64, (left, right)
        np.testing.assert_array_equal(
            result, ufunc(np.asarray(left, dtype=float), np.asarray(right, dtype=float))
        )
    assert ufunc(a, np.longdouble(1)).dtype == np.longdouble


def test_functions_with_parts():
    r = np.array([Fraction(1, 3), Fraction(-7, 2), Fraction(5)], dtype=Rational)
    a = np.array([3, -5, 2**100], dtype=Integer)
    mantissa, exponent = np.frexp(a)
    assert [math.ldexp(m, int(e)) for m, e in zip(mantissa, exponent, strict=True)] == a.tolist()
    assert np.ldexp(r, 2).tolist() == [4 / 3, -14.0, 20.0]
    assert np.ldexp([0.5, 1.5, 2.5], np.array([1, 2, 3], dtype=Integer)).tolist() == [1, 6, 20]
    for code in "bhilBHI?":
        assert np.ldexp(r, np.ones(3, dtype=code)).tolist() == [2 / 3, -7, 10]
    # Exact, as trunc is.
    fraction, whole = np.modf(r)
    assert fraction.dtype == whole.dtype == Rational
    assert fraction.tolist() == [Fraction(1, 3), Fraction(-1, 2), 0]
    assert whole.tolist() == [0, -3, 5]
    fraction, whole = np.modf(a)
    assert fraction.tolist() == [0, 0, 0] and whole.tolist() == a.tolist()
    assert np.reciprocal(a).tolist() == [Fraction(1, 3), Fraction(-1, 5), Fraction(1, 2**100)]
    assert np.reciprocal(a).dtype == Rational


def test_a_value_without_a_float_is_an_error():
    a = np.array([4, 10**400], dtype=Integer)
    out = np.zeros(2)
    for ufunc in (np.sqrt, np.exp, np.log):
        with pytest.raises(OverflowError):
            ufunc(a)
    with pytest.raises(OverflowError):
        np.hypot(a, 1.0, out=out)
    with pytest.raises(OverflowError):
        a + 0.5
    with pytest.raises(TypeError, match="safe"):
        np.sqrt(a[:1], casting="safe")


def test_complex_results_on_request():
    a = np.array([-4, 9], dtype=Integer)
    assert np.sqrt(a, dtype=complex).tolist() == [2j, 3]
    assert np.float_power(a, 0.5 + 0j).dtype == np.complex128


# ---- dtype= and signature= -----------------------------------------------------------------------


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("dtype", [float, np.float32, np.longdouble, complex, object])
def test_results_of_a_type_that_was_asked_for(element, dtype):
    a = np.array([3, -5, 12], dtype=element)
    for result, expected in (
        (np.add(a, a, dtype=dtype), [6, -10, 24]),
        (np.multiply(a, 2, dtype=dtype), [6, -10, 24]),
        (np.subtract(2.0, a, dtype=dtype), [-1, 7, -10]),
        (np.divide(a, a, dtype=dtype), [1, 1, 1]),
        (np.negative(a, dtype=dtype), [-3, 5, -12]),
        (np.square(a, dtype=dtype), [9, 25, 144]),
        (np.add(a, a, signature=(None, None, dtype)), [6, -10, 24]),
        (np.add.accumulate(a, dtype=dtype), [3, -2, 10]),
        (np.cumsum(a, dtype=dtype), [3, -2, 10]),
    ):
        assert result.dtype == np.dtype(dtype)
        assert result.tolist() == expected
    assert np.add.reduce(a, dtype=dtype) == np.sum(a, dtype=dtype) == 10
    assert np.prod(a, dtype=dtype) == -180


def test_element_types_that_were_asked_for():
    a, r = np.array([3, -5, 12], dtype=Integer), np.array([1, 2, 3], dtype=Rational)
    z = np.arange(1, 4)
    assert np.add(a, a, dtype=RationalDType).dtype == Rational
    assert np.divide(a, z, dtype=RationalDType).tolist() == [3, Fraction(-5, 2), 4]
    assert np.negative(a, dtype=RationalDType).dtype == Rational
    assert np.sum(z, dtype=IntegerDType) == 6 and type(np.sum(z, dtype=IntegerDType)) is Integer
    assert type(np.prod(a, dtype=RationalDType)) is Rational
    for dtype in (Integer, IntegerDType, np.dtype(Integer)):
        for array in (a, z, z.astype("i1")):
            assert np.cumsum(array, dtype=dtype).dtype == Integer
            assert np.cumsum(array, dtype=dtype).tolist() == np.cumsum(array).tolist()
            assert array.cumprod(0, dtype).tolist() == np.cumprod(array).tolist()
    m = z.reshape(1, 3)
    assert m.cumsum(dtype=Rational).tolist() == [1, 3, 6]
    assert m.cumsum(axis=0, dtype=Rational).tolist() == [[1, 2, 3]]
    out = np.zeros((1, 3), dtype=Integer)
    assert m.cumsum(1, Integer, out) is out and out.tolist() == [[1, 3, 6]]
    with pytest.raises(np.exceptions.AxisError):
        m.cumsum(axis=5, dtype=Integer)
    # A loop with another result there is not.
    with pytest.raises(TypeError, match="denizen.Integer has no operation 'divide'"):
        np.divide(a, a, dtype=IntegerDType)
    with pytest.raises(TypeError, match="same_kind"):
        np.add(r, r, dtype=IntegerDType)
    # What NumPy asks no DType about.
    with pytest.raises(TypeError, match="Pass the DType class"):
        np.add(a, a, dtype=Integer)
    with pytest.raises(TypeError):
        np.add(z, z, dtype=IntegerDType)


def test_ranges_between_exact_numbers_are_exact():
    thirds = [Fraction(k, 3) for k in range(4)]
    for ramp in (
        np.linspace(Integer(0), Integer(1), 4),
        np.linspace(Rational(0), 1, 4),
        np.linspace(0, 1, 4, dtype=Rational),
        np.linspace(0, np.array(1, dtype=Integer), num=4),
        np.linspace(0, Rational(4, 3), 4, endpoint=False),
    ):
        assert ramp.dtype == np.dtype(Rational)
        assert ramp.tolist() == thirds
    assert np.linspace(0, 10, 6, dtype=Integer).tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.raises(ValueError, match="is not an integer"):
        np.linspace(0, 10, 5, dtype=Integer)
    ends = np.array([3, 2**70], dtype=Integer)
    ramp, step = np.linspace(1, ends, 3, axis=1, retstep=True)
    assert ramp.tolist() == [[1, 2, 3], [1, Fraction(2**70 + 1, 2), 2**70]]
    assert step.tolist() == [1, Fraction(2**70 - 1, 2)]
    assert np.linspace(Rational(1), 2, 1).tolist() == [1]
    assert np.linspace(Rational(1), 2, 0).tolist() == []
    with pytest.raises(ValueError, match="non-negative"):
        np.linspace(Rational(1), 2, -1)
    # A float among the ends is a float, as everywhere.
    assert np.linspace(0.5, Rational(1), 2).dtype == np.float64
    ramp = np.pad(np.array([3 * 10**20 + 6], dtype=Integer), 2, mode="linear_ramp")
    assert ramp[1] == 15 * 10**19 + 3


def test_ranges_between_other_numbers_are_numpys():
    assert np.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert np.linspace(start=0, stop=2, num=2, dtype=np.int8).dtype == np.int8
    assert np.linspace([0, 1], 2, 2).tolist() == [[0, 1], [2, 2]]
    assert str(inspect.signature(np.linspace)).startswith("(start, stop, num=50")


def test_bounds_of_clip_may_be_of_other_types():
    a = np.array([3, -5, 12], dtype=Integer)
    assert np.clip(a, 0, 10).tolist() == [3, 0, 10]
    assert np.clip(a, None, 2**70).tolist() == [3, -5, 12]
    assert np.clip(a, -(2**70), None).tolist() == [3, -5, 12]
    assert a.clip(np.int8(0), np.uint64(4)).tolist() == [3, 0, 4]
    assert np.clip(a, a, np.arange(1, 4)).tolist() == [1, -5, 3]
    assert np.clip(a, 0, 10).dtype == Integer
    assert np.clip(a, Rational(1, 2), 10).tolist() == [3, Fraction(1, 2), 10]
    assert np.clip(a, 0.5, 10).dtype == np.float64
    assert np.clip(np.arange(4), Integer(1), Integer(2)).tolist() == [1, 1, 2, 2]
    assert np.clip(a, 0, 10, out=a) is a and a.tolist() == [3, 0, 10]


def test_rounding():
    values = [Fraction(7, 2), Fraction(-7, 2), Fraction(5, 2), Fraction(1, 3), Fraction(2**70, 3)]
    r, a = np.array(values, dtype=Rational), np.array([3, -5], dtype=Integer)
    for function, python in (
        (np.floor, math.floor),
        (np.ceil, math.ceil),
        (np.trunc, math.trunc),
        (np.rint, round),
        (np.round, round),
    ):
        assert function(r).dtype == Rational
        assert function(r).tolist() == [python(v) for v in values]
        assert function(a).tolist() == [3, -5]
    # NumPy multiplies by the float 100.0.
    for array in (a, r):
        with pytest.raises(TypeError, match="float64"):
            np.round(array, 2)


def test_a_missing_operation_is_named_with_the_type():
    r = np.array([1, 2], dtype=Rational)
    for call in (
        lambda: np.bitwise_and(r, r),
        lambda: ~r,
        lambda: np.bitwise_or.reduce(r),
        lambda: np.bitwise_count(r),
        lambda: r << 1,
    ):
        with pytest.raises(TypeError, match=r"denizen\.Rational"):
            call()
    with pytest.raises(TypeError, match=r"^denizen\.Rational has no operation 'invert'"):
        np.invert(r)
    # Those of others read as ever.
    with pytest.raises(TypeError, match=r"^ufunc 'invert' (did not|not supp)"):
        np.invert(np.array([1.5]))
    assert "denizen.Rational" in denizen.types()


def test_comparisons_with_long_doubles_are_exact():
    big = np.longdouble(2) ** 64
    a = np.array([2**64 - 1, 2**64, 2**64 + 1], dtype=Integer)
    r = a.astype(Rational) / 3
    assert (a == big).tolist() == (big == a).tolist() == [False, True, False]
    assert (a < big).tolist() == (big > a).tolist() == [True, False, False]
    assert (a >= big).tolist() == [False, True, True]
    third = np.longdouble(1) / 3
    numerator, denominator = third.as_integer_ratio()
    assert (np.array([Fraction(1, 3)], dtype=Rational) > third).tolist() == [
        Fraction(1, 3) > Fraction(numerator, denominator)
    ]
    assert (r != big).all() and not (r == np.longdouble("nan")).any()
    assert (a < np.longdouble("inf")).all() and (a > -np.longdouble("inf")).all()
    huge = np.longdouble("1e4900")
    near = np.array([int(huge) - 1, int(huge), 10**10000], dtype=Integer)
    assert (near < huge).tolist() == [True, False, False]
    assert (near == huge).tolist() == [False, True, False]
