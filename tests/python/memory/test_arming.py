"""Our arrays get managed segments everywhere; no other handler is ever touched."""

import asyncio
import concurrent.futures
import contextvars
import gc
import threading
import tracemalloc

import numpy as np
import pytest
from support.handlers import OwnHandler, set_handler

import denizen
from denizen import Integer, _runtime

DEFAULT = denizen.handler_name()


def float_handler():
    return denizen.handler_name(np.zeros(3))


def assert_untouched(handler=DEFAULT):
    """The caller's handler is what it was, and float64 arrays are on it."""
    assert denizen.handler_name() == handler
    assert float_handler() == handler


def managed():
    a = np.zeros(4, dtype=Integer)
    a[1] = 2**100
    assert denizen.owner(a) == "managed" and denizen.handler_name(a) == "denizen"
    return a


@pytest.fixture(autouse=True)
def caller_keeps_handler():
    assert_untouched()
    yield
    assert_untouched()


def test_importing_installs_no_handler():
    assert _runtime._arming_works()
    assert DEFAULT == "default_allocator"


@pytest.mark.parametrize("make", [np.empty, np.zeros, np.ones])
@pytest.mark.parametrize("shape", [(), 0, 1, 7, (2, 0, 2), (3, 4), 100_000])
def test_every_creation_is_managed(make, shape):
    a = make(shape, dtype=Integer)
    assert denizen.owner(a) == "managed"
    expected = 1 if make is np.ones else 0
    assert (a == expected).all()
    assert_untouched()


def test_results_of_all_kinds_are_managed():
    a = np.array([3, 1, 2], dtype=Integer)
    for result in [
        a + 1, a.copy(), a[[0, 2]], a[a > 1], np.concatenate([a, a]), np.sort(a), a.astype(Integer),
        np.empty_like(a), np.full_like(a, 7), np.tile(a, 2), np.array(a), a.repeat(2), a.take([1]),
        np.where([True, False, True], a, -a), np.cumsum(a), a.reshape(3, 1) * a,
    ]:  # fmt: skip
        assert denizen.owner(result) == "managed"
    assert_untouched()


def failing_creations():
    huge = 2**50 // 8
    yield "negative", lambda: np.zeros(-1, dtype=Integer), ValueError
    yield "overflow", lambda: np.zeros((2**40, 2**40), dtype=Integer), (ValueError, MemoryError)
    yield "1 PiB", lambda: np.zeros(huge, dtype=Integer), MemoryError
    yield "1 PiB empty", lambda: np.empty(huge, dtype=Integer), MemoryError
    yield "too many dimensions", lambda: np.zeros((1,) * 100, dtype=Integer), ValueError
    yield "bad value", lambda: np.array([1, object()], dtype=Integer), TypeError
    yield "bad fill", lambda: np.full(3, object(), dtype=Integer), TypeError

    class Raising(np.ndarray):
        def __array_finalize__(self, obj):
            raise KeyError("no")

    yield "finalize", lambda: Raising((3,), dtype=Integer), KeyError

    class Constructor:
        def __int__(self):
            raise ZeroDivisionError

        __index__ = __int__

    yield "constructor", lambda: np.array([Constructor()], dtype=Integer), ZeroDivisionError


@pytest.mark.parametrize(
    ("create", "error"),
    [pytest.param(create, error, id=name) for name, create, error in failing_creations()],
)
def test_failing_creation_then_resize(create, error):
    for _ in range(3):
        with pytest.raises(error):
            create()
        assert_untouched()
        a = np.zeros(3, dtype=Integer)
        a[0] = 2**70
        with pytest.raises(error):
            create()
        a.resize(10, refcheck=False)
        assert a.tolist() == [2**70] + [0] * 9
        a.resize(1, refcheck=False)
        assert a.tolist() == [2**70]
        assert denizen.owner(a) == "managed"
        assert_untouched()


def test_creation_in_destructors_under_a_restless_collector():
    made = []

    class Cycle:
        def __init__(self):
            self.me = self
            self.array = np.zeros(2, dtype=Integer)

        def __del__(self):
            a = np.zeros(3, dtype=Integer)
            a[0] = 2**80
            made.append(denizen.owner(a))
            made.append(float_handler())

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            Cycle()
            a = managed()
            a.resize(20, refcheck=False)
            assert float_handler() == DEFAULT
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert len(made) == 400 and set(made) == {"managed", DEFAULT}


def test_new_threads_and_executors():
    results = []

    def work():
        results.append(denizen.owner(managed()))
        results.append(float_handler())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: work(), range(50)))
    contextvars.Context().run(work)
    contextvars.copy_context().run(work)
    assert len(results) == 120 and set(results) == {"managed", DEFAULT}


def test_asyncio_tasks_and_generators():
    async def task(n):
        a = managed()
        await asyncio.sleep(0)
        b = a + n
        await asyncio.sleep(0)
        return denizen.owner(b), float_handler()

    async def main():
        return await asyncio.gather(*(task(n) for n in range(20)))

    assert set(asyncio.run(main())) == {("managed", DEFAULT)}

    def generator():
        while True:
            yield denizen.owner(managed()), float_handler()

    values = generator()
    assert {next(values) for _ in range(5)} == {("managed", DEFAULT)}


def test_a_users_own_handler_stays_around_our_arrays():
    previous = set_handler(OwnHandler().capsule)
    try:
        assert_untouched("users_own")
        a = managed()
        b = np.array([2**90, 1], dtype=Integer) * 3
        b.resize(40, refcheck=False)
        assert denizen.owner(b) == "managed"
        assert_untouched("users_own")
        with pytest.raises(MemoryError):
            np.zeros(2**47, dtype=Integer)
        assert_untouched("users_own")
        floats = np.arange(3.0)
        assert denizen.handler_name(floats) == "users_own"
    finally:
        set_handler(previous)
    # Each array goes by the handler that made it.
    del a, b, floats


def test_structured_arrays_live_by_their_cells_in_managed_memory():
    dtype = np.dtype([("n", Integer.dtype), ("x", "f8")])
    a = np.zeros(5, dtype=dtype)
    a["n"] = [1, 2**80, 3, 4, 5]
    a["x"] = np.arange(5.0) + 0.5
    assert denizen.owner(a["n"]) == "managed" and not denizen.inspect(a["n"]).bitmap
    b = a.copy()
    a["n"][1] = 7
    assert b["n"].tolist() == [1, 2**80, 3, 4, 5] and b["x"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    del a
    assert b["n"][1] == 2**80
    assert_untouched()


def test_tracemalloc_counts_our_memory():
    tracemalloc.start()
    try:
        domain = np.lib.tracemalloc_domain
        a = np.zeros(10_000, dtype=Integer)
        snapshot = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.DomainFilter(True, domain)]
        )
        assert sum(trace.size for trace in snapshot.traces) >= a.nbytes
        del a
        snapshot = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.DomainFilter(True, domain)]
        )
        assert sum(trace.size for trace in snapshot.traces) < 80_000
    finally:
        tracemalloc.stop()


def test_life_without_arming():
    _runtime._set_arming(False)
    try:
        a = np.array([2**100, 0, 5], dtype=Integer)
        assert denizen.owner(a) == "foreign" and denizen.handler_name(a) == DEFAULT
        b = np.concatenate([a, a * a])
        b.resize(50, refcheck=False)
        assert b[:6].tolist() == [2**100, 0, 5, 2**200, 0, 25] and not b[6:].any()
        assert np.sort(b)[-1] == 2**200
    finally:
        _runtime._set_arming(True)
    assert denizen.owner(managed()) == "managed"
    # Made on one side, freed on the other.
    del a, b
