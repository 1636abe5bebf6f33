"""Measures the figures that the project promises, and writes docs/performance.md.

Usage: python benches/arrays.py [--rust DIRECTORY] [--cpp FILE] [--output FILE] [--printed FILE]

DIRECTORY holds what the Rust benchmarks printed (`.ci/bench` leaves it there): figures.tsv, and a
text file for each of the others.
"""

import argparse
import itertools
import operator
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import report
from report import Row
from timing import Workers, fastest

import denizen

INTEGER = np.dtype(denizen.Integer)
RATIONAL = np.dtype(denizen.Rational)

#: Bytes of a segment in front of the init bitmap.
HEADER = 128

Operation = Callable[[np.ndarray, np.ndarray], object]
ARITHMETIC: dict[str, Operation] = {
    "a + b": operator.add,
    "a * b": operator.mul,
    "a < b": operator.lt,
}
ORDER_AND_SUM: dict[str, Operation] = {
    "a.sum()": lambda a, _: a.sum(),
    "np.sort(a)": lambda a, _: np.sort(a),
}


def float64_unharmed() -> Iterator[Row]:
    """Arrays of other dtypes, in processes that did and did not import denizen."""
    for text, expression in [("`np.empty(n)`", "np.empty(size)"), ("`a + b`", "a + b")]:
        workers = Workers(expression, "import denizen")
        for size in (1, 1000, 10**6):
            after, before, again = workers.fastest(size)
            what = f"float64 {text} after `import denizen` and before, n = {size:,}"
            chance = f"two groups of equal processes differ by {abs(again / before - 1):.1%} here"
            yield Row(what, after, before, most=1.02, note=chance)
        workers.close()


def creation() -> Iterator[Row]:
    """Arrays made and dropped."""
    for make, count, aim in [(np.empty, 10, 2.5), (np.zeros, 1000, 2), (np.zeros, 10**6, 1.1)]:
        times = fastest(partial(make, count, INTEGER), partial(make, count, float))
        what = f"`np.{make.__name__}({count:,})` of Integer and of float64, made and dropped"
        yield Row(what, *times, most=aim)


def copy_loop() -> Iterator[Row]:
    """What one call of the copy loop costs beside the copy itself: fancy indexing makes one call an
    element, a contiguous copy one for all."""
    count = 10**5
    floats = np.arange(count, dtype=float)
    integers = np.arange(count).astype(INTEGER)
    index = np.arange(count)
    times = fastest(lambda: integers[index], lambda: floats[index], integers.copy)
    ours, peer, own = (time / count for time in times)
    yield Row(
        "fixed cost of a copy-loop call of one element (fancy indexing of 100,000)",
        ours - peer - own,
        None,
        limit=50e-9,
    )


def core(path: Path) -> Iterator[Row]:
    """What benches/figures.rs printed."""
    figures = {}
    for line in path.read_text().splitlines():
        if line.count("\t") == 2:
            name, ours, peer = line.split("\t")
            figures[name] = (float(ours) * 1e-9, float(peer) * 1e-9 if peer else None)
    objects = {"word": "small objects", "heap": "objects with heap data"}
    for work, kind, count in itertools.product(("free", "materialise"), objects, (1000, 100_000)):
        text = "free of a full segment" if work == "free" else "materialising a segment"
        peer_text = "Vec" if work == "free" else "vec![T::default(); n]"
        ours, peer = figures[f"{work} {kind} {count}"]
        yield Row(f"{text} of {count:,} {objects[kind]}, each; `{peer_text}`", ours, peer, most=1.1)
    for kind, base, limit in [("hit", 1, 10e-9), ("miss", 0, 5e-9)]:
        alone, _ = figures[f"{kind} {base}"]
        crowd, _ = figures[f"{kind} 100000"]
        yield Row(f"owner map: {kind} with {base} live", alone, None, limit=limit, about=True)
        yield Row(f"owner map: {kind} with 100,000 live", crowd, None, limit=limit, about=True)


def against_objects(
    element: np.dtype, values: list[list[object]], operations: dict[str, Operation], turns: int
) -> Iterator[tuple[str, list[float]]]:
    """The operations on arrays of an element type and on object arrays of the same values: the
    expression, and seconds for both."""
    ours = [np.array(each, dtype=element) for each in values]
    objects = [np.array(each, dtype=object) for each in values]
    for expression, operation in operations.items():
        results = [np.asarray(operation(*sides), dtype=object) for sides in (ours, objects)]
        assert np.array_equal(*results), expression
        sides = (partial(operation, *ours), partial(operation, *objects))
        yield expression, fastest(*sides, turns=turns)


