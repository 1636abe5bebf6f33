"""Casts and promotion of the bundled types, compared with ``dtype=object``; nothing is lost."""

import itertools
import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.outcomes import nearest

from denizen import Integer, Rational

SIGNED = ["int8", "int16", "int32", "int64", "longlong"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64", "ulonglong"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64", "longdouble"]
COMPLEX = ["complex64", "complex128", "clongdouble"]
ORDERS = ["<", ">"]


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=object).astype(Integer)


def same(array: np.ndarray, values: list[object]) -> bool:
    return array.astype(object).tolist() == values


def swapped(name: str, order: str) -> np.dtype:
    return np.dtype(name).newbyteorder(order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("element", [Integer, Rational])
def test_every_integer_width_goes_both_ways(element: type, name: str, order: str) -> None:
    info = np.iinfo(name)
    values = [int(info.min), 0, 1, 100, int(info.max)] * 70
    source = np.array(values, dtype=swapped(name, order))
    cells = source.astype(element)
    assert same(cells, values)
    back = cells.astype(swapped(name, order))
    assert back.dtype == swapped(name, order)
    assert back.tolist() == values


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FLOATS)
def test_every_float_width_goes_both_ways_exactly(name: str, order: str) -> None:
    values = [0.0, -0.25, 1.5, 1024.0, 65504.0, 2.0**-24]
    source = np.array(values, dtype=swapped(name, order))
    cells = source.astype(Rational)
    assert same(cells, [Fraction(value) for value in values])
    assert cells.astype(swapped(name, order)).tolist() == values


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("element", [Integer, Rational])
def test_complex_numbers_that_are_real_go_both_ways(element: type, name: str, order: str) -> None:
    values = [0, -3, 2**20] * 60
    cells = np.array(values, dtype=element)
    numbers = cells.astype(swapped(name, order))
    assert numbers.dtype == swapped(name, order)
    assert numbers.tolist() == values
    assert same(numbers.astype(element), values)
    assert same(np.conjugate(numbers).astype(element), values)
    for part in [1, -1, np.inf, np.nan, np.finfo(name).smallest_subnormal]:
        numbers.imag[100] = part
        target = np.full(180, 2**70, dtype=element)
        with pytest.raises(ValueError, match="imaginary"):
            np.copyto(target, numbers, casting="unsafe")
        assert same(target, values[:100] + [2**70] * 80)


def test_a_complex_target_is_written_up_to_the_failure() -> None:
    target = np.full(300, 1 + 2j, dtype=np.complex64)
    cells = integers(*[7] * 200, 10**50, *[7] * 99)
    with pytest.raises(OverflowError, match="float32"):
        np.copyto(target, cells, casting="unsafe")
    assert target.tolist() == [7] * 200 + [1 + 2j] * 100


def test_bool_is_the_truth_of_the_value() -> None:
    assert integers(0, -1, 2**80).astype(bool).tolist() == [False, True, True]
    assert same(np.array([True, False]).astype(Integer), [1, 0])


@pytest.mark.parametrize("name", INTEGERS)
def test_an_integer_that_does_not_fit_is_an_overflow_error(name: str) -> None:
    info = np.iinfo(name)
    for value in [int(info.max) + 1, int(info.min) - 1, 2**100]:
        cells = integers(1, 2, value, 3)
        with pytest.raises(OverflowError):
            cells.astype(name)
        assert same(cells, [1, 2, value, 3])


def test_a_float_that_would_become_infinite_is_an_overflow_error() -> None:
    for name in ["float16", "float32"]:
        with pytest.raises(OverflowError, match=name):
            integers(10**39).astype(name)
    with pytest.raises(OverflowError):
        integers(10**400).astype(float)


def test_a_longdouble_that_a_type_reads_through_float64_is_refused_where_that_rounds() -> None:
    example = pytest.importorskip("denizen_example")
    value = np.longdouble(1) + np.finfo(np.longdouble).eps
    if value == np.longdouble(float(value)):
        pytest.skip("longdouble is float64 here")
    assert str(np.array([np.longdouble(1.5)]).astype(example.BigDecimal)[0]) == "1.5"
    with pytest.raises(ValueError, match="exact"):
        np.array([value]).astype(example.BigDecimal)


