"""Integer arrays against object arrays of Python's int: same values, and nothing left over."""

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

import denizen
from denizen import Integer


def magnitudes() -> st.SearchStrategy[int]:
    """Integers of every size that the representation treats differently."""
    edges = [1 << bits for bits in (31, 61, 62, 63, 64, 127, 128)]
    near_edges = st.builds(
        lambda edge, near, sign: sign * (edge + near),
        st.sampled_from(edges),
        st.integers(-2, 2),
        st.sampled_from([1, -1]),
    )
    return st.one_of(
        st.integers(-20, 20),
        st.integers(-(2**63), 2**63),
        near_edges,
        st.integers(-(2**200), 2**200),
        st.integers(-(2**3000), 2**3000),
    )


def pairs(values: Any = None) -> st.SearchStrategy[list[tuple[int, int]]]:
    values = magnitudes() if values is None else values
    return st.lists(st.tuples(values, values), min_size=1, max_size=40)


def arrays(values: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The same values as Integer and as objects."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return np.array(values, dtype=Integer), objects


def check(result: np.ndarray, expected: Any) -> None:
    assert result.dtype == np.dtype(Integer)
    assert result.tolist() == np.asarray(expected, dtype=object).tolist()


BINARY = [
    np.add,
    np.subtract,
    np.multiply,
    np.minimum,
    np.maximum,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.gcd,
]
DIVIDING = [np.floor_divide, np.remainder]
COMPARING = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
@settings(max_examples=60, deadline=None)
@given(values=pairs(), step=st.sampled_from([1, 2, -1, -3]))
def test_binary_ufuncs_give_what_python_gives(
    ufunc: Any, values: list[tuple[int, int]], step: int
) -> None:
    (a, a_objects), (b, b_objects) = (arrays([v[i] for v in values]) for i in (0, 1))
    a, b = a[::step], b[::step]
    expected = ufunc(a_objects[::step], b_objects[::step])
    check(ufunc(a, b), expected)
    check(ufunc(a, b[:1]), ufunc(a_objects[::step], b_objects[::step][:1]))
    ufunc(a, b, out=a)
    check(a, expected)


@pytest.mark.parametrize("ufunc", DIVIDING, ids=lambda f: f.__name__)
@settings(max_examples=60, deadline=None)
@given(values=pairs(magnitudes().filter(bool)))
def test_division_rounds_as_in_python(ufunc: Any, values: list[tuple[int, int]]) -> None:
    (a, a_objects), (b, b_objects) = (arrays([v[i] for v in values]) for i in (0, 1))
    check(ufunc(a, b), ufunc(a_objects, b_objects))
    quotients, remainders = np.divmod(a, b)
    check(quotients, a_objects // b_objects)
    check(remainders, a_objects % b_objects)


@pytest.mark.parametrize("compare", COMPARING, ids=lambda f: f.__name__)
@settings(max_examples=60, deadline=None)
@given(values=pairs())
def test_comparisons_give_bool_arrays(compare: Any, values: list[tuple[int, int]]) -> None:
    (a, a_objects), (b, b_objects) = (arrays([v[i] for v in values]) for i in (0, 1))
    result = compare(a, b)
    assert result.dtype == np.bool_
    assert result.tolist() == compare(a_objects, b_objects).tolist()


@settings(max_examples=60, deadline=None)
@given(values=st.lists(magnitudes(), min_size=1, max_size=40))
def test_unary_ufuncs_and_shifts(values: list[int]) -> None:
    a, objects = arrays(values)
    check(-a, -objects)
    check(abs(a), abs(objects))
    check(~a, ~objects)
    check(np.square(a), objects * objects)
    check(np.sign(a), [(v > 0) - (v < 0) for v in values])
    counts, count_objects = arrays([abs(v) % 70 for v in values])
    check(a << counts, objects << count_objects)
    check(a >> counts, objects >> count_objects)
    exponents, exponent_objects = arrays([abs(v) % 4 for v in values])
    check(a**exponents, objects**exponent_objects)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(magnitudes(), max_size=40))
def test_reductions_and_sorting(values: list[int]) -> None:
    a, objects = arrays(values)
    assert a.sum() == sum(values)
    assert a.prod() == math.prod(values)
    if values:
        assert a.max() == max(values)
        assert a.min() == min(values)
        check(np.add.accumulate(a), np.add.accumulate(objects))
    check(np.sort(a), sorted(values))
    order = np.argsort(a, kind="stable")
    assert order.tolist() == sorted(range(len(values)), key=lambda i: values[i])
    assert np.count_nonzero(a) == sum(map(bool, values))


@settings(max_examples=30, deadline=None)
@given(values=st.lists(magnitudes(), min_size=12, max_size=12))
def test_products_of_matrices(values: list[int]) -> None:
    a, objects = arrays(values)
    a, objects = a.reshape(3, 4), objects.reshape(3, 4)
    expected = objects.dot(objects.T)
    check((a @ a.T).ravel(), expected.ravel())
    check(np.vecdot(a, a[::-1]), (objects * objects[::-1]).sum(axis=1))
    check(np.matvec(a, a[0]), objects.dot(objects[0]))
    check(np.vecmat(a[0], a.T), objects[0].dot(objects.T))


@settings(max_examples=60, deadline=None)
@given(values=st.lists(magnitudes(), max_size=30))
def test_values_survive_python_text_and_pickle(values: list[int]) -> None:
    a, _ = arrays(values)
    assert a.tolist() == values
    assert all(type(v) is Integer for v in a)
    check(np.array([str(v) for v in values], dtype=Integer), values)
    for protocol in range(2, 6):
        check(pickle.loads(pickle.dumps(a, protocol)), values)
    assert [hash(v) for v in a] == [hash(v) for v in values]


@settings(max_examples=60, deadline=None)
@given(values=st.lists(magnitudes(), max_size=30))
def test_casts_convert_exactly_or_raise(values: list[int]) -> None:
    a, _ = arrays(values)
    for dtype, low, high in [
        (np.int64, -(2**63), 2**63 - 1),
        (np.uint64, 0, 2**64 - 1),
        (np.int8, -128, 127),
    ]:
        if all(low <= v <= high for v in values):
            assert a.astype(dtype).tolist() == values
            check(np.array(values, dtype=dtype).astype(Integer), values)
        else:
            with pytest.raises(OverflowError):
                a.astype(dtype)
    try:
        floats = [float(v) for v in values]
    except OverflowError:
        with pytest.raises(OverflowError):
            a.astype(np.float64)
    else:
        assert a.astype(np.float64).tolist() == floats
        check(np.array(floats, dtype=np.float64).astype(Integer), [int(v) for v in floats])
    assert a.astype(bool).tolist() == [bool(v) for v in values]


def test_casts_that_would_lose_something_raise() -> None:
    with pytest.raises(ValueError):
        np.array([0.5]).astype(Integer)
    with pytest.raises(ValueError):
        np.array([np.nan]).astype(Integer)
    with pytest.raises(OverflowError):
        np.array([np.inf]).astype(Integer)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (" -1_000 ", -1000),
        (True, 1),
        (2.0, 2),
        (Decimal("1e20"), 10**20),
        (Fraction(6, 2), 3),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(4.0), 4),
        (10**4000, 10**4000),
    ],
)
def test_whatever_is_an_integer_is_taken(source: Any, value: int) -> None:
    a = np.zeros(2, dtype=Integer)
    a[0] = source
    assert a[0] == value == Integer(source)
    assert type(Integer(source)) is Integer


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("ten", ValueError),
        ("1.5", ValueError),
        (2.5, ValueError),
        (math.nan, ValueError),
        (math.inf, OverflowError),
        (Decimal("0.1"), ValueError),
        (Fraction(1, 2), ValueError),
        (None, TypeError),
        (1j, TypeError),
        (object(), TypeError),
    ],
)
def test_anything_else_is_refused_and_nothing_changes(source: Any, error: type[Exception]) -> None:
    a = np.array([2**100, 7], dtype=Integer)
    with pytest.raises(error):
        a[0] = source
    assert a.tolist() == [2**100, 7]
    with pytest.raises(error):
        Integer(source)