def integers() -> Iterator[Row]:
    """Integer against Python ints in object arrays: small values with small results, and values
    up to the limit of what a cell holds itself."""
    count = 10**5
    for bits, text in [(31, "results below 2^62"), (62, "operands below 2^62")]:
        chooser = random.Random(bits)
        values = [[chooser.randrange(1 - 2**bits, 2**bits) for _ in range(count)] for _ in "ab"]
        operations = ARITHMETIC | ORDER_AND_SUM
        for expression, times in against_objects(INTEGER, values, operations, turns=12):
            what = f"Integer and Python int, `{expression}`, {text}, n = {count:,}"
            yield Row(what, *times, least=10)
        a = np.array(values[0], dtype=INTEGER)
        cells = a.nbytes + denizen.inspect(a).heap_bytes + count // 8 + HEADER
        objects = 8 * count + sum(map(sys.getsizeof, values[0]))
        what = f"Integer and Python int below 2^{bits}: memory of an element"
        yield Row(what, cells / count, objects / count, most=0.25, unit="B")


def rationals() -> Iterator[Row]:
    """Rational against Fraction in object arrays, small parts."""
    count = 10**4
    chooser = random.Random(7)

    def fraction() -> Fraction:
        return Fraction(chooser.randrange(-999, 1000), chooser.randrange(1, 1000))

    values = [[fraction() for _ in range(count)] for _ in "ab"]
    for expression, times in against_objects(RATIONAL, values, ARITHMETIC, turns=6):
        what = f"Rational and Fraction, `{expression}`, parts below 1000, n = {count:,}"
        yield Row(what, *times, least=10)


def threads() -> Iterator[Row]:
    """Two threads against one, by the clock on the wall: the best of many short runs, since both
    processors have to be free for a run."""
    count = 20_000
    chooser = random.Random(3)
    a, b = (
        np.array([chooser.getrandbits(1000) for _ in range(2 * count)], dtype=INTEGER) for _ in "ab"
    )
    halves = [slice(None, count), slice(count, None)]
    whole = np.zeros(2 * count, dtype=INTEGER)
    disjoint = [(a[half].copy(), b[half].copy(), np.zeros(count, dtype=INTEGER)) for half in halves]
    shared = [(a[half], b[half], whole[half]) for half in halves]
    for text, jobs in [("disjoint arrays", disjoint), ("two halves of one array", shared)]:
        one, two = one_and_two_threads(jobs)
        yield Row(f"two threads and one, 1000-bit `a * b` on {text}", two, one, least=1.8)


def one_and_two_threads(jobs: list[tuple[np.ndarray, ...]]) -> list[float]:
    """Seconds that one thread takes for both jobs, and two threads with a job each."""
    runs = 60
    barrier = threading.Barrier(3)

    def work(job: tuple[np.ndarray, ...]) -> None:
        a, b, result = job
        np.multiply(a, b, out=result)

    def other(job: tuple[np.ndarray, ...]) -> None:
        for _ in range(runs):
            barrier.wait()
            work(job)
            barrier.wait()

    others = [threading.Thread(target=other, args=(job,)) for job in jobs]
    for thread in others:
        thread.start()
    best = [float("inf"), float("inf")]
    for _ in range(runs):
        start = time.perf_counter()
        for job in jobs:
            work(job)
        best[0] = min(best[0], time.perf_counter() - start)
        start = time.perf_counter()
        barrier.wait()
        barrier.wait()
        best[1] = min(best[1], time.perf_counter() - start)
    for thread in others:
        thread.join()
    return best


def main() -> None:
    """Measures and writes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rust", type=Path)
    arguments.add_argument("--cpp", type=Path, help="what the benchmark of C++ numbers printed")
    arguments.add_argument("--output", type=Path)
    arguments.add_argument("--printed", type=Path, help="where to keep what the others printed")
    given = arguments.parse_args()
    busy = [os.getloadavg()[0]]
    parts = [float64_unharmed(), creation(), copy_loop()]
    if given.rust:
        parts.append(core(given.rust / "figures.tsv"))
    parts += [integers(), rationals(), threads()]
    rows = []
    for row in itertools.chain(*parts):
        print(row.line(), flush=True)
        rows.append(row)
    busy.append(os.getloadavg()[0])
    if given.output:
        given.output.write_text(report.page(rows, max(busy)))
    if given.printed:
        others = sorted(given.rust.glob("*.txt")) if given.rust else []
        given.printed.write_text(report.printed(others, given.cpp, max(busy)))


if __name__ == "__main__":
    main()