FORMATS = {
    "float16": (11, -24, 15),
    "float32": (24, -149, 127),
    "float64": (53, -1074, 1023),
    "longdouble": (
        np.finfo(np.longdouble).nmant + 1,
        np.finfo(np.longdouble).minexp - np.finfo(np.longdouble).nmant,
        np.finfo(np.longdouble).maxexp - 1,
    ),
}


def around_a_tie(name: str) -> st.SearchStrategy[Fraction]:
    """Fractions near the middle of two numbers of a format, where a second rounding shows."""
    precision, lowest, highest = FORMATS[name]

    def build(mantissa: int, exponent: int, offset: int, distance: int, negative: bool) -> Fraction:
        value = (2 * mantissa + 1 + Fraction(offset, 2**distance)) * Fraction(2) ** exponent
        return -value if negative else value

    return st.builds(
        build,
        st.integers(2 ** (precision - 1), 2**precision - 1),
        st.integers(lowest - precision - 2, highest - precision + 1),
        st.integers(-1, 1),
        st.integers(1, 200),
        st.booleans(),
    )


@pytest.mark.parametrize("name", FLOATS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_floats_are_the_nearest_ones_rounded_once(name: str, data: st.DataObject) -> None:
    value = data.draw(around_a_tie(name) | st.fractions())
    for element in [Rational, Integer] if value.denominator == 1 else [Rational]:
        cells = np.array([value.numerator if element is Integer else value], dtype=element)
        try:
            nearest_one = nearest(value, name)
        except OverflowError:
            with pytest.raises(OverflowError, match=f"does not fit {name}"):
                cells.astype(name)
            continue
        (result,) = cells.astype(name)
        assert result == nearest_one
        expected = Fraction(*result.as_integer_ratio())
        (part,) = cells.astype(np.result_type(name, np.complex64)).real
        if part.dtype == name:
            assert part == result
        # And back, exactly.
        assert same(np.array([result]).astype(Rational), [expected])
        if expected.denominator == 1:
            assert same(np.array([result]).astype(Integer), [expected.numerator])
        else:
            with pytest.raises(ValueError, match="is not an integer"):
                np.array([result]).astype(Integer)


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("name", FLOATS)
def test_the_largest_floats_fit_and_what_rounds_beyond_them_does_not(
    element: type, name: str
) -> None:
    precision, _, highest = FORMATS[name]
    largest = 2 ** (highest + 1) - 2 ** (highest + 1 - precision)
    middle = largest + 2 ** (highest - precision)
    for sign in [1, -1]:
        for value in [largest, middle - 1]:
            (result,) = np.array([sign * value], dtype=element).astype(name)
            assert result == sign * np.finfo(name).max
        for value in [middle, 2 ** (highest + 1), 10**6000]:
            with pytest.raises(OverflowError, match=f"fit {name}"):
                np.array([sign * value], dtype=element).astype(name)
    finest = Fraction(2) ** FORMATS[name][1]
    if element is Rational:
        tiny = np.array([finest, finest / 2, finest * 3 / 4, -finest / 2], dtype=element)
        smallest = np.finfo(name).smallest_subnormal
        assert tiny.astype(name).tolist() == [smallest, 0, smallest, 0]


@pytest.mark.parametrize("element", [Integer, Rational])
def test_a_longdouble_of_more_than_53_bits_is_exact(element: type) -> None:
    values = [2**63 - 1, 2**64 - 1, -(2**63) - 1, 2**200 + 2**140, 2**16383]
    if FORMATS["longdouble"][0] < 64:
        pytest.skip("longdouble is float64 here")
    wide = np.array(values, dtype=element).astype(np.longdouble)
    assert [int(value) for value in wide] == values
    assert same(wide.astype(element), values)
    packed = np.zeros(5, dtype=[("tag", "i1"), ("value", ">g")])
    packed["value"] = wide
    assert same(packed["value"][::-1].astype(element), values[::-1])
    cells = np.zeros(1, dtype=element)
    cells[0] = wide[1]
    assert same(cells, [2**64 - 1])


@pytest.mark.parametrize("name", FLOATS + COMPLEX)
@pytest.mark.parametrize("element", [Integer, Rational])
def test_infinities_and_nans_are_refused(element: type, name: str) -> None:
    for value, error in [(np.inf, OverflowError), (-np.inf, OverflowError), (np.nan, ValueError)]:
        target = np.array([5, 6], dtype=element)
        source = np.array([1, value], dtype=name)
        with pytest.raises(error, match="infinity|NaN"):
            source.astype(element)
        with pytest.raises(error, match="infinity|NaN"):
            target[:] = source
        assert same(target, [1, 6])
        with pytest.raises(error, match="infinity|NaN"):
            target[1] = source[1]
        assert same(target, [1, 6])


ORDER_OF_LEVELS = ["no", "equiv", "safe", "same_kind", "unsafe"]


def level(source: object, target: object) -> str:
    """The best casting level of two dtypes; `never` where there is no cast."""
    for name in ORDER_OF_LEVELS:
        if np.can_cast(np.dtype(source), np.dtype(target), name):
            return name
    return "never"


def test_levels_are_those_of_int64_where_values_may_not_be_lost() -> None:
    for name in [*INTEGERS, "bool"]:
        assert level(name, Integer) == level(name, Rational) == "safe"
    for name in INTEGERS:
        # Python's int has no sign to lose; NumPy calls int64 to uint64 unsafe.
        assert level(Integer, name) == "same_kind"
        assert level(Rational, name) == level(np.float64, name) == "unsafe"
    for name in FLOATS + COMPLEX:
        assert level(name, Integer) == level(name, np.int64) == "unsafe"
        # Exact, but what a float is worth has been rounded already: an array of both is float64.
        assert level(name, Rational) == "unsafe"
        # Not safe as from int64, since values are not bounded.
        assert level(Integer, name) == level(Rational, name) == "same_kind"
    for element in [Integer, Rational]:
        assert level(element, "bool") == level(np.int64, "bool") == "unsafe"
        assert level(element, object) == level(np.int64, object) == "safe"
        assert level(object, element) == level(object, np.int64) == "unsafe"
        for text in ["U", "S", "T"]:
            assert level(element, text) == level(np.int64, text) == "safe"
            assert level(text, element) == level(text, np.int64) == "unsafe"
        for text in ["U5", "S5"]:
            assert level(element, text) == level(np.int64, text) == "same_kind"
        for name in ["datetime64[s]", "timedelta64[s]"]:
            assert level(element, name) == level(name, element) == "never"
    assert level(Integer, Rational) == "safe"
    assert level(Rational, Integer) == level(np.float64, np.int64) == "unsafe"
    assert level(Integer, Integer) == level(Rational, Rational) == "no"


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("name", ["datetime64[s]", "timedelta64[s]", "datetime64", "timedelta64"])
def test_dates_are_refused_with_both_names(element: type, name: str) -> None:
    cells = np.array([1, 2], dtype=element)
    dates = np.zeros(2, dtype=name)
    short = f"[Mm]8|{name[:8]}"
    with pytest.raises(TypeError, match=rf"(?i)denizen\.{element.__name__}.*({short})"):
        cells.astype(name)
    with pytest.raises(TypeError, match=rf"(?i)({short}).*denizen\.{element.__name__}"):
        dates.astype(element)
    with pytest.raises(TypeError, match=short):
        cells[:] = dates
    with pytest.raises(TypeError, match=f"denizen.{element.__name__}"):
        cells[0] = dates[0]
    with pytest.raises((TypeError, ValueError)):
        dates[0] = cells[0]
    with pytest.raises((TypeError, ValueError)):
        dates[:] = cells
    assert same(cells, [1, 2])


def test_element_types_without_a_cast_are_refused_by_both_names() -> None:
    sorting = pytest.importorskip("denizen_sorting")
    cells = integers(1, 2)
    others = np.array(["1", "2"], dtype=sorting.Number)
    for source, target in [(cells, others), (others, cells)]:
        with pytest.raises(TypeError, match=f"{source.dtype}.*{target.dtype}"):
            source.astype(target.dtype)
        with pytest.raises(TypeError, match=f"{source.dtype}.*{target.dtype}"):
            target[:] = source
        assert not np.can_cast(source.dtype, target.dtype, "unsafe")
        with pytest.raises(TypeError):
            np.concatenate([source, target])
        # Through a type that both know it is the caller's choice.
        assert source.astype(np.int64).astype(target.dtype).tolist() == target.tolist()


# Nothing is lost on any path from values into an array.


def buffered(target: np.ndarray, values: np.ndarray) -> None:
    with np.nditer(
        [values, target],
        flags=["buffered", "refs_ok", "external_loop"],
        op_flags=[["readonly"], ["writeonly"]],
        op_dtypes=[values.dtype, values.dtype],
        casting="unsafe",
        buffersize=16,
    ) as iterator:
        for source, destination in iterator:
            destination[...] = source


def dtype_of(array: np.ndarray) -> object:
    """As the `dtype=` of a ufunc, which takes the classes of users' dtypes."""
    return type(array.dtype) if array.dtype.type in (Integer, Rational) else array.dtype


MASK = np.array([True, False, True, True])

PATHS: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "astype": lambda target, values: values.astype(target.dtype),
    "astype, unsafe": lambda target, values: values.astype(target.dtype, casting="unsafe"),
    "array": lambda target, values: np.array(list(values), dtype=target.dtype),
    "array of an array": lambda target, values: np.array(values, dtype=target.dtype),
    "item": lambda target, values: target.__setitem__(1, values[2]),
    "slice": lambda target, values: target.__setitem__(slice(None), values),
    "slice of one": lambda target, values: target.__setitem__(slice(None), values[2]),
    "slice of a list": lambda target, values: target.__setitem__(slice(None), list(values)),
    "fancy": lambda target, values: target.__setitem__([0, 1, 2, 3], values),
    "mask": lambda target, values: target.__setitem__(MASK, values[[0, 1, 2]]),
    "flat": lambda target, values: setattr(target, "flat", values),
    "flat slice": lambda target, values: target.flat.__setitem__(slice(None), values),
    "fill": lambda target, values: target.fill(values[2]),
    "full": lambda target, values: np.full(4, values[2], dtype=target.dtype),
    "full_like": lambda target, values: np.full_like(target, values[2]),
    "fromiter": lambda target, values: np.fromiter(iter(values), dtype=target.dtype),
    "copyto": lambda target, values: np.copyto(target, values, casting="unsafe"),
    "copyto where": lambda target, values: np.copyto(target, values, "unsafe", where=MASK),
    "put": lambda target, values: np.put(target, [0, 1, 2], values[:3]),
    "putmask": lambda target, values: np.putmask(target, MASK, values),
    "place": lambda target, values: np.place(target, MASK, values),
    "take out": lambda target, values: values.take([0, 2], out=target[:2], mode="clip"),
    "positive out": lambda target, values: np.positive(values, out=target, casting="unsafe"),
    "add out": lambda target, values: np.add(values, 0, out=target, casting="unsafe"),
    "add.reduce out": lambda target, values: np.add.reduce(
        values.reshape(1, 4), axis=0, dtype=dtype_of(target)
    ),
    "concatenate out": lambda target, values: np.concatenate(
        [values[:2], values[2:]], out=target, casting="unsafe"
    ),
    "concatenate dtype": lambda target, values: np.concatenate(
        [values[:2], values[2:]], dtype=target.dtype, casting="unsafe"
    ),
    "record": lambda target, values: np.zeros(4, dtype=[("x", target.dtype)])["x"].__setitem__(
        slice(None), values
    ),
    "buffers": lambda target, values: buffered(target, values),
    "block": lambda target, values: np.insert(target, 0, values),
}