def test_absurd_results_are_refused() -> None:
    one = np.array([1, 5], dtype=Integer)
    for operation in (
        lambda: one << np.array([2**45, 1], dtype=Integer),
        lambda: (one + 9) ** np.array([10**12, 1], dtype=Integer),
    ):
        with pytest.raises((OverflowError, MemoryError)):
            operation()
    with pytest.raises(ZeroDivisionError):
        one // np.zeros(2, dtype=Integer)
    with pytest.raises(ValueError):
        one ** np.array([-1, 1], dtype=Integer)
    assert one.tolist() == [1, 5]


def test_small_values_own_no_memory() -> None:
    a = np.arange(1000).astype(Integer)
    assert a.itemsize == 8
    assert denizen.inspect(a).heap_bytes == 0
    b = np.array([2**1000], dtype=Integer)
    assert denizen.inspect(b).heap_bytes >= 125


def test_truth_is_that_of_python() -> None:
    a = np.array([[3, 0], [2**70, -1]], dtype=Integer)
    assert a.any() and not a.all()
    assert a.all(axis=1).tolist() == [False, True]
    assert np.logical_xor(a, a[::-1]).tolist() == [[False, True], [False, True]]
    assert np.logical_not(a).tolist() == [[False, True], [False, False]]


def test_division_by_anything_is_exact_or_float() -> None:
    a = np.array([3, -7, 2**70], dtype=Integer)
    halves = [Fraction(3, 2), Fraction(-7, 2), Fraction(2**69)]
    for two in (2, np.int8(2), np.array([2], dtype=np.uint64), a[:1] - 1):
        result = a / two
        assert result.dtype == np.dtype(denizen.Rational)
        assert result.tolist() == halves
    floats = a / 0.5
    assert floats.dtype == np.float64
    assert floats.tolist() == [6.0, -14.0, 2.0**71]
    with pytest.raises(ZeroDivisionError):
        a / 0


