"""A legacy dtype (PyArray_RegisterDataType) in handler mode, without denizen's dtype layer: its C++
objects are built once and destroyed once, and what NumPy copies as bytes is right or known."""

import gc
import pickle
import threading

import legacy as legacy_module
import numpy as np
import pytest
from support.handlers import get_handler

import denizen

CHANGED = "NumPy copied this element as bytes, and what it was copied from has changed since"


@pytest.fixture
def legacy():
    return legacy_module


class Objects:
    """What the C++ side and the runtime count, which is always the same."""

    def __init__(self, legacy):
        self.legacy = legacy

    def stats(self):
        gc.collect()
        built, gone, broken = self.legacy.counters()
        stats = denizen.stats()["legacy.Counted"]
        exacting = denizen.stats()["legacy.Exacting"]["live"]
        assert broken == 0, "an object was used where it was not built, or after its end"
        assert stats["live"] + exacting == built - gone
        return stats

    @property
    def live(self):
        """Objects of arrays: without those in NumPy's buffers."""
        stats = self.stats()
        return stats["live"] - stats["lent"]

    @property
    def lent(self):
        return self.stats()["lent"]

    @property
    def stale(self):
        return self.stats()["stale"]


@pytest.fixture(autouse=True)
def objects(legacy):
    """Afterwards no object of an array is left, and a sweep ends those in NumPy's buffers."""
    objects = Objects(legacy)
    assert (objects.live, objects.lent) == (0, 0)
    yield objects
    gc.collect()
    lent = objects.lent
    assert legacy.sweep() == lent
    assert (objects.live, objects.lent) == (0, 0)


@pytest.fixture
def block():
    with denizen.handler():
        yield


@pytest.fixture
def make(legacy, block):
    """Makes arrays in a handler block."""

    def make(*values):
        array = np.zeros(len(values), dtype=legacy.dtype)
        for index, value in enumerate(values):
            array[index] = value
        assert legacy.in_segment(array)
        return array

    return make


def floats(array):
    return [float(element) for element in array.ravel()]


# ---- what is right -------------------------------------------------------------------------------


def test_types_without_a_dtype_are_listed_and_counted(legacy):
    assert {"legacy.Counted", "legacy.Exacting"} <= set(denizen.types())
    assert denizen.stats()["legacy.Counted"]["live"] == 0


def test_an_array_that_was_not_written_to_reads_as_default_and_builds_nothing(
    legacy, block, objects
):
    for array in (np.zeros(3, dtype=legacy.dtype), np.empty((2, 2), dtype=legacy.dtype)):
        assert floats(array) == [0] * array.size
    assert objects.live == 0


