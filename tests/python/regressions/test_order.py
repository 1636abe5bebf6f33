"""Orders and sorts: nothing is lost, whatever a comparison says."""

import numpy as np
import pytest
from support.kind import every, every_ordered

import denizen

every_orderless = every(lambda kind: not kind.ordered and kind.copyable)
every_nonsense = every(lambda kind: kind.misbehave is not None and kind.copyable)
every_failing = every(lambda kind: kind.fail_after is not None and kind.copyable)
KINDS_OF_SORT = [None, "quicksort", "heapsort", "stable", "mergesort"]


def record(a):
    """A structure whose elements decide its order."""
    array = np.zeros(len(a), dtype=[("pad", "u1"), ("x", a.dtype)])
    array["x"] = a
    return array


#: What compares elements of an array, and whether it is done in place.
COMPARING = {
    "sort": lambda a: a.sort(),
    "heapsort": lambda a: a.sort(kind="heapsort"),
    "sort of a view": lambda a: a[::-2].sort(),
    "sort of rows": lambda a: a.reshape(2, -1).sort(axis=0),
    "argsort": lambda a: a.argsort(),
    "partition": lambda a: a.partition(len(a) // 2),
    "partition of a view": lambda a: a[::-1].partition(3),
    "argpartition": lambda a: a.argpartition([2, len(a) - 1]),
    "lexsort": lambda a: np.lexsort((a, a[::-1])),
    "searchsorted": lambda a: a.searchsorted(a),
    "searchsorted on the right": lambda a: a.searchsorted(a[::2], side="right"),
    "unique": lambda a: np.unique(a),
    "argmin": lambda a: a.argmin(),
    "argmax": lambda a: a.reshape(2, -1).argmax(axis=1),
    "min": lambda a: np.min(a),
    "max": lambda a: np.max(a),
    "isin": lambda a: np.isin(a, a[:3]),
    "minimum.accumulate": lambda a: np.minimum.accumulate(a),
    "sort of structures": lambda a: record(a).sort(),
    "argsort of structures": lambda a: record(a).argsort(),
    "partition of structures": lambda a: record(a).partition(5),
    "unique of structures": lambda a: np.unique(record(a)),
}


@pytest.mark.regression("T15", "numpy/numpy#27984")
@every(lambda kind: kind.ordered and kind.plain and kind.copyable)
def test_sorting_keeps_every_object(kind):
    a = kind.make(50)
    expected = sorted(kind.plains(a))

    def work():
        a.sort()
        a[::-1].sort()
        a.reshape(5, 10)[:, ::2].sort(axis=0)

    _, change = kind.counted(work)
    assert sorted(kind.plains(a)) == expected
    assert change["live"] == 0
    a.sort(kind="stable")
    assert kind.plains(a) == expected


@pytest.mark.regression("T15", "numpy/numpy#27984")
@every(lambda kind: kind.ordered and kind.plain and kind.copyable)
def test_every_way_of_sorting_gives_an_ordered_permutation(kind):
    a = kind.make(40)
    values = kind.plains(a)
    model = np.array(values, dtype=object)
    order = sorted(range(40), key=lambda i: values[i])

    def work():
        for sort in KINDS_OF_SORT:
            assert kind.plains(np.sort(a, kind=sort)) == sorted(values)
            assert np.argsort(a, kind=sort).tolist() == order
        assert np.lexsort((a,)).tolist() == order
        assert kind.plains(np.unique(a)) == sorted(set(values))
        for kth in (0, 7, 39, [3, 30]):
            parted = kind.plains(np.partition(a, kth))
            assert sorted(parted) == sorted(values)
            for k in np.atleast_1d(kth):
                assert parted[k] == sorted(values)[k]
            assert sorted(np.argpartition(a, kth).tolist()) == list(range(40))
        found = np.searchsorted(np.sort(a), a, side="left").tolist()
        assert found == np.searchsorted(np.sort(model), model).tolist()
        assert (a.argmin(), a.argmax()) == (model.argmin(), model.argmax())
        with pytest.raises(ValueError):
            np.partition(a, 40)
        with pytest.raises((TypeError, ValueError)):
            np.partition(a, 3, kind="no such")

    _, change = kind.counted(work)
    assert change["live"] == 0
    assert kind.plains(a) == values


@pytest.mark.regression("T16", "numpy/numpy-quaddtype#46")
@every_orderless
def test_types_without_an_order_say_so(kind):
    a = kind.make(12)
    texts = kind.read(a)
    for name, compare in COMPARING.items():
        # Of a few elements isin asks only whether they are equal; minimum is a loop of its own.
        if name in ("isin", "min", "max", "minimum.accumulate"):
            continue
        with pytest.raises(TypeError, match=r"order|compar|less|minimum|maximum|equal"):
            compare(a)
    assert kind.read(a) == texts


@pytest.mark.regression("T15", "numpy/numpy#27984")
@every_nonsense
@pytest.mark.parametrize("count", [16, 400])
def test_comparisons_that_contradict_themselves_lose_no_element(kind, count):
    a = kind.make(count)
    expected = sorted(kind.read(a))
    for name, compare in COMPARING.items():
        for how in kind.nonsense:
            kind.misbehave(how)
            try:
                result = compare(a)
            except ValueError as error:
                assert "order" in str(error), name
            else:
                if name.startswith(("argsort", "argpartition", "lexsort")):
                    assert sorted(result.tolist()) == list(range(count)), name
                if name.startswith("searchsorted"):
                    assert ((result >= 0) & (result <= count)).all(), name
            finally:
                kind.misbehave("well")
            assert sorted(kind.read(a)) == expected, (name, how)
            assert denizen.inspect(a).live == count


@pytest.mark.regression("T15", "numpy/numpy#27984")
@every_failing
def test_comparisons_that_fail_at_any_place_lose_no_element(kind):
    a = kind.make(16)
    expected = sorted(kind.read(a))
    for name, compare in COMPARING.items():
        for k in range(0, 60, 3):
            kind.fail_after(k)
            try:
                compare(a)
            except (RuntimeError, OverflowError) as error:
                assert "blew" in str(error) or "told to fail" in str(error), name
            finally:
                kind.fail_after(-1)
            assert sorted(kind.read(a)) == expected, (name, k)


@pytest.mark.regression("T15", "T34")
@every_ordered
def test_objects_are_sorted_without_a_copy(kind):
    a = kind.make(20)

    def work():
        a.sort()
        a.argsort()

    _, change = kind.counted(work)
    assert change == {"constructed": 0, "destroyed": 0, "live": 0} or not kind.zero_counts
