"""`Integer` and `Rational` scalars: made from any number, and numbers to every library.

They are subclasses of `int` and `Fraction`; the tests compare with those, of the Python that runs.
"""

import array
import bisect
import collections
import copy
import enum
import fractions
import json
import math
import numbers
import operator
import pickle
import random
import statistics
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import denizen
from denizen import Integer, Rational

BIG = 2**70
HALF = Fraction(1, 2)

#: What is an integer: a source and its value.
INTEGRAL = [
    (5, 5),
    (-BIG, -BIG),
    (True, 1),
    *((kind(5), 5) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)),
    *((kind(-5), -5) for kind in (np.int8, np.int16, np.int32, np.int64, np.longlong)),
    (np.uint64(2**64 - 1), 2**64 - 1),
    (np.int64(-(2**63)), -(2**63)),
    (np.True_, 1),
    (3.0, 3),
    (-0.0, 0),
    (1e300, int(1e300)),
    (np.float16(2), 2),
    (np.float32(2**30), 2**30),
    (np.float64(2.0**80), 2**80),
    (np.longdouble(2) ** 63 + 1, 2**63 + 1),
    (Decimal("1e30"), 10**30),
    (Decimal("-4.00"), -4),
    (Fraction(8, 2), 4),
    (Integer(BIG), BIG),
    (Rational(7), 7),
    ("12", 12),
    (" +1_000\n", 1000),
    ("-7", -7),
    ("١٢", 12),
    (b"12", 12),
    (bytearray(b"-3"), -3),
    (np.str_("1_2"), 12),
    (np.bytes_(b"12"), 12),
    (np.array(3), 3),
    (np.array(3.0), 3),
    (np.array("12"), 12),
    (np.array(BIG, dtype=object), BIG),
    (np.array(BIG, dtype=Integer), BIG),
    (np.array(6, dtype=Rational), 6),
]
#: What is a fraction, and no integer.
FRACTIONAL = [
    (0.1, Fraction(0.1)),
    (5e-324, Fraction(5e-324)),
    (np.float16(1.5), Fraction(3, 2)),
    (np.float32(0.1), Fraction(float(np.float32(0.1)))),
    (np.longdouble(1) / 3, Fraction(*(np.longdouble(1) / 3).as_integer_ratio())),
    (Decimal("1.5"), Fraction(3, 2)),
    (Fraction(3, 4), Fraction(3, 4)),
    (Rational(-1, 3), Fraction(-1, 3)),
    ("1_0/30", Fraction(1, 3)),
    (" -1.5e-1 ", Fraction(-3, 20)),
    (b"1/3", Fraction(1, 3)),
    (np.array(1.5), Fraction(3, 2)),
    (np.array(HALF, dtype=object), HALF),
    (np.array("1/3", dtype=Rational), Fraction(1, 3)),
]
#: What is no number, and the error that says so.
REFUSED = [
    (math.nan, ValueError, "nan"),
    (np.float32("nan"), ValueError, "nan"),
    (Decimal("nan"), ValueError, "(?i)nan"),
    (math.inf, OverflowError, "(?i)inf"),
    (-np.longdouble("inf"), OverflowError, "inf"),
    (Decimal("-inf"), OverflowError, "(?i)inf"),
    (None, TypeError, "NoneType"),
    ([1], TypeError, "list"),
    ({}, TypeError, "dict"),
    (int, TypeError, "type"),
    (object(), TypeError, "object"),
    (3 + 0j, TypeError, "complex.*real part"),
    (np.complex64(3), TypeError, "complex64.*real part"),
    (np.datetime64("2020"), TypeError, "datetime64"),
    (np.void(b"x"), TypeError, "void"),
    (np.array([1]), TypeError, r"shape \(1,\)"),
    (np.zeros((0,)), TypeError, r"shape \(0,\)"),
    (np.ma.masked, TypeError, "masked"),
    ("", ValueError, "literal.*''"),
    ("one", ValueError, "literal.*'one'"),
    ("1__0", ValueError, "literal"),
    ("nan", ValueError, "literal"),
    (b"\xff", ValueError, "literal|decode"),
    ("9" * 5000, ValueError, "set_int_max_str_digits"),
]


