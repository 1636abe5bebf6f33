"""Several threads at once: arrays of their own, one array that all read, one that all write."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import ordered
from ..operation import Table

TABLE = Table("threads")
add = TABLE.add

THREADS = 4
ROUNDS = 20

ARITHMETIC = frozenset({"arithmetic"})
ORDERED = frozenset({"ordering"})


def together(work: Callable[[int], Any]) -> list[Any]:
    """What `work` returns in each of several threads that start at the same time."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> Any:
        barrier.wait(timeout=10)
        result = None
        for _ in range(ROUNDS):
            result = work(number)
        return result

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result() for future in [pool.submit(run, n) for n in range(THREADS)]]


def add_shared(name: str, work: Callable[[Any, int], Any], needs: frozenset[str]) -> None:
    """An operation that all threads do with one array that none of them changes."""

    def run(s: Subject) -> Any:
        shared = np.tile(s.a, 50)
        results = together(lambda number: work(shared, number))
        return shared[:10], [result[:20] if result.ndim else result for result in results]

    add(name, run, needs=needs)


NOTHING: frozenset[str] = frozenset()
add_shared("copy one array", lambda x, n: x.copy(), NOTHING)
add_shared("take from one array", lambda x, n: x.take([n, 5, 5]), NOTHING)
add_shared("slices of one array", lambda x, n: x[n::-1].copy(), NOTHING)
add_shared("add one array", lambda x, n: x + x, ARITHMETIC)
add_shared("sum one array", lambda x, n: np.add.reduce(x.reshape(50, 10), axis=0), ARITHMETIC)
add_shared("sort copies of one array", lambda x, n: np.sort(x), ORDERED)
add_shared("compare one array", lambda x, n: x == x, frozenset({"equality"}))
add(
    "arrays of their own",
    lambda s: together(lambda n: np.concatenate([s.a[n:], s.b[:n]])),
    lambda s: [np.concatenate([s.a[n:], s.b[:n]]) for n in range(THREADS)],
)
add("write parts of one array", lambda s: _parts(s))
add("write the same cells", lambda s: _same_cells(s), lambda s: True)
add("read while one writes", lambda s: _read_while_written(s), lambda s: True)
add("add in place to one array", lambda s: _add_parts(s), lambda s: _added(s), needs=ARITHMETIC)
add(
    "sort one array while others read",
    lambda s: _sort_while_read(s),
    lambda s: ordered(s.a),
    needs=ORDERED,
)
add("pass arrays between threads", lambda s: _passed(s), lambda s: s.a)
add("free in another thread", lambda s: _freed(s), lambda s: s.a)
add(
    "create in a new thread",
    lambda s: _created(s),
    lambda s: [s.zeros(5)] * THREADS,
    needs={"default"},
)
add("pickle in threads", lambda s: _pickled(s), lambda s: [s.a] * THREADS, needs={"codec"})


def _parts(s: Subject) -> Any:
    x = s.empty(10 * THREADS)

    def write(n: int) -> None:
        x[10 * n : 10 * n + 10] = s.b

    s.b  # noqa: B018 - made before the threads start
    together(write)
    return x


def _same_cells(s: Subject) -> Any:
    """Each cell holds a value that one of the threads wrote."""
    x, sources = s.a.copy(), (s.a, s.b)

    def write(n: int) -> None:
        x[:] = sources[n % 2]

    together(write)
    texts = [{str(v) for v in pair} for pair in zip(s.a, s.b, strict=True)]
    return all(str(value) in pair for value, pair in zip(x, texts, strict=True))


def _read_while_written(s: Subject) -> Any:
    x, sources = s.a.copy(), (s.a, s.b)
    seen: list[Any] = []

    def work(n: int) -> None:
        if n == 0:
            x[:] = sources[len(seen) % 2]
        else:
            seen.append(x.copy())

    together(work)
    texts = [{str(v) for v in pair} for pair in zip(s.a, s.b, strict=True)]
    return all(str(v) in pair for y in seen for v, pair in zip(y, texts, strict=True))


def _add_parts(s: Subject) -> Any:
    x = np.tile(s.a, THREADS)

    def work(n: int) -> None:
        part = x[10 * n : 10 * n + 10]
        np.add(part, s.b, out=part)

    s.b  # noqa: B018 - made before the threads start
    together(work)
    return x


def _added(s: Subject) -> Any:
    x = s.a.copy()
    for _ in range(ROUNDS):
        x += s.b
    return np.tile(x, THREADS)


def _sort_while_read(s: Subject) -> Any:
    x = s.a.copy()

    def work(n: int) -> None:
        if n == 0:
            x[::-1].sort()
        else:
            x.copy()

    together(work)
    return ordered(x)


def _passed(s: Subject) -> Any:
    box = [s.a.copy()]

    def work() -> None:
        box.append(box.pop().copy())

    for _ in range(THREADS):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return box[0]


def _freed(s: Subject) -> Any:
    boxes = [[s.a.copy()] for _ in range(THREADS)]
    threads = [threading.Thread(target=box.clear) for box in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return s.a


def _created(s: Subject) -> Any:
    return together(lambda n: np.zeros(5, dtype=s.dtype))


def _pickled(s: Subject) -> Any:
    import pickle

    data = pickle.dumps(s.a)
    return together(lambda n: pickle.loads(data))
