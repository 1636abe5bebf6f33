"""Every path on which NumPy casts, buffers included: no value is lost."""

import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from support.casting import integers, same

from denizen import Integer, Rational

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
