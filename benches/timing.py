"""Time spent on a processor, both sides in turns: what else the machine does is left out as far as
that is possible."""

import subprocess
import sys
import time
from collections.abc import Callable

Side = Callable[[], object]


def fastest(*sides: Side, turns: int = 25, target: float = 4e-3) -> list[float]:
    """Seconds that one call of each side takes: the fastest of `turns` turns.

    A turn is as many calls as fill `target` seconds. The sides take turns, so that a machine that
    slows down does so for all of them, and the clock is that of this thread on its processor.
    """
    calls = [_calibrate(side, target) for side in sides]
    best = [float("inf")] * len(sides)
    for _ in range(turns):
        for index, side in enumerate(sides):
            best[index] = min(best[index], _turn(side, calls[index]))
    return best


def _turn(side: Side, calls: int) -> float:
    repeated = range(calls)
    start = time.thread_time()
    for _ in repeated:
        side()
    return (time.thread_time() - start) / calls


def _calibrate(side: Side, target: float) -> int:
    calls = 1
    while (spent := _turn(side, calls) * calls) < target / 2:
        calls *= 2 if spent > target / 100 else 10
    return max(1, round(calls * target / spent))


_WORKER = """
import sys
import numpy as np
{prepare}
from timing import _calibrate, _turn
for line in sys.stdin:
    size = int(line)
    a, b = np.full(size, 1.5), np.full(size, 2.5)
    side = lambda: {expression}
    calls = _calibrate(side, 2e-3)
    print(min(_turn(side, calls) for _ in range(5)), flush=True)
"""


class Workers:
    """Fresh processes that time one NumPy expression over float64 arrays `a` and `b` of `size`
    elements: a third of them after `prepare`, the others without. Equal processes differ by chance
    (where their memory lies), so there are several of each, and two thirds that are equal."""

    def __init__(self, expression: str, prepare: str, count: int = 4) -> None:
        self._sides = [
            [_start(_WORKER.format(prepare=code, expression=expression)) for _ in range(count)]
            for code in (prepare, "", "")
        ]

    def fastest(self, size: int, turns: int = 15) -> list[float]:
        """Seconds with `prepare`, and twice without: the fastest of all processes and turns."""
        best = [float("inf")] * len(self._sides)
        for _ in range(turns):
            for workers in zip(*self._sides, strict=True):
                for index, worker in enumerate(workers):
                    assert worker.stdin is not None and worker.stdout is not None
                    worker.stdin.write(f"{size}\n")
                    worker.stdin.flush()
                    best[index] = min(best[index], float(worker.stdout.readline()))
        return best

    def close(self) -> None:
        """Ends the processes."""
        for workers in self._sides:
            for worker in workers:
                worker.communicate()


def _start(code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=sys.path[0],
    )
