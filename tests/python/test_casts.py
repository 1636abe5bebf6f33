"""Casts and promotion of the bundled types, compared with ``dtype=object``; nothing is lost."""

import gc
import itertools
import operator
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import denizen
from denizen import Integer, Rational

SIGNED = ["int8", "int16", "int32", "int64", "longlong"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64", "ulonglong"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64", "longdouble"]
COMPLEX = ["complex64", "complex128", "clongdouble"]
ORDERS = ["<", ">"]


def live() -> dict[str, int]:
    return {name: counters["live"] for name, counters in denizen.stats().items()}


@pytest.fixture(autouse=True)
def balanced() -> Iterator[None]:
    before = live()
    yield
    gc.collect()
    assert live() == before


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


@pytest.mark.parametrize("name", COMPLEX)
def test_values_become_complex_numbers_but_not_the_other_way(name: str) -> None:
    assert integers(0, -3, 2**20).astype(name).tolist() == [0, -3, 2**20]
    with pytest.raises(TypeError):
        np.array([1 + 2j], dtype=name).astype(Integer)


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


def test_a_longdouble_without_an_exact_float64_is_refused() -> None:
    value = np.longdouble(1) + np.finfo(np.longdouble).eps
    if value == np.longdouble(float(value)):
        pytest.skip("longdouble is float64 here")
    with pytest.raises(ValueError, match="exact"):
        np.array([value]).astype(Rational)


def test_levels_are_those_of_similar_types_of_numpy() -> None:
    dtype = np.dtype(Integer)
    for name in INTEGERS:
        assert np.can_cast(np.dtype(name), dtype, "safe")
        assert not np.can_cast(dtype, np.dtype(name), "safe")
    for name in SIGNED:
        assert np.can_cast(dtype, np.dtype(name), "same_kind")
    for name in FLOATS:
        assert np.can_cast(dtype, np.dtype(name), "same_kind")
        assert not np.can_cast(np.dtype(name), dtype, "same_kind")
    assert np.can_cast(dtype, np.dtype(Rational), "safe")
    assert not np.can_cast(np.dtype(Rational), dtype, "same_kind")


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


@pytest.mark.parametrize("kind", ["U", "S"])
def test_text_goes_both_ways(kind: str) -> None:
    values = [0, -7, 12345678901234567890, 10**60]
    text = integers(*values).astype(kind)
    assert text.dtype == np.dtype(f"{kind}64")
    assert [int(value) for value in text.tolist()] == values
    assert same(text.astype(Integer), values)
    assert same(
        np.array(["1/3", " -2 ", "0.25"]).astype(Rational),
        [
            Fraction(1, 3),
            Fraction(-2),
            Fraction(1, 4),
        ],
    )


@pytest.mark.parametrize("order", ORDERS)
def test_text_of_either_byte_order(order: str) -> None:
    text = integers(1, -20).astype(f"{order}U3")
    assert text.dtype == np.dtype(f"{order}U3")
    assert text.tolist() == ["1", "-20"]
    assert same(text.astype(Integer), [1, -20])


def test_text_that_does_not_fit_is_refused_not_cut() -> None:
    for kind in ["U4", "S4"]:
        with pytest.raises(ValueError, match=f"fit {kind}"):
            integers(1, 12345).astype(kind)
    with pytest.raises(ValueError, match="U101"):
        integers(10**100).astype(str)


def test_text_that_is_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="one"):
        np.array(["1", "one"]).astype(Integer)
    with pytest.raises(ValueError):
        np.array([b"1", b"\xff"]).astype(Integer)


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
    with pytest.raises(ValueError, match="exact"):
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