#: What a value would lose in a type, and the error that says so.
LOSSES = [
    (Integer, 300, "int8", OverflowError, "300 does not fit int8"),
    (Integer, -1, "uint8", OverflowError, "-1 does not fit uint"),
    (Integer, 2**63, "int64", OverflowError, "9223372036854775808 does not fit int64"),
    (Integer, -1, "uint64", OverflowError, "-1 does not fit uint64"),
    (Integer, 70000, "float16", OverflowError, "70000 does not fit float16"),
    (Integer, 10**40, "float32", OverflowError, "does not fit float32"),
    (Integer, 10**400, "float64", OverflowError, "an integer of 1329 bits does not fit float64"),
    (Integer, 10**400, "complex128", OverflowError, "does not fit float64"),
    (Integer, 10**5000, "longdouble", OverflowError, "does not fit longdouble"),
    (Integer, 12345, "U4", ValueError, "12345 has 5 characters and does not fit U4"),
    (Integer, 12345, "S4", ValueError, "12345 has 5 characters and does not fit S4"),
    (Rational, Fraction(1, 3), "int64", ValueError, "1/3 is not an integer"),
    (Rational, Fraction(2**64), "int64", OverflowError, "does not fit int64"),
    (Rational, Fraction(1, 3), "uint8", ValueError, "1/3 is not an integer"),
    (Rational, Fraction(10**400, 7), "float64", OverflowError, "does not fit float64"),
    (Rational, Fraction(1, 3), Integer, ValueError, "1/3 is not an integer"),
    (Rational, Fraction(1, 30), "U3", ValueError, "1/30 has 4 characters"),
]