def names(cases):
    return [f"{type(source).__name__} {str(source)[:20]!r}" for source, *_ in cases]


@pytest.mark.parametrize("source, value", INTEGRAL, ids=names(INTEGRAL))
def test_integers_are_made_of_whatever_is_one(source, value):
    assert type(Integer(source)) is Integer and Integer(source) == value
    assert type(Rational(source)) is Rational and Rational(source) == value


@pytest.mark.parametrize("source, value", FRACTIONAL, ids=names(FRACTIONAL))
def test_rationals_are_made_exactly_and_integers_never_round(source, value):
    assert type(Rational(source)) is Rational and Rational(source) == value
    with pytest.raises(ValueError, match="not an integer|invalid literal for Integer"):
        Integer(source)


@pytest.mark.parametrize("source, error, words", REFUSED, ids=names(REFUSED))
@pytest.mark.parametrize("scalar", [Integer, Rational])
def test_what_is_no_number_is_refused_by_name(scalar, source, error, words):
    with pytest.raises(error, match=words):
        scalar(source)


@pytest.mark.parametrize("source", ["1.5", "1e3", "1/2"])
def test_text_of_integers_has_digits_only(source):
    with pytest.raises(ValueError, match="invalid literal for Integer"):
        Integer(source)
    assert Rational(source) == Fraction(source)


def test_several_arguments():
    assert Integer("ff", 16) == 255 and Integer("0b101", base=0) == 5
    assert (Integer(), Rational()) == (0, 0)
    assert Rational(1, 3) == Rational("1/2", 1.5) == Rational(denominator=3, numerator=np.int8(1))
    assert Rational(Integer(2), Rational(4)) == Rational(0.5)
    with pytest.raises(ZeroDivisionError):
        Rational(1, 0)
    with pytest.raises(TypeError):
        Integer(1.5, 10)
    assert type(Integer.from_bytes(b"\1", "big")) is Integer
    for made in (Rational.from_float(0.5), Rational.from_decimal(Decimal("0.5"))):
        assert (type(made), made) == (Rational, HALF)


def test_numbers_of_gmpy2():
    gmpy2 = pytest.importorskip("gmpy2")
    assert Integer(gmpy2.mpz(BIG)) == Rational(gmpy2.mpz(BIG)) == Integer(gmpy2.mpq(BIG)) == BIG
    assert Rational(gmpy2.mpq(1, 3)) == Fraction(1, 3)
    assert Rational(gmpy2.mpfr("0.5")) == HALF
    with pytest.raises(ValueError, match="not an integer"):
        Integer(gmpy2.mpq(1, 3))
    assert gmpy2.mpz(Integer(BIG)) == BIG and gmpy2.mpq(Rational(1, 3)) == gmpy2.mpq(1, 3)
    assert gmpy2.mpq(1, 6) + Rational(1, 3) == HALF
    a = np.array([gmpy2.mpq(1, 3), gmpy2.mpz(2)], dtype=Rational)
    assert a.tolist() == [Fraction(1, 3), 2]


def test_numbers_and_matrices_of_sympy():
    sympy = pytest.importorskip("sympy")
    assert Integer(sympy.Integer(BIG)) == Rational(sympy.Integer(BIG)) == BIG
    assert Rational(sympy.Rational(1, 3)) == Fraction(1, 3)
    for refused in (sympy.pi, sympy.Symbol("x"), sympy.I):
        with pytest.raises(TypeError, match="cannot convert"):
            Rational(refused)
    third, seven = Rational(1, 3), Integer(7)
    assert sympy.sympify(third) == sympy.Rational(1, 3) and sympy.sympify(seven) == 7
    assert isinstance(sympy.sympify(seven), sympy.Integer)
    x = sympy.Symbol("x")
    assert third * x == x / 3 and seven + x == x + 7
    matrix = sympy.Matrix(np.array([["1/2", 2], [3, 4]], dtype=Rational))
    assert matrix.det() == -4 and matrix.inv() * matrix == sympy.eye(2)
    assert sympy.lambdify(x, x**2 + 1)(np.array([2, "1/2"], dtype=Rational)).tolist() == [
        5,
        Fraction(5, 4),
    ]


