"""Arrays of reals against a plain C++ loop over std::vector<mp::real>, and against object arrays of
gmpy2.mpfr: nanoseconds an element, and how many times the loop and the objects take.

    PYTHONPATH=<build>/modules taskset -c 0 python bench.py [elements] [bits] [rounds]

Each figure is processor time, the fastest of several runs; loop, array and objects take turns, so
that a machine with other work slows all three.
"""

import sys
import time

import gmpy2
import numpy as np
import real
import real_loop

RUNS = 3


def fastest(work, prepare=lambda: None):
    """Fastest of RUNS runs, in seconds of processor time; what `prepare` makes is passed on."""
    best = float("inf")
    for _ in range(RUNS):
        made = [prepare()]
        start = time.thread_time_ns()
        result = work(made)
        best = min(best, time.thread_time_ns() - start)
        # What it returned dies here, outside the measured time.
        del made, result
    return best * 1e-9


def operations(x, y, out):
    """Name and work of each operation; the operands are arrays of either kind."""
    count, first = len(x), x[0]
    return {
        "construct": (lambda _: np.full(count, first, dtype=x.dtype), None),
        "copy": (lambda _: x.copy(), None),
        "add": (lambda _: x + y, None),
        "add_out": (lambda _: np.add(x, y, out=out), None),
        "sum": (lambda _: x.sum(), None),
        "less": (lambda _: x < y, None),
        "sort": (lambda made: made[0].sort(kind="stable"), lambda: x.copy()),
        # An object array shares its elements: take new ones.
        "destroy": (lambda made: made.clear(), lambda: x + 0),
    }


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    bits = int(sys.argv[2]) if len(sys.argv) > 2 else 113
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    # First of all, so that the heap memory of their elements lies in the order of the elements, as
    # that of the loop's vectors does.
    arrays = [np.full(count, real.make(1, bits)) for _ in range(3)]
    gmpy2.get_context().precision = bits
    rng = np.random.default_rng(1)
    values = [rng.standard_normal(count).tolist() for _ in range(2)]
    for array, v in zip(arrays, values, strict=False):
        array[:] = real.with_precision(np.array(v).astype(real.real), bits) / 3
    objects = [np.array([gmpy2.mpfr(v) / 3 for v in values[i]], dtype=object) for i in range(2)]
    objects.append(objects[0] + objects[1])
    ours, theirs = operations(*arrays), operations(*objects)
    print(f"{count} elements of {bits} bits, ns an element")
    print(
        f"{'':10} {'C++ loop':>9} {'array':>9} {'objects':>9} {'array/loop':>11} {'objects/array':>14}"
    )
    for name, (work, prepare) in ours.items():
        times = [float("inf")] * 3
        for _ in range(rounds):
            object_work, object_prepare = theirs[name]
            for index, measured in enumerate(
                (
                    getattr(real_loop, name)(*values, bits, RUNS),
                    fastest(work, prepare or (lambda: None)),
                    fastest(object_work, object_prepare or (lambda: None)),
                )
            ):
                times[index] = min(times[index], measured)
        loop, array, object_ = (1e9 * t / count for t in times)
        print(
            f"{name:10} {loop:9.1f} {array:9.1f} {object_:9.1f} "
            f"{array / loop:10.2f}x {object_ / array:13.1f}x"
        )


if __name__ == "__main__":
    main()
