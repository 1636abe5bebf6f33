"""Regressions of C++ types that are hard to store: without a default, pointing to themselves,
over-aligned, of size zero, and those that count their lives.

After every test as many objects live as before it, and none was used that was no object: each checks
itself."""

import gc
import pickle
import time
import warnings

import cpp_types
import numpy as np
import pytest
from cpp_kinds import (
    ADOPTABLE,
    ALIGNED,
    ALL,
    DEFAULTS,
    FREE,
    INTEGERS,
    KINDS,
    THROWERS,
    array,
    counted,
    element,
    numbers,
)
from support.threads import in_threads
from support.transport import come_back

import denizen

VALUES = [5, -3, 17, 2, 40, 11, -8, 9]
every = pytest.mark.parametrize("name", INTEGERS)
every_default = pytest.mark.parametrize("name", DEFAULTS)
every_thrower = pytest.mark.parametrize("name", THROWERS)


# ---- memory of others ----------------------------------------------------------------------------


@pytest.mark.regression(
    "T30", "pybind/pybind11#1042", "pybind/pybind11#2271", "wjakob/nanobind#488"
)
@pytest.mark.parametrize("name", ADOPTABLE)
def test_elements_of_a_vector_are_ended_by_the_vector_alone(name):
    def work():
        a = cpp_types.adopt(name, VALUES)
        views = [a[::-2], a.reshape(2, 4).T]
        a[0] = a[1]
        a[2:4] = a[4:6] + a[:2]
        expected = [-3, -3, 37, 8, *VALUES[4:]]
        with pytest.raises(ValueError, match=r"does not own|own its"):
            a.resize(100, refcheck=False)
        del a
        gc.collect()
        assert cpp_types.counters(name)["live"] >= 8
        a = views.pop()
        assert numbers(a.T.ravel()) == expected
        a.T.ravel().sort()

    _, change = counted(name, work)
    assert change["live"] == change["own live"] == change["own misused"] == 0


@pytest.mark.regression("T21")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_arrays_come_back_from_other_processes(method):
    come_back(KINDS, method)


@pytest.mark.regression("T32", "pybind/pybind11#1152", "pybind/pybind11#647")
@every_default
def test_cpp_code_changes_the_arrays_own_memory(name):
    a = np.zeros((3, 4), dtype=element(name))
    a[:, 1] = array(name, [2])[0]
    cpp_types.raise_by(name, a[::2, ::-2], 5)
    model = [[0, 7, 0, 5], [0, 2, 0, 0], [0, 7, 0, 5]]
    assert numbers(a) == cpp_types.read(name, a) == np.ravel(model).tolist()
    if name in ADOPTABLE:
        cpp_types.raise_span(name, a[1], 1)
        assert cpp_types.read(name, a[1]) == [1, 3, 1, 1]
        with pytest.raises(ValueError, match="not contiguous"):
            cpp_types.raise_span(name, a[:, 1], 1)


@pytest.mark.regression("T35", "numpy/numpy#15944", "stack-of-tasks/eigenpy#370")
def test_unbuilt_cells_of_a_type_without_a_default_are_seen_and_never_read():
    name = "NoDefault"
    a = array(name, VALUES)
    for fresh in (np.empty(6, dtype=element(name)), np.zeros(6, dtype=element(name))):
        assert denizen.inspect(fresh).live == 0
        for work in (
            lambda x: x[1],
            lambda x: x < x,
            np.sort,
            lambda x: x.astype(np.int64),
            lambda x: x.astype(str),
            lambda x: x + x,
            lambda x: x @ x,
            lambda x: cpp_types.read(name, x),
            lambda x: cpp_types.raise_by(name, x, 1),
        ):
            with pytest.raises(denizen.VacantError):
                work(fresh)
        assert denizen.inspect(fresh).live == 0
        np.add(a[:6], a[2:], out=fresh)
        assert numbers(fresh) == [x + y for x, y in zip(VALUES, VALUES[2:], strict=False)]
    a.resize(11, refcheck=False)
    assert list(denizen.inspect(a).bitmap) == [True] * 8 + [False] * 3
    a[0:3] = a[6:9]
    assert denizen.inspect(a).live == 7
    assert numbers(a[:2]) == [-8, 9]


# ---- sizes and addresses -------------------------------------------------------------------------


@pytest.mark.regression("T39", "bevyengine/bevy#6615", "bluss/arrayvec#308")
def test_objects_without_a_member_are_counted_exactly():
    def work():
        a = np.zeros(10, dtype=cpp_types.Nothing)
        assert cpp_types.counters("Nothing")["live"] == before
        a[:4] = np.array(["nothing"] * 4).astype(cpp_types.Nothing)
        assert cpp_types.counters("Nothing")["live"] == before + 4
        b = np.concatenate([a[:4], a[:2]])
        assert cpp_types.counters("Nothing")["live"] == before + 10
        b.sort()
        b.resize(3, refcheck=False)
        assert cpp_types.counters("Nothing")["live"] == before + 7
        a[:2] = b[:2]
        assert (a[:3] == b).all()
        del a
        assert cpp_types.counters("Nothing")["live"] == before + 3

    gc.collect()
    before = cpp_types.counters("Nothing")["live"]
    _, change = counted("Nothing", work)
    assert change["live"] == change["own live"] == 0