def same(result, expected):
    """Equal, and of the same type but that a `Rational` stands for a `Fraction`."""
    assert result == expected
    kind = Rational if type(expected) is Fraction else type(expected)
    assert type(result) is kind


OPERATORS = "add sub mul truediv floordiv mod divmod pow lt le eq ne gt ge".split()
BITS = "and_ or_ xor lshift rshift".split()


def apply(name, left, right):
    function = divmod if name == "divmod" else getattr(operator, name)
    try:
        return function(left, right)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        return type(error)


@pytest.mark.parametrize("name", OPERATORS + BITS)
@pytest.mark.parametrize("other", [2, -3, 0, True, 0.5, 1j, HALF, Decimal("0.5")], ids=repr)
def test_arithmetic_of_scalars_is_that_of_python_numbers(name, other):
    for scalar, plain in [(Integer(3), 3), (Rational(3, 4), Fraction(3, 4))]:
        for left, right, expected in [
            (scalar, other, apply(name, plain, other)),
            (other, scalar, apply(name, other, plain)),
            (scalar, scalar, apply(name, plain, plain)),
        ]:
            result = apply(name, left, right)
            if type(expected) is tuple:
                for part, wanted in zip(result, expected, strict=True):
                    # Plain fractions come only from a plain int and a plain fraction.
                    assert part == wanted and isinstance(part, type(wanted))
            elif type(plain) is int:
                assert (result, type(result)) == (expected, type(expected))
            else:
                same(result, expected)


def test_arithmetic_stays_rational():
    third = Rational(1, 3)
    for result in (
        *divmod(third, 2)[1:],
        *divmod(2, third)[1:],
        *divmod(third, third)[1:],
        Rational(355, 113).limit_denominator(max_denominator=10),
        round(third, 2),
        -third,
        +third,
        abs(third),
        third.conjugate(),
        third.real,
        third % 1,
        2**third.denominator * third,
        sum([third, third]),
        math.prod([third, third]),
    ):
        assert type(result) is Rational
    for result in (
        round(third),
        math.floor(third),
        math.ceil(third),
        math.trunc(third),
        third // 1,
    ):
        assert type(result) is int
    assert type(Integer(3) + Integer(4)) is type(-Integer(3)) is type(+Integer(3)) is int
    assert type(Integer(3) / Integer(4)) is float


@pytest.mark.parametrize("scalar", [Integer(3), Rational(3, 2)], ids=repr)
def test_beside_numpys_numbers_the_result_is_that_of_arrays(scalar):
    element = type(scalar)
    for kind in (np.int8, np.uint64, np.bool_):
        for other in (kind(1), np.array(1, kind)):
            for result in (scalar + other, other + scalar, scalar * other, other * scalar):
                assert type(result) is element
            for result in (scalar / other, other / scalar):
                assert type(result) is Rational
        for result in (scalar + np.ones(2, kind), np.ones(2, kind) + scalar):
            assert result.dtype == np.dtype(element) and result.tolist() == [scalar + 1] * 2
    for kind in (np.float16, np.float32, np.float64):
        assert (scalar + kind(0.5)).dtype == (np.zeros(2, kind) + scalar).dtype == np.float64
    assert (scalar * np.complex64(1j)).dtype == np.complex128
    assert (scalar + np.array([1], dtype=Integer)).dtype == np.dtype(element)
    assert (np.array([1], dtype=Rational) - scalar).dtype == np.dtype(Rational)
    assert (scalar + np.array([1], dtype=object)).dtype == object