# Of NumPy 2.5, where `take` casts its output.
@pytest.mark.filterwarnings("ignore:Implicit casting:DeprecationWarning")
@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize(
    ("element", "value", "name", "error", "message"),
    LOSSES,
    ids=[f"{number}-{loss[2]}" for number, loss in enumerate(LOSSES)],
)
def test_no_path_loses_a_value(
    element: type, value: object, name: object, error: type, message: str, path: str
) -> None:
    values = np.array([1, 2, value, 3], dtype=element)
    target = np.zeros(4, dtype=name)
    if path == "take out" and target.dtype.kind in "US":
        pytest.skip("NumPy reads the old text of the output first, which is empty")
    try:
        PATHS[path](target, values)
    except (OverflowError, ValueError) as caught:
        assert isinstance(caught, error)
        assert message in str(caught)
    except TypeError:
        # NumPy asks for a lower level here, or has no loop for text.
        assert path in REFUSED_BY_LEVEL or target.dtype.kind in "US"
    else:
        raise AssertionError(f"{value} went into {name}: {target}")
    assert all(cell in (0, 1, 2, 3) for cell in target.tolist() if target.dtype.kind not in "US")
    assert same(values, [1, 2, value, 3])


#: NumPy asks for a safe cast there.
REFUSED_BY_LEVEL = {"take out", "putmask", "place"}