# A name, what it makes of the array [1, 2, 3, 4, 5], and the values that it has then.
SOUND = {
    "copy": (lambda a: a.copy(), [1, 2, 3, 4, 5]),
    "copy strided": (lambda a: a[::-2].copy(), [5, 3, 1]),
    "copy Fortran": (lambda a: a.repeat(2).reshape(5, 2).copy("F"), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
    "concatenate": (lambda a: np.concatenate([a[3:], a[:1]]), [4, 5, 1]),
    "stack": (lambda a: np.stack([a[:2], a[2:4]]), [1, 2, 3, 4]),
    "roll": (lambda a: np.roll(a, 2), [4, 5, 1, 2, 3]),
    "insert": (lambda a: np.insert(a, 1, a[4]), [1, 5, 2, 3, 4, 5]),
    "boolean get": (lambda a: a[np.array([1, 0, 1, 0, 1], dtype=bool)], [1, 3, 5]),
    "fancy get": (lambda a: a[[4, 0, 0]], [5, 1, 1]),
    "where": (lambda a: np.where([1, 0, 1, 0, 1], a, a[::-1]), [1, 4, 3, 2, 5]),
    "add": (lambda a: a + a, [2, 4, 6, 8, 10]),
    "add strided": (lambda a: a[::2] + a[::-2], [6, 6, 6]),
    "negative": (lambda a: -a, [-1, -2, -3, -4, -5]),
    "add float": (lambda a: a + np.arange(5.0), [1, 3, 5, 7, 9]),
    "sum": (lambda a: np.add.reduce(a, keepdims=True), [15]),
    "sorted": (lambda a: np.sort(a[[2, 4, 0, 1, 3]]), [1, 2, 3, 4, 5]),
    "argsort": (lambda a: a[np.argsort(a[::-1])], [5, 4, 3, 2, 1]),
    "partition": (lambda a: np.partition(a[::-1], 0)[:1], [1]),
    "from float": (lambda a: np.array([7.0, 8.0]).astype(a.dtype), [7, 8]),
    "to float": (lambda a: a.astype(float), [1, 2, 3, 4, 5]),
    "less": (lambda a: (a < a[::-1]).astype(float), [1, 1, 0, 0, 0]),
    "nonzero": (lambda a: np.nonzero(a)[0], [0, 1, 2, 3, 4]),
    "full": (lambda a: np.full(2, a[1]), [2, 2]),
    "array of scalars": (lambda a: np.array(list(a)), [1, 2, 3, 4, 5]),
    "reshape": (lambda a: a[:4].reshape(2, 2).T.copy(), [1, 3, 2, 4]),
}


@pytest.mark.short
def test_the_objects_of_a_sorted_resized_and_partly_copied_array_are_built_and_destroyed_once(
    make, objects
):
    a = make(3, 1, 2)
    b = np.concatenate([a, a + np.ones(3)])
    np.put(b, [0], a[:1])
    b.sort()
    b.resize(4, refcheck=False)
    assert floats(b) == [1, 2, 2, 3]
    b[:] = 5.0
    assert objects.live == 3 + 4


@pytest.mark.parametrize("name", SOUND)
def test_operations_give_values_of_their_own(make, objects, name):
    operation, expected = SOUND[name]
    a = make(1, 2, 3, 4, 5)
    result = operation(a)
    assert floats(result) == expected
    a[:] = 0.0
    assert floats(result) == expected, "the result is the same as before its source changed"
    del result
    assert objects.live == 5
    assert floats(a) == [0] * 5


def test_results_need_as_many_objects_as_they_have_elements(make, objects):
    a = make(1, 2, 3)
    assert objects.live == 3
    b = a + a
    assert objects.live == 6
    c = np.concatenate([a, b])
    assert objects.live == 12
    b[...] = a
    c[:3] = a
    assert objects.live == 12, "assignment builds no object where there is one"
    del a, b
    assert objects.live == 6


@pytest.mark.parametrize("kind", ["quicksort", "heapsort", "stable"])
@pytest.mark.parametrize("count", [2, 16, 17, 500])
def test_sort_moves_objects_and_copies_none(make, objects, kind, count):
    values = [(index * 7919) % 1009 for index in range(count)]
    a = make(*values)
    built = objects.legacy.counters()[0]
    a.sort(kind=kind)
    assert objects.legacy.counters()[0] == built
    assert floats(a) == sorted(values)
    a[0], a[-1] = -5.0, 2000.0
    assert floats(a) == [-5, *sorted(values)[1:-1], 2000]
    assert objects.live == count


def test_sort_along_any_axis_and_of_vacant_elements(legacy, make, objects):
    a = make(3, 9, 1, 8, 2, 7).reshape(3, 2)
    a.sort(axis=0)
    assert floats(a) == [1, 7, 2, 8, 3, 9]
    b = np.zeros(30, dtype=legacy.dtype)
    b[3], b[20], b[29] = -1.0, 2.0, 1.0
    b.sort()
    assert floats(b) == [-1, *[0] * 27, 1, 2]
    b[0] = b[1] = 5.0
    assert floats(b) == [5, 5, *[0] * 26, 1, 2]
    assert objects.live == 6 + 4


@pytest.mark.parametrize("under", [False, True], ids=["plain", "over NumPy's handler"])
@pytest.mark.parametrize("size", [0, 1, 2, 6, 5000])
def test_resize_keeps_objects_and_destroys_those_it_cuts_off(legacy, objects, under, size):
    with denizen.handler(under=get_handler() if under else None):
        a = np.arange(5.0).astype(legacy.dtype)
    a.resize(size, refcheck=False)
    assert objects.live == min(size, 5)
    expected = [*map(float, range(5)), *[0] * size][:size]
    assert floats(a) == expected
    a.resize(5, refcheck=False)
    assert floats(a) == [*expected, *[0] * 5][:5]
    a[:] = 1.0
    assert objects.live == 5


def test_resize_after_a_sort_keeps_the_right_ones(make, objects):
    a = make(5, 4, 3, 2, 1, 0)
    a.sort()
    a.resize(2, refcheck=False)
    assert floats(a) == [0, 1]
    assert objects.live == 2
    a.resize(4, refcheck=False)
    a[3] = 7.0
    assert floats(a) == [0, 1, 0, 7]


def test_arrays_outlive_the_block_and_its_thread(legacy, objects):
    made = []

    def work():
        with denizen.handler():
            made.append(np.arange(100.0).astype(legacy.dtype))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (a,) = made
    assert floats(a) == list(range(100))
    a.resize(50, refcheck=False)
    a[:10] = a[10:20]
    assert objects.live == 50
    del a
    made.clear()
    assert objects.live == 0


def test_threads_work_on_arrays_of_their_own_and_on_one_that_they_share(legacy, objects):
    with denizen.handler():
        shared = np.zeros(64, dtype=legacy.dtype)
    failures = []

    def work(number):
        try:
            with denizen.handler():
                for step in range(30):
                    own = np.full(200, float(number)).astype(legacy.dtype)
                    total = own + own + np.arange(200.0)
                    total[::-1].sort()
                    shared[number::8] = total[:8]
                    assert float(np.add.reduce(own)) == 200 * number
                    total.resize(step, refcheck=False)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(value > 0 for value in floats(shared))
    assert objects.live == 64


def test_failures_leave_arrays_usable_and_lose_nothing(make, objects):
    a = make(1, 2, 3)
    for operation in (lambda: a + a, lambda: a.__setitem__(1, 5.0)):
        objects.legacy.fail_once()
        with pytest.raises(MemoryError):
            operation()
        assert objects.live == 3
    objects.legacy.fail_once()
    # NumPy does not ask whether copyswap failed.
    with pytest.raises(SystemError) as caught:
        a.copy()
    assert isinstance(caught.value.__cause__, MemoryError)
    del caught
    assert objects.live == 3
    assert floats(a) == [1, 2, 3]


# ---- foreign memory ------------------------------------------------------------------------------


def test_objects_in_numpys_buffers_are_few_counted_and_swept(make, legacy, objects):
    a = np.arange(20_000.0).astype(legacy.dtype)
    for _ in range(20):
        b = a + np.arange(20_000.0)
        assert 0 < objects.lent <= 1 << 16
    assert float(b[-1]) == 2 * 19_999
    lent = objects.lent
    assert legacy.sweep() == lent
    assert objects.lent == 0
    assert float((a + np.ones(20_000))[5]) == 6


def test_an_array_made_outside_of_a_block_works_until_it_is_swept(legacy, objects):
    a = np.arange(5.0).astype(legacy.dtype)
    assert not legacy.in_segment(a)
    assert objects.live == 0
    assert objects.lent > 0
    a[1] = 7.0
    assert floats(a) == [0, 7, 2, 3, 4]
    assert floats(a[::-1].copy()) == [4, 3, 2, 7, 0]
    a.sort()
    assert floats(a) == [0, 2, 3, 4, 7]
    a[4] = 1.0
    assert floats(a) == [0, 2, 3, 4, 1]
    legacy.sweep()
    with pytest.raises(ValueError, match=CHANGED):
        floats(a)
    a[:] = 1.0
    assert floats(a) == [1] * 5


def test_large_arrays_made_outside_of_a_block_lose_their_oldest_elements_and_say_so(
    legacy, objects
):
    a = np.zeros(70_000, dtype=legacy.dtype)
    a[:] = np.ones(70_000)
    assert objects.lent <= 1 << 16
    assert float(a[-1]) == 1
    with pytest.raises(ValueError, match=CHANGED):
        a[0]
    assert objects.stale > 0


# ---- what NumPy copies as bytes ------------------------------------------------------------------

# Operations that copy elements of legacy dtypes with memcpy, without asking copyswap.
RAW = {
    "take": (lambda a: np.take(a, [0, 0, 2]), [1, 1, 3]),
    "repeat": (lambda a: np.repeat(a, 2), [1, 1, 2, 2, 3, 3]),
    "tile": (lambda a: np.tile(a, 2), [1, 2, 3, 1, 2, 3]),
    "compress": (lambda a: np.compress([1, 0, 1], a), [1, 3]),
    "choose": (lambda a: np.choose([0, 0, 0], [a]), [1, 2, 3]),
    "accumulate, first element": (lambda a: np.add.accumulate(a)[:1], [1]),
    "frombuffer": (lambda a: np.frombuffer(a.tobytes(), dtype=a.dtype).copy(), [1, 2, 3]),
}


@pytest.mark.parametrize("name", RAW)
def test_a_raw_copy_is_right_as_long_as_its_original_is(make, objects, name):
    operation, expected = RAW[name]
    a = make(1, 2, 3)
    result = operation(a)
    assert floats(result) == expected
    if name != "frombuffer":
        assert objects.live <= 6, "nothing was built for the raw copies"
    own = result.copy()
    result[0] = 9.0
    assert floats(a) == [1, 2, 3], "writing a raw copy leaves its original alone"
    assert floats(result) == [9, *expected[1:]]
    a[:] = 0.0
    del a
    assert floats(own) == expected, "a real copy is independent"


RAW_KEPT = {name: RAW[name] for name in ["take", "repeat", "tile", "compress"]}


@pytest.mark.parametrize("end", ["changed", "freed"])
@pytest.mark.parametrize("name", RAW_KEPT)
def test_a_raw_copy_whose_original_is_gone_is_an_error_and_no_crash(make, objects, name, end):
    operation, expected = RAW_KEPT[name]
    a = make(1, 2, 3)
    result = operation(a)
    stale = objects.stale
    if end == "changed":
        a[:] = 7.0
    else:
        del a
        gc.collect()
    with pytest.raises(ValueError, match=CHANGED):
        floats(result)
    with pytest.raises(ValueError, match=CHANGED):
        result + result
    with pytest.raises(ValueError, match=CHANGED):
        floats(result.copy())
    assert objects.stale > stale
    result[:] = 5.0
    assert floats(result) == [5] * len(expected)


PUTS = {
    "put": (lambda a, b: np.put(a, [0, 1], b), [7, 8, 3]),
    "putmask": (lambda a, b: np.putmask(a, [1, 1, 0], np.concatenate([b, b[:1]])), None),
    "take out": (lambda a, b: np.take(b, [0, 1, 0], out=a, mode="clip"), [7, 8, 7]),
}


@pytest.mark.parametrize("name", PUTS)
def test_a_raw_copy_over_a_live_element_loses_and_doubles_nothing(make, objects, name):
    operation, expected = PUTS[name]
    a, b = make(1, 2, 3), make(7, 8)
    operation(a, b)
    if expected is None:
        # The values came from a temporary array, which is gone.
        with pytest.raises(ValueError, match=CHANGED):
            floats(a)
        expected = [4, 5, 3]
        a[:2] = np.array([4.0, 5.0])
    assert floats(a) == expected
    assert objects.live == 5, "what lay under the raw copy lives until its place is used again"
    a[0] = 1.0
    assert floats(a) == [1, *expected[1:]]
    assert floats(b) == [7, 8]
    del b
    assert objects.live == 3


def test_putmask_from_an_array_that_stays_is_right(make, objects):
    a, b = make(1, 2, 3), make(7, 8, 9)
    np.putmask(a, [1, 0, 1], b)
    assert floats(a) == [7, 2, 9]
    assert floats(a.copy()) == [7, 2, 9]


def test_values_that_numpy_converts_for_put_are_gone_with_its_temporary_array(make, objects):
    a = make(1, 2, 3)
    np.put(a, [0], [5.0])
    with pytest.raises(ValueError, match=CHANGED):
        a[0]
    assert floats(a[1:]) == [2, 3]


def test_shuffle_swaps_bytes_and_loses_nothing(make, objects):
    a = make(*range(100))
    np.random.default_rng(1).shuffle(a)
    assert sorted(floats(a)) == list(range(100))
    a[:] = a[::-1].copy()
    assert sorted(floats(a)) == list(range(100))
    assert objects.live == 100


def test_pickle_carries_bytes_that_mean_nothing_elsewhere(make, objects):
    a = make(1, 2)
    data = pickle.dumps(a.view("V24"))
    back = pickle.loads(data).view(a.dtype)
    assert floats(back) == [1, 2], "in the same process they are raw copies"
    a[0] = 0.0
    with pytest.raises(ValueError, match=CHANGED):
        back[0]
    noise = bytearray(a.tobytes())
    noise[16] ^= 1
    other = np.frombuffer(bytes(noise), dtype=a.dtype)
    assert float(other[0]) == 0, "bytes that no process of ours wrote are a vacant element"


# ---- clear errors --------------------------------------------------------------------------------


def test_memory_takes_one_type_and_whole_cells(legacy, make):
    a = make(1, 2)
    message = r"holds objects of legacy\.Counted; it cannot hold legacy\.Exacting"
    with pytest.raises(TypeError, match=message):
        legacy.touch_at(a, 0, True)
    for offset in (1, 8, 23):
        with pytest.raises(ValueError, match=f"begins {offset} bytes into this memory of 48"):
            legacy.touch_at(a, offset, False)
    numbers = np.array([1, 2], dtype=denizen.Integer)
    with pytest.raises(TypeError, match=r"holds objects of denizen\.Integer"):
        legacy.touch_at(numbers, 0, False)
    assert floats(a) == [1, 2]


def test_a_field_of_a_structured_array_is_refused_where_no_cell_begins(legacy, block):
    a = np.zeros(2, dtype=[("x", legacy.dtype), ("y", float)])
    with pytest.raises(ValueError, match="begins 32 bytes into this memory of 64"):
        a["x"][1] = 1.0
    a["x"][0] = 2.0
    assert float(a["x"][0]) == 2


def test_a_type_without_a_default_is_stored_and_never_made_up(legacy, block, objects):
    a = np.zeros(48, dtype=np.uint8)
    with pytest.raises(denizen.VacantError, match=r"legacy\.Exacting has no default value"):
        legacy.touch_at(a, 0, True)
    legacy.store_exacting(a, 4.0)
    assert legacy.touch_at(a, 0, True) == 4
    with pytest.raises(denizen.VacantError):
        legacy.touch_at(a, 24, True)
    assert denizen.stats()["legacy.Exacting"]["live"] == 1
    del a
    assert denizen.stats()["legacy.Exacting"]["live"] == 0