@pytest.mark.parametrize(
    "value", [0, 1, -1, BIG, -(2**63), HALF, Fraction(-BIG, 3), Fraction(5)], ids=str
)
def test_scalars_are_the_numbers_that_they_are(value):
    scalar = Integer(value) if isinstance(value, int) else Rational(value)
    assert scalar == value and value == scalar and not scalar != value
    assert hash(scalar) == hash(value) and {value: 1}[scalar] == 1 and scalar in {value}
    assert bool(scalar) is bool(value)
    assert (float(scalar), complex(scalar), int(scalar)) == (
        float(value),
        complex(value),
        int(value),
    )
    assert type(int(scalar)) is int and type(Fraction(scalar)) is Fraction
    assert scalar.as_integer_ratio() == value.as_integer_ratio()
    assert (scalar.numerator, scalar.denominator) == (value.numerator, value.denominator)
    assert type(scalar.numerator) is int
    assert str(scalar) == str(value) == f"{scalar}" == "%s" % scalar == format(scalar)  # noqa: UP031
    assert repr(scalar) == str(value)
    assert isinstance(scalar, numbers.Rational)
    assert isinstance(scalar, numbers.Integral) is isinstance(value, int)
    assert np.isscalar(scalar) and not isinstance(scalar, np.generic)


@pytest.mark.parametrize(
    "spec", [">30", "<9", "^9", "+", "_", ",", "d", "x", "#b", "o", "010d", ".3f", "e", "g", "%"]
)
@pytest.mark.parametrize("value", [1234567, -BIG, Fraction(12345, 7)], ids=str)
def test_formats_are_those_of_python(spec, value):
    scalar = Integer(value) if isinstance(value, int) else Rational(value)
    try:
        expected = format(value, spec)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            format(scalar, spec)
        with pytest.raises(type(error)):
            format(np.array(scalar), spec)
    else:
        assert format(scalar, spec) == format(np.array(scalar), spec) == expected
    assert "%d %5.2f" % (scalar, scalar) == "%d %5.2f" % (value, value)  # noqa: UP031


@pytest.mark.parametrize("scalar", [Integer(7), Integer(-BIG), Rational(1, 3), Rational(BIG, 7)])
def test_copies_and_pickles(scalar):
    assert copy.copy(scalar) is scalar and copy.deepcopy([scalar])[0] is scalar
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(scalar, protocol))
        assert type(again) is type(scalar) and again == scalar
    with pytest.raises(AttributeError):
        scalar.anything = 1


class Count(Integer):
    """A count."""


class Share(Rational):
    __slots__ = ("note",)


def test_subclasses_are_numbers_of_their_own():
    count, share = Count("3"), Share(1, 3)
    assert (type(count), type(share)) == (Count, Share)
    assert type(count + 1) is int and type(share + 1) is Rational
    for scalar in (count, share):
        again = pickle.loads(pickle.dumps(scalar))
        assert type(again) is type(scalar) and again == scalar
    assert np.array([count, share], dtype=Rational).tolist() == [3, Fraction(1, 3)]
    assert np.dtype(Count) == Integer.dtype
    # NumPy finds the dtype of a scalar by its exact class; others are what they are to NumPy.
    assert np.array([count]).dtype == np.int64
    assert np.array([share]).dtype == object


def test_patterns_match():
    def kind(value):
        match value:
            case Integer():
                return "Integer"
            case Rational(numerator=1, denominator=below):
                return f"1/{below}"
            case int(plain):
                return f"int {plain}"

    assert [kind(x) for x in (Integer(5), Rational(1, 3), 5)] == ["Integer", "1/3", "int 5"]
    match np.array([BIG, 3], dtype=Integer).tolist():
        case [int(first), 3]:
            assert first == BIG


def test_json_writes_integers():
    a = np.array([[BIG, -1], [0, 3]], dtype=Integer)
    assert json.loads(json.dumps(a.tolist())) == [[BIG, -1], [0, 3]]
    assert json.dumps({"n": Integer(3), Integer(4): 1}) == '{"n": 3, "4": 1}'
    with pytest.raises(TypeError, match="Rational is not JSON serializable"):
        json.dumps(Rational(1, 3))
    assert json.dumps(Rational(1, 3), default=str) == '"1/3"'


