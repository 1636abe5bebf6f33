"""Regressions that need something of one type of a Rust client; the folder `regressions` has those of
every type."""

import gc
import weakref

import denizen_example as example
import denizen_raw as raw
import numpy as np
import pytest
from support.kinds import KINDS

import denizen


# By the type's own counter: assignment makes no object.
@pytest.mark.regression("T03")
@pytest.mark.parametrize("name", ["Bomb", "BoxedBomb", "InlineBomb"])
def test_assignment_to_objects_makes_no_new_ones(name):
    kind = KINDS[name]
    a, target = kind.make(), kind.make()[::-1].copy()
    before = raw.bombs()
    target[:] = a
    assert raw.bombs() == before
    assert kind.read(target) == kind.read(a)


@pytest.mark.regression("T29", "numpy/numpy#21531", "bluescarni/heyoka.py#129")
def test_arrays_of_other_dtypes_never_see_the_handler():
    for dtype in (float, "U5", object, "M8[s]", [("a", float)]):
        for array in (np.empty(1, dtype=dtype), np.zeros(10, dtype=dtype)):
            assert denizen.handler_name(array) == "default_allocator"
    kind = KINDS["Integer"]
    a = kind.make()
    assert (
        denizen.handler_name(a == a)
        == denizen.handler_name(a.astype(float))
        == ("default_allocator")
    )


@pytest.mark.regression("T30", "pybind/pybind11#1042", "wjakob/nanobind#488")
def test_objects_of_an_owner_are_ended_by_the_owner_alone():
    live = example.live_duals()
    a, address = example.adopt_duals([1.0, 2.0, 3.0, 4.0], [2, 2])
    assert a.__array_interface__["data"][0] == address
    a[0, 0] = 7.0
    a[1] = a[0] + a[1]
    assert example.live_duals() == live + 4
    views = [a[0], a.T, a.reshape(4)[::-1]]
    del a
    gc.collect()
    assert example.live_duals() == live + 4
    assert example.strided_view_of(views[2])[2] == [6, 10, 2, 7]
    views.clear()
    gc.collect()
    assert example.live_duals() == live


@pytest.mark.regression("T30", "pybind/pybind11#2271")
def test_memory_of_an_owner_never_grows():
    a, address = example.adopt_duals([1.0, 2.0], [2])
    with pytest.raises(ValueError, match="does not own|own its"):
        a.resize(100, refcheck=False)
    with pytest.raises((BufferError, ValueError, TypeError)):
        memoryview(a)
    assert a.__array_interface__["data"][0] == address
    assert example.slice_of(a) == [1, 2]
    copy = a.copy()
    copy.resize(3, refcheck=False)
    assert (denizen.owner(copy), denizen.owner(a)) == ("managed", "adopted")
    assert example.slice_of(copy) == [1, 2, 0]


@pytest.mark.regression("T32", "pybind/pybind11#1152", "pybind/pybind11#647")
def test_client_code_changes_the_arrays_own_memory():
    a = np.zeros((3, 4), dtype=example.Dual)
    a[:, 1] = 2.0
    live = example.live_duals()
    # Unbuilt cells are built before they are lent; the others are the array's own objects.
    example.scale(a[::2, ::-2], 5.0)
    values = [[0, 10, 0, 0], [0, 2, 0, 0], [0, 10, 0, 0]]
    assert example.strided_view_of(a)[2] == np.ravel(values).tolist()
    assert example.live_duals() >= live
    example.scale_slice(a[1], 0.5)
    values[1] = [0, 1, 0, 0]
    assert example.slice_of(a) == np.ravel(values).tolist()
    assert denizen.inspect(a).live == example.live_duals() - live + 3