@pytest.mark.regression(
    "T40", "numpy/numpy#28318", "numpy/numpy#28399", "numpy/numpy#5312", "pybind/pybind11#754"
)
@pytest.mark.parametrize("name", ALIGNED)
def test_over_aligned_objects_are_at_suitable_addresses_in_every_operation(name):
    a = array(name, np.arange(100))
    b = (a + a)[::-1].copy()
    b.sort()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        b.resize(1000, refcheck=False)
        b.resize(100, refcheck=False)
    assert numbers(b) == list(range(0, 200, 2))
    for align in (False, True):
        record = np.zeros(5, dtype=np.dtype([("pad", "u1"), ("x", element(name))], align=align))
        record["x"] = a[:5]
        assert numbers(record[["x"]].copy()["x"][::2]) == [0, 2, 4]
        assert numbers(record["x"] + record["x"]) == [0, 2, 4, 6, 8]
    old = np.setbufsize(16)
    try:
        assert numbers(np.add(a, np.arange(100))) == list(range(0, 200, 2))
    finally:
        np.setbufsize(old)
    assert numbers(pickle.loads(pickle.dumps(a))) == list(range(100))
    assert numbers(cpp_types.take(name, VALUES)) == VALUES
    assert cpp_types.counters(name)["misused"] == 0


@pytest.mark.regression("T41", "joblib/joblib#1254")
@every
def test_objects_in_packed_records_are_read_at_suitable_addresses(name):
    packed = np.zeros(5, dtype=[("pad", "u1"), ("x", element(name))])
    packed["x"] = array(name, VALUES[:5])
    packed["x"][::2] = packed["x"][1]
    assert numbers(packed.copy()["x"]) == [-3, -3, -3, 2, -3]
    packed["x"] += packed["x"]
    assert numbers(packed["x"]) == [-6, -6, -6, 4, -6]
    assert [int(str(x)) for x in packed["x"]] == [-6, -6, -6, 4, -6]
    with pytest.raises(ValueError, match="align"):
        cpp_types.read(name, packed["x"])
    # Bytes at an odd offset become no objects.
    with pytest.raises((TypeError, ValueError)):
        np.zeros(100, dtype="u1")[1:81].view(element(name))


# ---- threads -------------------------------------------------------------------------------------


@pytest.mark.regression("T43", "numpy/numpy#27199", "numpy/numpy#31415", "numpy/numpy#28813")
@every_thrower
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "disjoint"])
def test_threads_that_read_and_write_lose_and_invent_nothing(name, shared):
    # NumPy keeps the GIL for fewer than 500 elements.
    size, rounds = 1000, 12
    a = array(name, np.ones(8 * size, dtype=int))
    parts = [a if shared else a[i * size : (i + 1) * size] for i in range(8)]
    two = array(name, [2])[0]
    three = array(name, [3])[0]

    def writes(part, value):
        def work():
            for _ in range(rounds):
                part.fill(value)
                np.copyto(part, part[::-1].copy())

        return work

    def reads(part):
        def work():
            for _ in range(rounds):
                for value in set(numbers(part.copy())):
                    assert value in (1, 2, 3)
                for value in set(numbers(part + part)):
                    # Both operands are read at one time, or one of them earlier.
                    assert value in (2, 3, 4, 5, 6)

        return work

    works = [
        reads(part) if i % 2 else writes(part, two if i % 4 else three)
        for i, part in enumerate(parts)
    ]
    assert in_threads(works) == []
    assert in_threads([reads(part) for part in parts]) == []
    assert in_threads([writes(part, two) for part in parts]) == []
    if not shared:
        assert set(numbers(a)) == {2}
    assert set(numbers(a)) <= {1, 2, 3}
    assert cpp_types.counters(name)["misused"] == 0


@pytest.mark.regression("T43")
@every_thrower
def test_resize_beside_threads_that_use_the_array_is_refused_until_it_can_be_done(name):
    holder = [array(name, np.ones(1000, dtype=int))]
    users, refusals, end = [1] * 5, [], time.monotonic() + 15

    def resizes():
        done = 0
        # Users end before the watchdog, and then nothing is in the way.
        while done < 20 or users:
            size = 600 + 400 * (done % 3)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    holder[0].resize(size)
                done += 1
            except ValueError as error:
                assert "refcheck" in str(error) or "referenc" in str(error)
            except denizen.BorrowError as error:
                assert "cannot be resized" in str(error)
                refusals.append(size)
            time.sleep(1e-4)

    def uses(work):
        def run():
            try:
                done = 0
                # Loops of the others hold the GIL: they are over when another thread runs.
                while done < 40 or (name in FREE and not refusals and time.monotonic() < end):
                    done += 1
                    work()
                    time.sleep(1e-4)
            finally:
                users.pop()

        return run

    def add():
        assert set(numbers(holder[0] + holder[0])) <= {0, 2}

    def copy():
        holder[0].copy().sort()

    assert in_threads([resizes, *map(uses, [add, copy, add, copy, add])]) == []
    assert set(numbers(holder.pop())) <= {0, 1}
    assert refusals or name not in FREE


