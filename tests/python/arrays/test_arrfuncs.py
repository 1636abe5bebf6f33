"""The slots that NumPy calls element by element: order, truth, ranges, dot, raw copies."""

import gc

import numpy as np
import pytest

import denizen

sorting = pytest.importorskip("denizen_sorting")

Number, Compared, Ticket = sorting.Number, sorting.Compared, sorting.Ticket
NUMPY = np.lib.NumpyVersion(np.__version__)


@pytest.fixture(autouse=True)
def balanced():
    sorting.misbehave("well")
    gc.collect()
    live = sorting.live()
    ledgers = {name: entry["live"] for name, entry in denizen.stats().items()}
    yield
    sorting.misbehave("well")
    gc.collect()
    assert sorting.live() == live
    assert {name: entry["live"] for name, entry in denizen.stats().items()} == ledgers


def array(numbers, element=Number):
    return np.array(np.asarray(numbers).astype(str), dtype=element)


def plain(a):
    return [int(str(x)) for x in a.ravel()]


def numbers(count=50):
    return np.random.default_rng(3).integers(-9, 9, count)


@pytest.mark.parametrize("element", [Number, Compared, Ticket])
def test_argmin_and_argmax_give_the_first(element):
    model = numbers().reshape(5, 10)
    a = array(model, element)
    for axis in (None, 0, 1):
        assert np.array_equal(a.argmax(axis), model.argmax(axis))
        assert np.array_equal(a.argmin(axis), model.argmin(axis))
    assert a[::-2, ::3].argmax() == model[::-2, ::3].argmax()


