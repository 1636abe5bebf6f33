"""Memory and values that C++ gives to NumPy: adopted, taken, and one by one."""

import gc
import itertools
import sys

import numpy as np
import pytest
from data_storages import FILL, KEEP, REFUSE, STORAGES, Storage, values

import denizen


@pytest.fixture
def boxed(data):
    return Storage(data, "boxed", "Boxed")


# ---- adoption ------------------------------------------------------------------------------------


def test_an_adopted_vector_is_the_memory_of_the_array_until_the_last_view_is_gone(data, inline):
    live = data.counters()[0]
    a = data.adopt_vector([3, 1, 2])
    assert data.counters()[0] == live + 3
    assert denizen.owner(a) == "adopted" and not a.flags.owndata and a.flags.writeable
    inline.fill(a, 5)
    a[0] = "9"
    a.sort()
    assert values(inline, a) == inline.values(a, REFUSE) == [6, 7, 9]
    assert data.counters()[0] == live + 3, "nothing was built or ended"
    view = a[::-1][:2]
    with pytest.raises(ValueError):
        a.resize(10)
    with pytest.raises(ValueError):
        a.resize(10, refcheck=False)
    del a
    gc.collect()
    assert values(inline, view) == [9, 7]
    assert data.counters()[0] == live + 3
    del view
    gc.collect()
    assert data.counters()[0] == live


def test_nothing_that_numpy_does_to_an_adopted_array_vacates_a_cell(data, inline):
    live, a = data.counters()[0], data.adopt_vector([5, 3, 1, 4, 2, 6])
    a[::2].sort()
    a[1:] = a[:-1].copy()
    a[[0, 1]] = a[[1, 0]]
    a[a.argsort()[:2]] = "7"
    np.copyto(a[:2], a[4:])
    np.put(a, [0], a[1:2])
    np.take(a, [1, 2], out=a[:2], mode="clip")
    np.concatenate([a[3:].copy(), a[:3].copy()], out=a)
    a.reshape(2, 3)[...] = a[:3].copy()
    a.partition(2)
    assert None not in inline.values(a, KEEP)
    gc.collect()
    assert data.counters()[0] == live + 6
    del a
    gc.collect()
    assert data.counters()[0] == live


def test_a_new_array_shares_nothing_with_the_adopted_one(data, inline):
    a = data.adopt_vector([1, 2, 3])
    b = a.copy()
    assert denizen.owner(b) == "managed"
    b.resize(5)
    inline.fill(a, 7)
    assert values(inline, b) == [1, 2, 3, 0, 0]


def test_an_adopted_vector_takes_a_shape_that_fits(data, inline):
    a = data.adopt_vector(range(6), [2, 3])
    assert a.shape == (2, 3) and a.flags.c_contiguous
    assert inline.values(a[:, 1], FILL) == [1, 4]
    for shape in ([7], [2, 2], [], [0]):
        with pytest.raises(ValueError, match="6 elements do not fit the shape"):
            data.adopt_vector(range(6), shape)


def test_a_vector_that_cpp_shares_is_seen_by_both(data, inline):
    live = data.counters()[0]
    a = data.adopt_shared([1, 2, 3], False)
    inline.fill(a, 7)
    assert data.shared_values() == [7, 8, 9]
    data.shared_drop()
    gc.collect()
    assert values(inline, a) == [7, 8, 9] and data.counters()[0] == live + 3
    del a
    gc.collect()
    assert data.counters()[0] == live


def test_a_shared_vector_outlives_its_array(data, inline):
    a = data.adopt_shared([1, 2], False)
    del a
    gc.collect()
    assert data.shared_values() == [1, 2]


def test_a_vector_of_constants_is_read_only(data, inline):
    a = data.adopt_shared([1, 2], True)
    assert not a.flags.writeable
    assert inline.values(a, FILL) == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        inline.fill(a, 0)
    with pytest.raises(ValueError):
        a.flags.writeable = True
    assert data.shared_values() == [1, 2]


def test_an_empty_pointer_is_refused(data):
    with pytest.raises(ValueError, match="the pointer is empty"):
        data.adopt_nothing()