def test_statistics_of_arrays():
    integers, rationals = [3, 1, BIG, 2], [Fraction(1, 3), Fraction(2), Fraction(-5, 7)]
    for element, values in ((Integer, integers), (Rational, rationals)):
        a = np.array(values, dtype=element)
        for name in (
            "mean",
            "median",
            "variance",
            "pvariance",
            "stdev",
            "fmean",
            "median_low",
            "mode",
        ):
            function = getattr(statistics, name)
            assert function(a.tolist()) == function(a) == function(values), name


def test_functions_of_math():
    a = np.array([12, 18, BIG * 6], dtype=Integer)
    values = a.tolist()
    assert math.gcd(*a) == 6 and math.lcm(*values) == math.lcm(12, 18, BIG * 6)
    assert math.prod(a) == math.prod(values) and math.fsum(a) == math.fsum(values)
    assert (sum(a), max(a), min(a)) == (30 + BIG * 6, BIG * 6, 12)
    assert math.comb(Integer(50), Integer(25)) == math.comb(50, 25)
    assert math.isqrt(Integer(BIG)) == 2**35 and math.factorial(Integer(5)) == 120
    assert math.log(Integer(2) ** 2000) == math.log(2**2000)
    assert math.hypot(Integer(3), Rational(4)) == 5.0
    assert math.sqrt(Rational(1, 4)) == 0.5 and math.floor(Rational(-1, 2)) == -1
    assert not math.isnan(Rational(1, 2)) and math.isfinite(Integer(BIG))
    assert pow(Integer(3), Integer(BIG), Integer(7)) == pow(3, BIG, 7)
    with pytest.raises(OverflowError):
        math.sqrt(Integer(10) ** 400)


def test_indices_sizes_and_ranges():
    two, five = Integer(2), Integer(5)
    assert list(range(five))[two:five] == [2, 3, 4] and "ab" * two == "abab"
    assert np.arange(9)[five] == 5 and np.arange(9)[two:five].tolist() == [2, 3, 4]
    assert np.zeros((two, five)).shape == (2, 5) and np.zeros(five).sum(axis=Integer(0)) == 0
    assert slice(two, five).indices(five) == (2, 5, 1) and operator.index(five) == 5
    assert np.arange(10).reshape(two, five).shape == (2, 5)
    assert np.repeat([1], two).tolist() == [1, 1] and np.roll([1, 2, 3], two).tolist() == [2, 3, 1]
    assert len(np.linspace(0, 1, five)) == 5
    assert (hex(five), bin(two), chr(Integer(97)), five.bit_length()) == ("0x5", "0b10", "a", 3)
    a = np.array([3, 1, 2], dtype=Integer)
    assert np.arange(5).take(a).tolist() == [3, 1, 2]
    with pytest.raises(IndexError, match="must be of integer"):
        np.arange(5)[a]
    assert np.arange(5)[a.astype(int)].tolist() == [3, 1, 2]
    for refused in (lambda: [1, 2][Rational(1)], lambda: range(Rational(1))):
        with pytest.raises(TypeError, match="integer"):
            refused()


def test_other_parts_of_the_standard_library():
    a = np.array([3, 1, 2], dtype=Integer)
    assert struct.pack("<qd", Integer(5), Rational(1, 2)) == struct.pack("<qd", 5, 0.5)
    with pytest.raises(struct.error):
        struct.pack("q", Integer(BIG))
    assert array.array("q", a).tolist() == [3, 1, 2]
    assert bisect.bisect(sorted(a), 2) == 2
    assert collections.Counter(a) == {1: 1, 2: 1, 3: 1}
    assert enum.IntEnum("Number", {"THREE": a[0]}).THREE == 3
    assert Decimal(Integer(BIG)) + Integer(1) == BIG + 1
    assert fractions.Fraction(Integer(1), Rational(3)) == Fraction(1, 3)
    same_choices = [random.Random(7), random.Random(7)]
    assert same_choices[0].choice(a) == same_choices[1].choice([3, 1, 2])
    assert random.Random(Integer(7)).random() == random.Random(7).random()
    assert random.Random(1).randrange(Integer(BIG)) == random.Random(1).randrange(BIG)
    # Python looks at the class of an element for `sum` of floats and the like: mixed lists.
    assert sum([0.5, Rational(1, 2), Integer(2)]) == 3.0