@pytest.mark.regression("T44", "numpy/numpy#31682")
@every_thrower
@pytest.mark.parametrize("count", [2, 3, 4])
def test_loops_over_the_same_arrays_in_any_order_end(name, count):
    arrays = [array(name, np.full(1000, i)) for i in range(count)]

    def work(first):
        def run():
            x, y, z = (arrays[(first + i) % count] for i in range(3))
            for _ in range(25):
                np.add(x, y, out=z)
                np.maximum(z, y, out=x)
                np.copyto(y, x)

        return run

    assert in_threads([work(i) for i in range(8)]) == []


# No lock is held while Python code runs.
@pytest.mark.regression("T44")
@every_thrower
def test_a_conversion_that_uses_the_same_array_again_ends(name):
    a = array(name, VALUES)

    def again():
        a[1] = a[2]
        return sum(numbers(a)) % 1000 + len(a.copy())

    def work():
        for _ in range(50):
            a[0] = again
            a[::3] = [again] * 3

    work()
    assert numbers(a)[1] == numbers(a)[2] == 17
    a[:] = array(name, VALUES)
    a[0] = lambda: 3
    assert numbers(a)[0] == 3
    with pytest.raises(ZeroDivisionError):
        a[0] = lambda: 1 // 0
    assert numbers(a)[0] == 3
    small = array(name, VALUES)

    def other():
        for _ in range(50):
            small[0] = lambda: numbers(small)[1]
            np.add(small, small[::-1], out=small)
            small[:] = a

    assert in_threads([other] * 4) == []


# What client code was lent is read by many and written by one, and no thread waits for it.
@pytest.mark.regression("T43")
@pytest.mark.parametrize("name", FREE)
def test_views_are_used_without_the_gil_by_several_threads(name):
    a = array(name, np.arange(5000) % 97)
    total, refused = sum(numbers(a)), []

    def reads():
        for _ in range(20):
            assert cpp_types.read_free(name, a) == total
            assert cpp_types.read_free(name, a[::-2][::-1]) == cpp_types.read_free(name, a[1::2])

    assert in_threads([reads] * 8) == []
    assert numbers(a) == (np.arange(5000) % 97).tolist()

    def writes():
        for _ in range(20):
            try:
                cpp_types.raise_free(name, a, 97)
            except denizen.BorrowError as error:
                refused.append(str(error))
            else:
                raised.append(97)

    def uses():
        for _ in range(20):
            try:
                assert {number % 97 for number in numbers(a[::50].copy())} <= set(range(97))
                a[:10] = a[10:20]
            except denizen.BorrowError as error:
                refused.append(str(error))

    raised = []
    assert in_threads([writes, uses] * 4) == []
    assert raised and {number % 97 for number in numbers(a)} <= set(range(97))
    assert all("lent" in text or "use" in text for text in refused)


# Loops of a thread-safe type let other threads run.
@pytest.mark.parametrize("name", FREE)
def test_the_counters_of_objects_made_by_many_threads_are_exact(name):
    def work():
        def run():
            a = array(name, np.arange(1000))
            for _ in range(10):
                b = (a + a) * a
                b.sort()
                assert numbers(b[-1:]) == [2 * 999 * 999]

        assert in_threads([run] * 8) == []

    _, change = counted(name, work)
    assert change["constructed"] == change["destroyed"] > 0
    assert change["live"] == change["own live"] == change["own misused"] == 0


# ---- dtypes --------------------------------------------------------------------------------------


@pytest.mark.regression("T46", "numpy/numpy#22900")
@pytest.mark.parametrize("name", ALL)
def test_dtypes_say_what_they_are_and_take_no_raw_bytes(name):
    dtype = np.dtype(element(name))
    full = f"cpp_types.{name}"
    assert dtype.name == dtype.str == str(dtype) == repr(dtype) == full
    assert (dtype.kind, dtype.char, dtype.byteorder) == ("E", "O", "|")
    assert np.issubdtype(dtype, element(name)) and not np.issubdtype(dtype, np.generic)
    assert dtype == element(name) and pickle.loads(pickle.dumps(dtype)) is dtype
    for letter in "?bBhHiIlLqQefdgFDGSUVO":
        levels = [np.can_cast(dtype, letter, level) for level in ("safe", "same_kind", "unsafe")]
        assert levels == sorted(levels)
    cells = np.empty(2, dtype)
    for source in (np.void(b"x"), np.zeros(2, "V8"), np.zeros(2, [("x", "i8")])):
        with pytest.raises(TypeError, match=f"raw bytes are no {full}"):
            cells[:] = source
    assert denizen.inspect(cells).live == 0