@pytest.mark.parametrize("adopt", ["adopt_vector", "adopt_shared", "shape"])
def test_a_vector_without_elements_is_adopted(data, inline, adopt):
    if adopt == "shape":
        a = data.adopt_vector([], [3, 0])
    else:
        a = getattr(data, adopt)([], *([False] if adopt == "adopt_shared" else []))
    assert a.size == 0 and values(inline, a) == inline.values(a, FILL) == []
    inline.sort(a)
    assert values(inline, np.concatenate([a.ravel(), inline.array(2)])) == [1, 2]
    del a
    gc.collect()


POINTS = {
    "all": (6, 0, [6], [16], [0, 1, 2, 3, 4, 5]),
    "every second": (6, 0, [3], [32], [0, 2, 4]),
    "backwards": (6, 5, [6], [-16], [5, 4, 3, 2, 1, 0]),
    "columns": (6, 0, [3, 2], [16, 48], [0, 3, 1, 4, 2, 5]),
    "the same": (6, 2, [3], [0], [2, 2, 2]),
    "no dimension": (6, 4, [], [], [4]),
    "none": (6, 0, [0], [16], []),
}


@pytest.mark.parametrize("layout", POINTS)
@pytest.mark.parametrize("constant", [False, True])
def test_memory_is_adopted_with_any_strides_and_its_owner_ends_once(data, layout, constant):
    *how, expected = POINTS[layout]
    ended = data.counters()[1]
    a = data.adopt_points(*how, constant, False)
    assert data.counters()[1] == ended
    assert denizen.owner(a) == ("adopted" if expected else denizen.owner(a))
    assert a.flags.writeable is not constant
    assert data.points(a) == expected
    del a
    gc.collect()
    assert data.counters()[1] == ended + 1


@pytest.mark.parametrize(
    "how, error, message",
    [
        ((6, 0, [3], [8]), ValueError, "overlap"),
        ((6, 0, [3], [17]), ValueError, "not aligned"),
        ((6, 0, [3, 2], [16]), ValueError, r"shape \(3, 2\) and the strides \(16,\) differ"),
        ((6, 0, [-1], [16]), ValueError, "negative length"),
        ((6, 0, [3], [2**62]), OverflowError, "beyond the memory"),
    ],
)
def test_a_failing_adoption_ends_its_owner_once(data, how, error, message):
    ended = data.counters()[1]
    with pytest.raises(error, match=message):
        data.adopt_points(*how, False, False)
    assert data.counters()[1] == ended + 1


def test_a_python_object_keeps_adopted_memory(data):
    owner = [1]
    references = sys.getrefcount(owner)
    a = data.adopt_static(owner)
    view = a[1:]
    assert sys.getrefcount(owner) == references + 1
    del a
    assert data.points(view) == [2, 3]
    del view
    gc.collect()
    assert sys.getrefcount(owner) == references


def test_a_shared_pointer_keeps_adopted_memory(data):
    ended = data.counters()[1]
    a = data.adopt_static(None)
    assert data.points(a) == [1, 2, 3] and data.counters()[1] == ended
    del a
    gc.collect()
    assert data.counters()[1] == ended + 1


def test_no_memory_is_adopted_for_no_elements_only(data):
    owner = [1]
    references = sys.getrefcount(owner)
    a = data.adopt_null(0, owner)
    assert a.shape == (0,) and data.points(a) == []
    with pytest.raises(ValueError, match="is NULL"):
        data.adopt_null(3, owner)
    del a
    gc.collect()
    assert sys.getrefcount(owner) == references


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_owner_that_throws_at_its_end_is_reported_and_nothing_else_happens(data, monkeypatch):
    caught = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda unraisable: caught.append(unraisable.exc_value)
    )
    ended = data.counters()[1]
    a = data.adopt_points(3, 0, [3], [16], False, True)
    del a
    gc.collect()
    assert [str(error) for error in caught] == [
        "the destructor of an adopted array's owner threw an exception"
    ]
    assert data.counters()[1] == ended + 1
    # Also where adoption fails, whose own exception is the one that is seen.
    with pytest.raises(ValueError, match="not aligned"):
        data.adopt_points(3, 0, [2], [17], False, True)
    assert len(caught) == 2 and data.counters()[1] == ended + 2