@pytest.mark.parametrize("count", [1, 127, 128, 129, 5000])
def test_strided_reversed_and_unaligned_data(count: int) -> None:
    values = list(range(-count, count))
    source = np.array(values, dtype=np.int32)
    assert same(source[::-2].astype(Integer), values[::-2])
    packed = np.zeros(2 * count, dtype=[("tag", "i1"), ("value", "<i4")])
    packed["value"] = values
    cells = packed["value"].astype(Integer)
    assert same(cells, values)
    packed["value"] = 0
    packed["value"] = cells[::-1]
    assert packed["value"].tolist() == values[::-1]


def test_unaligned_cells_in_a_structured_array() -> None:
    try:
        table = np.zeros(300, dtype=[("tag", "i1"), ("cell", np.dtype(Integer))])
    except TypeError:
        pytest.skip("this NumPy refuses the dtype in structures")
    values = [3**index for index in range(300)]
    table["cell"] = integers(*values)
    assert table["cell"].tolist() == values
    table["cell"] = np.arange(300, dtype=np.int16)
    assert table["cell"].astype(np.float32).tolist() == list(range(300))
    assert table["cell"].astype("U3").tolist() == [str(index) for index in range(300)]


def test_a_failing_cast_keeps_what_came_before_it_and_the_rest_as_it_was() -> None:
    target = integers(*range(2**70, 2**70 + 300))
    source = np.arange(300.0)
    source[200] = 0.5
    with pytest.raises(ValueError):
        np.copyto(target, source, casting="unsafe")
    assert same(target[:200], list(range(200)))
    assert same(target[200:], list(range(2**70 + 200, 2**70 + 300)))


