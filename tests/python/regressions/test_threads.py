"""Threads: arrays made, used, resized and ended by several, and code that comes back."""

import contextvars
import threading
import warnings

import numpy as np
import pytest
from support.kind import every, every_copyable
from support.threads import in_threads

import denizen


@pytest.mark.regression("T28", "numpy/numpy#19663")
@every_copyable
def test_threads_and_contexts_without_a_handler_make_managed_arrays(kind):
    results = []

    def work():
        a = np.empty(5, dtype=kind.element)
        a[:] = kind.make(5)
        results.append((denizen.owner(a), kind.read(a), denizen.handler_name()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    contextvars.Context().run(work)
    before = denizen.handler_name()
    work()
    expected = ("managed", kind.read(kind.make(5)), "default_allocator")
    assert results == [expected] * 3
    assert denizen.handler_name() == before == denizen.handler_name(np.empty(3))


# An array may die in another thread, or in another context, than the one that made it.
@pytest.mark.regression("T28")
@every_copyable
def test_arrays_die_in_any_thread(kind):
    def work():
        arrays = [kind.make() for _ in range(10)]
        arrays += [a[::2] for a in arrays]
        thread = threading.Thread(target=arrays.clear)
        thread.start()
        thread.join()

    _, change = kind.counted(work)
    assert change["constructed"] == change["destroyed"]


@pytest.mark.regression("T43", "numpy/numpy#27199", "numpy/numpy#31415", "numpy/numpy#28813")
@every_copyable
def test_threads_that_read_and_write_lose_and_invent_nothing(kind):
    # NumPy keeps the GIL for fewer than 500 elements.
    size, rounds = 600, 3
    a = kind.make(size)
    values = kind.make()
    texts = set(kind.read(values))

    def writes(value):
        def work():
            # Whole and in part, forwards and backwards: some cells at once with other threads.
            views = (a, a[::-1], a[50:550], a[::2])
            for i in range(rounds):
                view = views[(value + i) % len(views)]
                view.fill(values[value % 4])
                np.copyto(view, a[::-1].copy()[: len(view)])
                view[i::7] = values[:1]
                view[:500:9] = view[1:501:9].copy()

        return work

    def reads():
        for _ in range(rounds):
            assert set(kind.read(a.copy()[::97])) <= texts
            assert set(kind.read(a[[5, 17, 300]])) <= texts
            assert set(kind.read(np.concatenate([a[::-1], a])[::131])) <= texts

    assert in_threads([reads] * 8) == []
    assert in_threads([writes(i) for i in range(8)]) == []
    assert (
        in_threads([reads, writes(0), reads, writes(1), reads, writes(2), reads, writes(3)]) == []
    )
    assert set(kind.read(a)) <= texts
    assert len(kind.read(a)) == size


# A resize beside users of the array is refused, or done when there is none.
@pytest.mark.regression("T43")
@every_copyable
def test_resize_beside_threads_that_use_the_array_is_refused_or_whole(kind):
    holder = [kind.make(700)]
    texts = {*kind.read(kind.make()), kind.default}

    def resizes():
        for i in range(20):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    holder[0].resize(600 + 100 * (i % 3))
            except ValueError as error:
                assert "refcheck" in str(error) or "referenc" in str(error)
            except denizen.BorrowError as error:
                assert "cannot be resized" in str(error)

    def uses():
        for _ in range(10):
            # What a resize adds holds nothing yet, which no copy minds.
            assert set(kind.read(holder[0].copy()[:600:59])) <= texts

    assert in_threads([resizes, *[uses] * 6, resizes]) == []
    assert set(kind.read(holder.pop()[:600])) <= texts


@pytest.mark.regression("T44", "numpy/numpy#31682")
@every(lambda kind: kind.adds)
def test_loops_over_the_same_arrays_in_any_order_end(kind):
    for count in (2, 3, 4):
        arrays = [kind.make(600) for _ in range(count)]

        def work(first, arrays=arrays, count=count):
            def run():
                # Half of the threads go the other way round.
                way = 1 if first % 2 else -1
                x, y, z = (arrays[(first + way * i) % count] for i in range(3))
                for _ in range(3):
                    np.add(x, y, out=z)
                    np.copyto(y, x)
                    np.copyto(z, kind.make(600))
                    x[:] = kind.make(600)

            return run

        assert in_threads([work(i) for i in range(8)]) == []


# No lock is held while Python code runs.
@pytest.mark.regression("T44")
@every(lambda kind: kind.copyable and kind.build is None)
def test_an_assignment_whose_values_use_the_array_ends(kind):
    a = kind.make()
    texts = kind.read(a)

    class Comes:
        """A sequence of values that looks at the array, and writes to it, while it is read."""

        def __len__(self):
            return 8

        def __getitem__(self, index):
            if index >= 8:
                raise IndexError
            a[7] = a[0]
            assert len(a.copy()) == 8 and kind.read(a)[7] == kind.read(a)[0]
            return kind.sources[0]

    a[:] = Comes()
    assert kind.read(a) == texts[:1] * 8

    def generator():
        for source in kind.sources * 8:
            a.sort() if kind.ordered else a.copy()
            yield source

    b = np.fromiter(generator(), dtype=kind.element)
    assert len(b) == 8 * len(kind.sources)

    def again():
        a[:] = Comes()

    assert in_threads([again] * 4) == []


@pytest.mark.regression("T45", "numpy/numpy#6581")
@every(lambda kind: "type" in kind.takes)
def test_a_cycle_through_an_element_is_a_leak_until_it_is_broken(kind):
    """Elements are not traversed by the garbage collector, which the documentation says."""
    import gc
    import weakref

    class Holds:
        def __call__(self, x):
            return x

    a = np.zeros(2, dtype=kind.element)
    holder = Holds()
    holder.array = a
    a[0] = holder
    seen = weakref.ref(holder)
    del holder
    gc.collect()
    assert seen() is not None and denizen.inspect(a).live == 1
    view = seen().array
    del a
    gc.collect()
    assert seen() is not None, "still held by its element"
    assert kind.stats()["live"] >= 1
    view[:] = np.zeros(2, dtype=kind.element)
    gc.collect()
    assert seen() is None


@pytest.mark.regression("T48", "numpy/numpy#30181")
@every_copyable
def test_resize_under_errors_for_warnings_is_whole_or_not_done(kind):
    a = kind.make()
    texts = kind.read(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (3000, 3, 8, 0, 8):
            before = len(a)
            try:
                a.resize(size, refcheck=False)
            except DeprecationWarning:
                assert len(a) == before
            else:
                assert len(a) == size
            kept = min(len(a), before, 8)
            assert kind.read(a[:kept]) == texts[:kept]
            if len(a):
                a[:] = kind.make(len(a))
        with pytest.raises(ValueError):
            a.resize(-3, refcheck=False)
