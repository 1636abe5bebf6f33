"""Sort and argsort: stable in every kind, and nothing is lost whatever a comparison does."""

import gc
import threading

import denizen_example
import numpy as np
import pytest

import denizen

sorting = pytest.importorskip("denizen_sorting")

Number, Compared, Ticket = sorting.Number, sorting.Compared, sorting.Ticket
KINDS = ["quicksort", "heapsort", "stable", "mergesort"]
# `descending=` came with NumPy 2.5.
DESCENDING = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
needs_descending = pytest.mark.skipif(not DESCENDING, reason="NumPy 2.5 brought descending=")


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


def values(count, seed=1):
    return np.random.default_rng(seed).integers(-20, 20, count)


def plain(array):
    return [int(str(x)) for x in array.ravel()]


def counters(kind):
    entry = denizen.stats()[f"denizen_sorting.{kind.__name__}"]
    return entry["constructed"], entry["destroyed"], entry["live"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", [Number, Compared, Ticket])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 1000])
def test_sort_orders_in_place_and_builds_nothing(element, kind, count):
    numbers = values(count)
    a = np.array(numbers.astype(str), dtype=element)
    before = counters(element)
    a.sort(kind=kind)
    assert counters(element) == before
    assert plain(a) == sorted(numbers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", [Number, Compared, Ticket])
def test_argsort_is_stable_in_every_kind(element, kind):
    numbers = values(500)
    a = np.array(numbers.astype(str), dtype=element)
    expected = np.argsort(numbers, kind="stable")
    assert np.array_equal(np.argsort(a, kind=kind), expected)
    assert plain(a) == list(numbers)


@needs_descending
@pytest.mark.parametrize("element", [Number, Compared])
def test_descending_sorts_are_stable(element):
    numbers = values(300)
    a = np.array(numbers.astype(str), dtype=element)
    expected = sorted(range(300), key=lambda i: -numbers[i])
    assert list(np.argsort(a, descending=True)) == expected
    assert plain(np.sort(a, descending=True)) == sorted(numbers, reverse=True)


@needs_descending
def test_descending_sorts_by_the_type_are_stable():
    a = denizen_example.adopt_duals([1.0, 2.0, 1.0, 1.0], [4])[0].copy()
    expected = [str(a[index]) for index in (1, 0, 2, 3)]
    assert [str(x) for x in np.sort(a, descending=True)] == expected
    a[::-1].sort(descending=True)
    assert [str(x) for x in a] == [*expected[1:], expected[0]]


@pytest.mark.parametrize("element", [denizen.Integer, Number, Compared])
def test_the_ledger_follows_what_a_sort_moves(element):
    a = np.zeros(300, dtype=element)
    a[::3] = np.arange(1, 101).astype("U5")
    before = denizen.stats()[str(a.dtype)]["reconciled"]
    a.sort()
    a[...] = a[::-1].copy()
    assert denizen.stats()[str(a.dtype)]["reconciled"] == before


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("element", [Number, Compared])
def test_every_axis_and_layout_sorts(element, axis):
    numbers = values(60).reshape(6, 10)
    a = np.array(numbers.astype(str), dtype=element)
    for view, model in [(a, numbers), (a.T, numbers.T), (a[::-2, ::3], numbers[::-2, ::3])]:
        assert plain(np.sort(view, axis=axis)) == list(np.sort(model, axis=axis).ravel())
        order = np.argsort(view, axis=axis)
        assert np.array_equal(order, np.argsort(model, axis=axis, kind="stable"))


def test_sort_in_place_reaches_through_a_strided_view():
    numbers = values(30)
    a = np.array(numbers, dtype=Number)
    a[::3].sort()
    numbers[::3].sort()
    assert plain(a) == list(numbers)


@pytest.mark.parametrize("element", [Number, Compared])
def test_vacant_cells_sort_as_the_default_and_the_bits_follow(element):
    a = np.zeros(200, dtype=element)
    numbers = np.zeros(200, dtype=int)
    numbers[::7] = values(len(numbers[::7]))
    a[::7] = numbers[::7].astype(str)
    live = denizen.inspect(a).live
    before = denizen.stats()[f"denizen_sorting.{element.__name__}"]["reconciled"]
    a.sort()
    assert plain(a) == sorted(numbers)
    b = a.copy()  # a loop that looks at every bit
    assert denizen.stats()[f"denizen_sorting.{element.__name__}"]["reconciled"] == before
    assert plain(b) == sorted(numbers)
    assert denizen.inspect(a).live == denizen.inspect(b).live == live


def test_a_vacant_cell_without_a_default_is_an_error_and_stays():
    a = np.empty(5, dtype=Ticket)
    a[:3] = ["3", "1", "2"]
    for sort in (a.sort, a.argsort):
        with pytest.raises(denizen.VacantError, match="Ticket"):
            sort()
    assert plain(a[:3]) in ([3, 1, 2], [1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 2, 1])


@pytest.mark.parametrize("after", [0, 1, 7, 100])
def test_a_failing_comparison_loses_no_element(after):
    numbers = values(200)
    a = np.array(numbers.astype(str), dtype=Compared)
    for view in (a, a[::2]):
        for sort in (view.sort, view.argsort):
            sorting.misbehave("fail", after)
            with pytest.raises(OverflowError, match="told to fail"):
                sort()
            sorting.misbehave("well")
            assert plain(a) == list(numbers)
    a.sort()
    assert plain(a) == sorted(numbers)


def test_an_inconsistent_comparison_loses_no_element():
    numbers = values(300)
    a = np.array(numbers.astype(str), dtype=Compared)
    sorting.misbehave("random")
    outcomes = set()
    for _ in range(10):
        try:
            a.sort()
            outcomes.add("sorted somehow")
        except ValueError as error:
            assert "no total order" in str(error)
            outcomes.add("refused")
        order = np.arange(300)
        try:
            order = a.argsort()
        except ValueError:
            outcomes.add("refused")
        assert sorted(order) == list(range(300))
    sorting.misbehave("well")
    assert sorted(plain(a)) == sorted(numbers)
    assert outcomes


def test_a_type_without_an_order_is_refused():
    a = np.zeros(3, dtype=sorting.Opaque)
    for operation in (a.sort, a.argsort, lambda: np.unique(a)):
        with pytest.raises(TypeError, match="Opaque has no ordering"):
            operation()


def test_a_type_that_only_moves_sorts_in_place():
    a = np.zeros(4, dtype=sorting.Unique)
    for index, text in enumerate(["3", "1", "4", "2"]):
        a[index] = text
    a.sort()
    assert list(a.argsort()) == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="not copyable"):
        a[::2].sort()
    assert denizen.inspect(a).live == 4


def test_unique_and_sets_work_on_sorts():
    a = np.array([3, 1, 3, 2, 1], dtype=Number)
    found, index, counts = np.unique(a, return_index=True, return_counts=True)
    assert plain(found) == [1, 2, 3]
    assert list(index) == [1, 3, 0]
    assert list(counts) == [2, 1, 2]


@pytest.mark.regression("T43", "numpy/numpy#27199", "numpy/numpy#31415", "numpy/numpy#28813")
@pytest.mark.parametrize("element", [Number, Compared])
def test_sorts_beside_readers_and_writers_keep_every_object(element):
    count = 400
    a = np.array(values(count).astype(str), dtype=element)
    stop = threading.Event()
    failures = []

    def work(action):
        try:
            while not stop.is_set():
                action()
        except Exception as error:
            failures.append(error)

    one = np.array(["5"], dtype=element)
    actions = [a.copy, a.argsort, lambda: a.__setitem__(slice(0, count, 7), one), a.sort]
    threads = [threading.Thread(target=work, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for _ in range(50):
        a[::3].sort()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert denizen.inspect(a).live == count
    a.sort()
    assert plain(a) == sorted(plain(a))