def test_element_types_cast_to_each_other() -> None:
    cells = integers(0, -3, 2**90)
    fractions = cells.astype(Rational)
    assert same(fractions, [Fraction(0), Fraction(-3), Fraction(2**90)])
    assert same(fractions.astype(Integer), [0, -3, 2**90])


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize(
    "other",
    [
        1,
        2**100,
        -1,
        True,
        np.int8(3),
        np.uint64(2**64 - 1),
        np.arange(4, dtype=">i2"),
        np.array([True, False, True, True]),
    ],
)
def test_operators_with_numbers_give_what_python_gives(element: type, other: object) -> None:
    left = np.array([1, 0, 3, 2**64 - 1], dtype=element)
    plain = left.astype(object)
    other_plain = (
        other.astype(object)
        if isinstance(other, np.ndarray)
        else (other if isinstance(other, bool) else int(other))
    )
    for function in [operator.add, operator.sub, operator.mul]:
        for result, expected in [
            (function(left, other), function(plain, other_plain)),
            (function(other, left), function(other_plain, plain)),
        ]:
            assert result.dtype == np.dtype(element)
            assert same(result, expected.tolist())
    for compare in [operator.eq, operator.ne, operator.lt, operator.ge]:
        assert compare(left, other).tolist() == compare(plain, other_plain).tolist()
        assert compare(other, left).tolist() == compare(other_plain, plain).tolist()


@pytest.mark.parametrize("other", [1.5, np.float16(2), np.float32(2), np.array([0.5, 1.0, 1.5])])
def test_with_floats_the_result_is_float64_as_for_int64(other: object) -> None:
    left = integers(1, 2, 3)
    result = left + other
    assert result.dtype == np.float64
    assert result.tolist() == (np.arange(1, 4) + np.asarray(other, float)).tolist()
    assert (other == left).tolist() == (np.asarray(other, float) == np.arange(1, 4)).tolist()
    assert (left + 1j).dtype == np.complex128


def test_two_element_types_meet_in_the_wider_one() -> None:
    left, right = integers(1, 2), np.array([Fraction(1, 2), 2], dtype=Rational)
    for result in [left + right, right + left]:
        assert result.dtype == np.dtype(Rational)
        assert same(result, [Fraction(3, 2), Fraction(4)])
    assert (left == right).tolist() == [False, True]
    assert np.result_type(left, right) == np.dtype(Rational)
    assert np.concatenate([left, right, [7]]).dtype == np.dtype(Rational)


@pytest.mark.parametrize(
    "other",
    [
        "1",
        b"1",
        np.datetime64("2020"),
        np.timedelta64(1, "s"),
        np.array(["1", "2", "3"]),
        np.array(["1"], dtype=np.dtypes.StringDType()),
    ],
)
def test_what_has_no_common_type_is_a_type_error_never_false(other: object) -> None:
    left = integers(1, 2, 3)
    functions = [operator.eq, operator.ne, operator.lt, operator.add]
    for function in functions:
        with pytest.raises(TypeError):
            function(left, other)
        with pytest.raises(TypeError):
            function(np.asarray(other), left)


def test_objects_compare_as_objects() -> None:
    left = integers(1, 2, 3)
    mixed = np.array([1, None, "x"], dtype=object)
    assert (left == mixed).tolist() == [True, False, False]
    assert (mixed == left).tolist() == [True, False, False]
    assert (left != mixed).tolist() == [False, True, True]
    assert (left == None).tolist() == [False] * 3  # noqa: E711
    assert (left + np.array([1, 2.5, Fraction(1, 2)], dtype=object)).tolist() == [
        2,
        4.5,
        Fraction(7, 2),
    ]
    with pytest.raises(TypeError):
        left + None


def test_the_dtype_argument_of_a_ufunc_decides() -> None:
    left = integers(1, 2, 3)
    assert np.add(left, 1, dtype=float).dtype == np.float64
    assert np.add(left, 1, dtype=object).tolist() == [2, 3, 4]
    assert np.sum(left, dtype=float) == 6.0
    assert np.equal(left, 2.5, dtype=bool).tolist() == [False] * 3
    assert np.equal(left, [1, 2, 2], dtype=bool).tolist() == [True, True, False]
    # NumPy takes the DType class of a user's type there, not the dtype.
    assert np.sum(np.arange(5), dtype=type(np.dtype(Integer))) == 10


def test_functions_of_three_operands_promote_in_every_place() -> None:
    cells, plain = integers(*range(6)), np.arange(6, dtype=np.int16)
    for array, low, high in itertools.product([cells, plain], [cells, plain, 1], [cells, plain, 3]):
        if any(one is cells for one in (array, low, high)):
            expected = np.clip(plain, *(plain if one is cells else one for one in (low, high)))
            result = np.clip(array, low, high)
            assert result.dtype == np.dtype(Integer)
            assert same(result, expected.tolist())