@pytest.mark.regression("T34", "pybind/pybind11#115", "pybind/pybind11#487", "pybind/pybind11#1132")
def test_elements_that_only_move_are_moved_or_refused():
    kind = KINDS["Unique"]
    a = kind.make()
    expected = [int(text) for text in kind.read(a)]
    a.sort()
    assert [int(text) for text in kind.read(a)] == sorted(expected)
    refused = {
        "copy": lambda: a.copy(),
        "take": lambda: a.take([0, 1]),
        "fancy": lambda: a[[0, 1]],
        "mask": lambda: a[np.arange(8) > 3],
        "concatenate": lambda: np.concatenate([a, a]),
        "repeat": lambda: a.repeat(2),
        "fill": lambda: np.full(3, a[0]),
        "take out": lambda: a.__setitem__(1, a[0]),
        "assign": lambda: a.__setitem__(slice(0, 2), a[2:4]),
        "copyto": lambda: np.copyto(a[:2], a[2:4]),
        "flatten": lambda: a.reshape(2, 4).flatten(),
        "np.sort": lambda: np.sort(a),
    }
    for name, operation in refused.items():
        with pytest.raises(TypeError, match="copied|copyable"):
            operation()
            pytest.fail(name)
    assert a[0] is a[0] and int(str(a[0])) == min(expected)
    a.resize(20, refcheck=False)
    a.resize(6, refcheck=False)
    a[2] = "77"
    assert [int(text) for text in kind.read(a)] == [
        *sorted(expected)[:2],
        77,
        *sorted(expected)[3:6],
    ]
    rng = np.random.default_rng(3)
    rng.shuffle(a)
    assert sorted(int(text) for text in kind.read(a)) == sorted(
        [*sorted(expected)[:2], 77, *sorted(expected)[3:6]]
    )


# Of a type of Rust; `regressions/test_threads.py` has one of C++.
@pytest.mark.regression("T45", "numpy/numpy#6581")
def test_a_cycle_through_an_element_of_rust_is_a_leak_until_it_is_broken():
    class Holds:
        def __call__(self, word):
            return word

    def make():
        a = np.zeros(2, dtype=raw.Herald)
        holder = Holds()
        holder.array, a[0] = a, holder
        return weakref.ref(holder)

    with pytest.raises(denizen.LeakError, match="1 denizen_raw.Herald object"):
        with denizen.audit():
            seen = make()
    gc.collect()
    view = seen().array
    assert denizen.inspect(view).live == 1 and raw.singles() == 1
    view[0] = str
    gc.collect()
    assert seen() is None and raw.singles() == 1


@pytest.mark.regression("T39", "bevyengine/bevy#6615", "bluss/arrayvec#308")
def test_objects_of_size_zero_are_counted_exactly():
    kind = KINDS["Unit"]
    live = raw.units()
    a = np.zeros(10, dtype=raw.Unit)
    assert a.itemsize >= 1 and raw.units() == live
    a[:4] = kind.make(4)
    assert raw.units() == live + 4 and denizen.inspect(a).live == 4
    b = np.concatenate([a[:4], a[:2]])
    assert raw.units() == live + 10
    b.sort()
    b.resize(3, refcheck=False)
    assert raw.units() == live + 7
    a[:2] = b[:2]
    assert raw.units() == live + 7
    del a
    gc.collect()
    assert raw.units() == live + 3
    del b
    gc.collect()
    assert raw.units() == live


@pytest.mark.regression(
    "T39", "T40", "numpy/numpy#28318", "numpy/numpy#28399", "pybind/pybind11#754"
)
def test_over_aligned_objects_are_at_suitable_addresses_in_every_operation():
    kind = KINDS["Aligned"]
    astray = raw.astray()
    a = kind.make(100)
    b = (a + a)[::-1].copy()
    b.sort()
    b.resize(1000, refcheck=False)
    record = np.zeros(5, dtype=[("pad", "u1"), ("x", kind.element)])
    record["x"] = a[:5]
    old = np.setbufsize(16)
    try:
        assert np.add(a, np.arange(100)).astype(np.int64).tolist() == [
            int(text) + i for i, text in enumerate(kind.read(a))
        ]
    finally:
        np.setbufsize(old)
    assert kind.read(record["x"]) == kind.read(a[:5])
    assert kind.read(record[["x"]].copy()["x"][::2]) == kind.read(a[:5:2])
    assert raw.astray() == astray


@pytest.mark.regression("T41", "joblib/joblib#1254")
def test_objects_in_packed_records_are_read_at_suitable_addresses():
    kind = KINDS["Wide"]
    packed = np.zeros(5, dtype=[("pad", "u1"), ("x", kind.element)])
    assert packed.dtype.itemsize == kind.make(1).itemsize + 1
    packed["x"] = kind.make(5)
    assert kind.read(packed["x"]) == ["aligned 2"] * 5
    assert str(packed["x"][3]) == "aligned 2"
    packed["x"][::2] = packed["x"][1]
    assert kind.read(packed.copy()["x"]) == ["aligned 2"] * 5
    aligned = np.zeros(5, dtype=np.dtype([("pad", "u1"), ("x", kind.element)], align=True))
    aligned["x"] = packed["x"]
    assert kind.read(aligned["x"]) == ["aligned 2"] * 5
    assert denizen.stats()[kind.name]["live"] == 10