def test_clip_and_mixed_operands() -> None:
    a = np.array([3, -7, 2**70], dtype=Integer)
    check(np.clip(a, -1, 5), [3, -1, 5])
    check(a + np.arange(3), [3, -6, 2**70 + 2])
    check(2**60 * a, [v * 2**60 for v in a.tolist()])
    assert (a + 0.5).dtype == np.float64
    assert (a == 3).tolist() == [True, False, False]


def test_truth_of_no_elements_is_that_of_python() -> None:
    empty = np.zeros(0, dtype=Integer)
    assert empty.all() and not empty.any()
    assert empty.sum() == 0 and empty.prod() == 1


EDGES = [2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**62 - 1, 2**63 - 1, 2**63, 10**400, 1, 0]
FLOATS = [2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, 0.5, 0.1, 0.0, 5e-324, 1.7e308, math.inf]


@pytest.mark.parametrize("compare", COMPARING, ids=lambda f: f.__name__)
def test_comparisons_with_floats_are_those_of_python(compare: Any) -> None:
    values = EDGES + [-v for v in EDGES]
    floats = [*FLOATS, *(-f for f in FLOATS), math.nan]
    a = np.array(values, dtype=Integer)
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore"):
            b = np.array(floats).astype(dtype)
        expected = [[compare(v, f) for f in b.tolist()] for v in values]
        mirrored = [[compare(f, v) for f in b.tolist()] for v in values]
        with np.errstate(all="raise"):
            result, other = compare(a[:, None], b), compare(b, a[:, None])
            assert result.dtype == other.dtype == np.bool_
            assert result.tolist() == expected
            assert other.tolist() == mirrored
            for i in range(len(b)):
                assert compare(a, b[i]).tolist() == [row[i] for row in expected]
                assert compare(b[i], a).tolist() == [row[i] for row in mirrored]
    for f in floats:
        assert compare(a, f).tolist() == [compare(v, f) for v in values]
        assert compare(f, a).tolist() == [compare(f, v) for v in values]
        for i, v in enumerate(values):
            zero_dimensional = a[i : i + 1].reshape(())
            assert bool(compare(zero_dimensional, f)) is compare(v, f)
            assert bool(compare(f, zero_dimensional)) is compare(f, v)
            assert bool(compare(a[i], f)) is compare(v, f)
            assert bool(compare(f, a[i])) is compare(f, v)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.tuples(magnitudes(), st.floats()), min_size=1, max_size=40))
def test_comparisons_with_any_float_are_those_of_python(values: list[tuple[int, float]]) -> None:
    a = np.array([v for v, _ in values], dtype=Integer)
    b = np.array([f for _, f in values])
    for compare in COMPARING:
        assert compare(a, b).tolist() == [compare(v, f) for v, f in values]
        assert compare(b, a).tolist() == [compare(f, v) for v, f in values]


def test_what_is_no_float_is_compared_as_before() -> None:
    a = np.array([2**53 + 1, 3, 0], dtype=Integer)
    assert (a == 2**53 + 1).tolist() == [True, False, False]
    assert (a < 10**30).all() and (a > -(10**30)).all()
    assert (a == np.array([1, 3, 0], dtype=np.int8)).tolist() == [False, True, True]
    assert (a > np.array([1, 3, 0], dtype=np.uint64)).tolist() == [True, False, False]
    assert (a == np.array([2**53 + 1, 3.0, "x"], dtype=object)).tolist() == [True, True, False]
    assert (a == np.array(["9007199254740993", 3, "1/2"], dtype=denizen.Rational)).tolist() == [
        True,
        True,
        False,
    ]
    assert (a == np.array([3 + 0j, 3 + 0j, 0j])).tolist() == [False, True, True]
    assert (a + 1.0).dtype == (a * np.float32(1)).dtype == np.float64
    assert np.equal(a, 3.0, dtype=object).tolist() == [False, True, False]
    assert np.equal(a, 3.0, dtype=bool).tolist() == [False, True, False]