def test_results_are_cast_into_other_outputs() -> None:
    left = integers(1, 2, 3)
    out = np.zeros(3, dtype=np.int16)
    np.add(left, 5, out=out, casting="unsafe")
    assert out.tolist() == [6, 7, 8]
    out = np.zeros(3, dtype=">f4")
    np.multiply(left, left, out=out, casting="unsafe")
    assert out.tolist() == [1, 4, 9]
    total = integers(2**70, 0, 0)
    total += np.array([1, 2, 3], dtype=np.uint8)
    assert same(total, [2**70 + 1, 2, 3])
    with pytest.raises(OverflowError):
        np.add(left, 200, out=np.zeros(3, dtype=np.int8), casting="unsafe")


def test_buffered_iteration_leaves_nothing_behind() -> None:
    cells = integers(*range(2**70, 2**70 + 20000))
    with np.nditer(
        [cells, None],
        flags=["buffered", "refs_ok", "external_loop"],
        op_flags=[["readonly"], ["writeonly", "allocate"]],
        op_dtypes=[np.dtype(Rational), np.dtype(float)],
        casting="unsafe",
        buffersize=1000,
    ) as iterator:
        for source, target in iterator:
            target[...] = source.astype(float) / 2.0**70
        assert np.allclose(iterator.operands[1], 1.0)
    words = np.array([str(value) for value in range(3000)])
    assert same(words.astype(Integer) + 1, list(range(1, 3001)))


def test_a_buffer_is_cleared_when_the_cast_out_of_it_fails() -> None:
    cells = integers(*range(2**64, 2**64 + 3000))
    for target in [np.int32, "U3", bool]:
        try:
            np.add(cells, cells, out=np.zeros(3000, dtype=target), casting="unsafe")
        except (OverflowError, ValueError):
            continue
        assert target is bool


def test_a_value_refused_on_the_way_leaves_those_before_it_cast() -> None:
    source = np.arange(300, dtype=np.longdouble)
    source[200] += np.finfo(np.longdouble).eps * 128
    if source[200] == np.longdouble(float(source[200])):
        pytest.skip("longdouble is float64 here")
    target = integers(*[2**70] * 300)
    with pytest.raises(ValueError, match="not an integer"):
        np.copyto(target, source, casting="unsafe")
    assert same(target, [*range(200), *[2**70] * 100])


@pytest.mark.parametrize("element", [Integer, Rational])
def test_any_all_and_logical_functions_take_the_truth(element: type) -> None:
    for values in [[0, 0], [0, 3], [2, 3]]:
        cells = np.array(values, dtype=element)
        assert np.any(cells) == any(values)
        assert np.all(cells) == all(values)
        assert np.logical_and(cells, 1).tolist() == [bool(value) for value in values]
        assert np.logical_or(cells, [0.0, 0.0], dtype=bool).tolist() == [bool(v) for v in values]
        assert np.logical_xor.reduce(cells, dtype=bool) == (bool(values[0]) ^ bool(values[1]))


def test_threads_cast_into_and_out_of_one_array() -> None:
    cells = integers(*[0] * 8000)
    rounds = 30

    def fill(first: int) -> None:
        values = np.arange(first, first + 4000)
        for _ in range(rounds):
            cells[first : first + 4000] = values
            assert cells[first : first + 4000].astype(np.int64).tolist() == values.tolist()

    def read() -> None:
        for _ in range(rounds):
            total = cells.astype(float)
            assert ((total == 0) | (total == np.arange(8000))).all()

    with ThreadPoolExecutor(3) as pool:
        for task in [pool.submit(fill, 0), pool.submit(fill, 4000), pool.submit(read)]:
            task.result(timeout=60)
    assert same(cells, list(range(8000)))


def test_a_cast_that_fails_in_a_buffer_does_so_in_every_block() -> None:
    count = 20000
    cells = integers(*range(count - 1), 2**40)
    out = np.zeros(count, dtype=np.int32)
    with pytest.raises(OverflowError, match="int32"):
        np.add(cells, 0, out=out, casting="unsafe")
    assert out[:8000].tolist() == list(range(8000))