def test_vacant_cells_compare_as_the_default():
    a = np.zeros(4, dtype=Number)
    a[1] = -3
    assert (a.argmin(), a.argmax()) == (1, 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_finds_places(side):
    model = np.sort(numbers())
    a = array(model)
    sought = [-20, -1, 0, 3, 20]
    expected = np.searchsorted(model, sought, side=side)
    assert np.array_equal(np.searchsorted(a, array(sought), side=side), expected)
    assert np.searchsorted(a, Number(0), side=side) == expected[2]
    order = np.argsort(array(numbers()))
    unsorted = np.searchsorted(array(numbers()), array([0]), sorter=order, side=side)
    assert list(unsorted) == list(np.searchsorted(model, [0], side=side))


def test_partition_and_median_keep_every_object():
    model = numbers(101)
    a = array(model)
    assert plain(np.partition(a, 50))[50] == np.sort(model)[50]
    assert int(model[np.argpartition(a, 50)[50]]) == np.sort(model)[50]
    a.partition(30)
    assert sorted(plain(a)) == sorted(model)


def test_partition_of_partly_vacant_cells_moves_them_and_the_bits_are_mended():
    a = np.zeros(100, dtype=Number)
    a[:50] = np.arange(50) - 25
    a.partition(50)
    assert sorted(plain(a)) == sorted([*range(-25, 25), *[0] * 50])
    b = a.copy()
    assert sorted(plain(b)) == sorted(plain(a))


def test_lexsort_orders_by_several_keys():
    first, second = numbers(), np.random.default_rng(5).integers(0, 3, 50)
    expected = np.lexsort((first, second))
    assert np.array_equal(np.lexsort((array(first), array(second))), expected)
    strided = np.zeros((50, 2), dtype=Number)
    strided[:, 0] = array(first)
    assert np.array_equal(np.lexsort((strided[:, 0], array(second))), expected)


@pytest.mark.parametrize(
    "operation",
    [lambda a: np.partition(a, 10), lambda a: np.lexsort((a, a))],
    ids=["partition", "lexsort"],
)
def test_a_failing_comparison_is_raised_where_numpy_looks(operation):
    a = array(numbers(), Compared)
    sorting.misbehave("fail", 5)
    with pytest.raises(OverflowError, match="told to fail"):
        operation(a)


@pytest.mark.parametrize(
    "operation",
    [lambda a: np.searchsorted(a, a), np.argmin, np.argmax],
    ids=["searchsorted", "argmin", "argmax"],
)
def test_a_failing_comparison_is_raised_where_numpy_does_not_look(operation):
    a = array(numbers(), Compared)
    sorting.misbehave("fail", 5)
    with pytest.raises(OverflowError, match="told to fail"):
        operation(a)


def test_without_an_order_numpy_refuses():
    a = np.zeros(3, dtype=sorting.Opaque)
    for operation in (a.argmin, a.argmax, lambda: np.partition(a, 1), lambda: np.lexsort((a,))):
        with pytest.raises(TypeError):
            operation()


def test_truth_counts_and_finds():
    model = numbers().reshape(5, 10)
    a = array(model)
    assert np.count_nonzero(a) == np.count_nonzero(model)
    assert np.count_nonzero(a[::2, ::3]) == np.count_nonzero(model[::2, ::3])
    for found, expected in zip(a.nonzero(), model.nonzero(), strict=True):
        assert np.array_equal(found, expected)
    assert np.array_equal(np.flatnonzero(a), np.flatnonzero(model))
    assert not bool(np.zeros(1, dtype=Number))
    assert bool(array([5]))


def test_a_type_without_truth_refuses_instead_of_crashing():
    a = np.zeros(3, dtype=sorting.Opaque)
    for operation in (np.count_nonzero, np.nonzero, lambda a: bool(a[:1]), np.flatnonzero):
        with pytest.raises(TypeError, match="truth"):
            operation(a)


@pytest.mark.parametrize("arguments", [(0,), (1,), (2,), (7,), (3, 20, 4), (9, -9, -3)])
def test_arange_continues_by_the_difference(arguments):
    assert plain(np.arange(*arguments, dtype=Number)) == list(range(*arguments))


def test_arange_of_many_blocks():
    assert plain(np.arange(0, 20000, 3, dtype=Number)) == list(range(0, 20000, 3))


def test_arange_of_fractions_is_exact():
    third = denizen.Rational(1, 3)
    found = np.arange(denizen.Rational(1, 2), denizen.Rational(4), third)
    assert found.dtype == np.dtype(denizen.Rational)
    assert [x for x in found] == [denizen.Rational(1, 2) + third * k for k in range(11)]


def test_arange_without_addition_is_refused():
    with pytest.raises(TypeError):
        np.arange(5, dtype=sorting.Opaque)


@pytest.mark.skipif(NUMPY < "2.5.0", reason="NumPy 2.4 refuses dot for new-style dtypes")
def test_dot_inner_and_vdot_sum_products():
    left, right = numbers(12).reshape(3, 4), numbers(20)[:12].reshape(4, 3)
    a, b = array(left), array(right)
    assert plain(np.dot(a, b)) == list(np.dot(left, right).ravel())
    assert plain(np.inner(a, b.T)) == list(np.inner(left, right.T).ravel())
    assert int(str(np.dot(a[0], b[:, 1]))) == np.dot(left[0], right[:, 1])
    assert int(str(np.dot(a[0, :0], b[:0, 0]))) == 0


@pytest.mark.skipif(NUMPY < "2.5.0", reason="NumPy 2.4 refuses dot for new-style dtypes")
def test_dot_without_multiplication_is_refused():
    a = np.zeros(3, dtype=Compared)
    with pytest.raises(TypeError):
        np.dot(a, a)


@pytest.mark.parametrize("count", [1, 5, 12])
def test_place_repeats_values(count):
    model = numbers(30)
    a = array(model)
    mask = model > 0
    values = np.arange(100, 100 + count)
    np.place(a, mask, array(values))
    np.place(model, mask, values)
    assert plain(a) == list(model)


def test_byteswap_changes_nothing():
    model = numbers(20)
    a = array(model)
    assert plain(a.byteswap()) == list(model)
    a[::2].byteswap(inplace=True)
    assert plain(a) == list(model)


def test_structured_scalars_are_assigned_and_compared():
    structure = np.dtype([("pad", "i1"), ("x", Number.dtype)])  # unaligned
    a = np.zeros(4, dtype=structure)
    a["x"] = [4, 2, 3, 1]
    a[1] = a[0]
    a[2] = (7, Number(9))
    assert plain(a["x"]) == [4, 4, 9, 1]
    assert list(np.argsort(a["x"])) == [3, 0, 1, 2]