def test_an_adopted_array_is_borrowed_like_any_other(data, inline):
    a = data.adopt_vector([1, 2, 3])
    with pytest.raises(denizen.BorrowError):
        inline.hold(a, True, lambda: inline.values(a, FILL))
    with pytest.raises(denizen.BorrowError):
        inline.hold(a, False, lambda: inline.fill(a, 0))
    assert inline.hold(a, False, lambda: inline.values(a, FILL)) == [1, 2, 3]


# ---- take ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, class_name", [*STORAGES.items(), ("sole", "Sole")])
def test_taking_a_vector_moves_its_elements_into_a_new_array(data, name, class_name):
    storage = Storage(data, name, class_name)
    live, runtime = data.counters()[0], storage.live()
    a = storage.take([3, 1, 2], -1)
    assert storage.values(a, REFUSE) == [3, 1, 2] and denizen.owner(a) == "managed"
    assert data.counters()[0] - live == 3 == storage.live() - runtime == denizen.inspect(a).live
    b = storage.take(range(6), -1, [3, 2])
    assert b.shape == (3, 2) and storage.values(b, REFUSE) == [0, 1, 2, 3, 4, 5]
    assert storage.take([], -1).shape == (0,) and storage.take([], -1, [2, 0]).shape == (2, 0)
    with pytest.raises(ValueError, match=r"3 elements do not fit the shape \(2,\)"):
        storage.take([1, 2, 3], -1, [2])
    del a, b
    gc.collect()
    assert (data.counters()[0], storage.live()) == (live, runtime)


@pytest.mark.parametrize("k", range(5))
def test_a_move_that_throws_loses_nothing(boxed, data, k):
    live, runtime = data.counters()[0], boxed.live()
    with pytest.raises(RuntimeError, match="a subject that throws"):
        boxed.take([1, 2, 3, 4, 5], k)
    data.throw_after(-1)
    assert (data.counters()[0], boxed.live()) == (live, runtime)


def test_figures_stay_right_over_everything_that_is_done_to_taken_elements(storage, data):
    live, runtime = data.counters()[0], storage.live()
    for pieces in itertools.product([0, 1, 1000], repeat=2):
        a, b = (storage.take(range(count), -1) for count in pieces)
        c = np.concatenate([a, b])
        c.resize(1500)
        storage.sort(c)
        storage.values(c[::-1], FILL)
        assert data.counters()[0] - live == storage.live() - runtime == 1500 + sum(pieces)
        del a, b, c
    assert (data.counters()[0], storage.live()) == (live, runtime)


# ---- single values -------------------------------------------------------------------------------


def test_a_value_becomes_the_scalar_of_its_class_and_comes_back(storage, data):
    live, runtime = data.counters()[0], storage.live()
    scalar = storage.to_python(7)
    assert type(scalar) is storage.dtype and str(scalar) == "7"
    assert storage.from_python(scalar) == 7
    assert storage.from_python("12") == 12
    assert storage.from_python(storage.array(3)[2]) == 3
    for wrong, error in [
        ("x", ValueError),
        ([1, 2], (TypeError, ValueError)),
        (1.5, TypeError),
        (None, TypeError),
    ]:
        references = sys.getrefcount(wrong)
        with pytest.raises(error):
            storage.from_python(wrong)
        assert wrong is None or sys.getrefcount(wrong) == references
    del scalar
    assert (data.counters()[0], storage.live()) == (live, runtime)


def test_a_value_whose_copy_throws_is_not_lost(storage, data):
    live = storage.live()
    for k in range(2):
        data.throw_after(k)
        with pytest.raises(RuntimeError, match="a subject that throws"):
            storage.to_python(7)
        data.throw_after(-1)
    assert storage.live() == live


def test_a_value_of_zero_bytes_goes_both_ways(data):
    scalar = data.point_to_python(0)
    assert type(scalar) is data.Point and str(scalar) == "0|0"
    assert data.point_from_python(scalar) == 0.0
    assert data.point_from_python(data.point_to_python(4)) == 4.0
