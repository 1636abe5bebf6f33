"""Integer and Rational from and to every number of NumPy: exact, or an error."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.casting import integers, same
from support.outcomes import nearest

from denizen import Integer, Rational

SIGNED = ["int8", "int16", "int32", "int64", "longlong"]


UNSIGNED = ["uint8", "uint16", "uint32", "uint64", "ulonglong"]


INTEGERS = SIGNED + UNSIGNED


FLOATS = ["float16", "float32", "float64", "longdouble"]


COMPLEX = ["complex64", "complex128", "clongdouble"]


ORDERS = ["<", ">"]


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