@pytest.mark.parametrize("scalar", [Integer(3), Rational(1, 3)], ids=["Integer", "Rational"])
def test_arrays_of_scalars_find_their_dtype(scalar):
    element, dtype = type(scalar), np.dtype(type(scalar))
    for made in (
        np.array([scalar, scalar]),
        np.array([[scalar, 1], [2, 3]]),
        np.array([1, scalar, True, np.int8(3), np.uint64(2)]),
        np.array([[1, 2], [3, scalar]]),
        np.array([np.array([1, 2]), [scalar, 4]]),
        np.array(scalar),
        np.asarray([[[scalar]]]),
        np.full((2, 2), scalar),
        np.stack([scalar, scalar]),
        np.concatenate([[scalar], [1, 2]]),
        np.where([True, False], scalar, 0),
        np.r_[scalar, 1],
    ):
        assert made.dtype == dtype and scalar in made.ravel().tolist()
    assert np.array([Integer(3), Rational(1, 3)]).dtype == np.dtype(Rational)
    # With floats it is float64, as it is for int64; the values round.
    assert np.array([scalar, 0.5]).dtype == np.float64
    assert np.array([scalar, 1j]).dtype == np.complex128
    # What NumPy takes for a Python object makes an array of objects: a plain fraction, a plain int
    # beyond 64 bits, text. `dtype=` says what it shall be.
    for other in (Fraction(1, 3), BIG, Decimal(2), None, "1"):
        assert np.array([scalar, other]).dtype == object
    assert np.array([scalar, Fraction(1, 3), BIG, "2"], dtype=Rational).tolist() == [
        scalar,
        Fraction(1, 3),
        BIG,
        2,
    ]
    assert type(np.array([scalar])[0]) is element


def test_to_python_gives_plain_objects():
    integers = np.array([[BIG, 1], [-2, 0]], dtype=Integer)
    plain = denizen.to_python(integers)
    assert plain == [[BIG, 1], [-2, 0]]
    assert {type(x) for row in plain for x in row} == {int}
    rationals = denizen.to_python(np.array(["1/3", 2], dtype=Rational))
    assert rationals == [Fraction(1, 3), 2] and {type(x) for x in rationals} == {Fraction}
    for scalar, kind in ((Integer(3), int), (Rational(3), Fraction)):
        for source in (scalar, np.array(scalar)):
            assert type(denizen.to_python(source)) is kind
        assert denizen.to_python(np.zeros((2, 0), type(scalar))) == [[], []]
        assert [type(x) for x in denizen.to_python([scalar, scalar])] == [kind] * 2
        objects = np.array(denizen.to_python(np.ones((2, 3), type(scalar))), dtype=object)
        assert objects.shape == (2, 3) and type(objects[0, 0]) is kind


def test_to_python_of_records_masks_and_other_types():
    records = np.zeros(2, dtype=[("n", Integer), ("r", Rational), ("f", "f8"), ("s", "U3")])
    records[1] = (BIG, HALF, 0.5, "abc")
    plain = denizen.to_python(records)
    assert plain == [(0, 0, 0.0, ""), (BIG, HALF, 0.5, "abc")]
    assert [type(x) for x in plain[1]] == [int, Fraction, float, str]
    assert [type(x) for x in denizen.to_python(records[1])] == [int, Fraction, float, str]
    masked = np.ma.array(np.array([1, 2], dtype=Integer), mask=[True, False])
    assert denizen.to_python(masked) == [None, 2]
    assert denizen.to_python(np.array([1.5, 2])) == [1.5, 2.0]
    objects = np.array([Integer(1), "x", [Rational(2)]], dtype=object)
    assert denizen.to_python(objects) == [1, "x", [2]]
    assert [type(x) for x in denizen.to_python(objects)] == [int, str, list]
    example = pytest.importorskip("denizen_example")
    (value,) = denizen.to_python(np.array(["1.5"], dtype=example.BigDecimal))
    assert type(value) is example.BigDecimal
