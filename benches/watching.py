"""Measures what watching costs: integrity checks and audits, on and off, and off against another
build of denizen, one from before there were any.

Usage: python benches/watching.py [--baseline DIRECTORY]

DIRECTORY holds the package `denizen` of the build to compare with. Prints a Markdown table. All
sides take turns in one run, in processes of their own: the fastest of all turns counts.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import denizen

#: Prepare, and the expression that is timed.
CASES = {
    "`np.zeros(10)` made and dropped": ("", "np.zeros(10, t)"),
    "`np.zeros(1,000)` made and dropped": ("", "np.zeros(1000, t)"),
    "`np.zeros(10**6)` made and dropped": ("", "np.zeros(10**6, t)"),
    "`full.copy()` of 10, made and dropped": ("full = np.arange(1, 11).astype(t)", "full.copy()"),
    "`full.copy()` of 1,000": ("full = np.arange(1, 1001).astype(t)", "full.copy()"),
    "`full.copy()` of 10**6": ("full = np.arange(1, 10**6 + 1).astype(t)", "full.copy()"),
    "`np.add(a, b, out=c)` of 10": (
        "a = np.arange(1, 11).astype(t); b = a.copy(); c = a.copy()",
        "np.add(a, b, out=c)",
    ),
    "`np.add(a, b, out=c)` of 1,000": (
        "a = np.arange(1, 1001).astype(t); b = a.copy(); c = a.copy()",
        "np.add(a, b, out=c)",
    ),
    "`x + y` of elements": ("x, y = np.arange(5, 7).astype(t)", "x + y"),
    "`a[3] = x`": ("a = np.arange(1, 11).astype(t); x = a[5]", "a.__setitem__(3, x)"),
    "ten sums of large integers": (
        "a = np.arange(1, 11).astype(t) ** 60; b = a.copy()",
        "a + b",
    ),
    "a copy-loop call of one element (`a[i]` of 10,000)": (
        "a = np.arange(1, 10**5 + 1).astype(t); i = np.arange(0, 10**5, 10)",
        "a[i]",
    ),
}

WORKER = """
import sys
import numpy as np
import denizen
from timing import _calibrate, _turn
t = np.dtype(denizen.Integer)
if {mode!r} == "audit":
    denizen.audit(raises=False).__enter__()
cases = {cases!r}
made = []
for prepare, expression in cases:
    names = dict(np=np, t=t)
    exec(prepare, names)
    side = eval("lambda: " + expression, names)
    made.append((side, _calibrate(side, 4e-3)))
for line in sys.stdin:
    side, calls = made[int(line)]
    print(min(_turn(side, calls) for _ in range(3)), flush=True)
"""


class Side:
    """Processes of one build: `mode` is "off", "integrity" or "audit"."""

    def __init__(self, package: Path, mode: str, count: int = 3) -> None:
        paths = [str(package), str(Path(__file__).parent)]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths),
            "DENIZEN_INTEGRITY": str(int(mode == "integrity")),
        }
        command = [sys.executable, "-c", WORKER.format(cases=list(CASES.values()), mode=mode)]
        self._workers = [
            subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]

    def turn(self, case: int) -> float:
        """Seconds of a call, the fastest of all processes."""
        best = float("inf")
        for worker in self._workers:
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write(f"{case}\n")
            worker.stdin.flush()
            best = min(best, float(worker.stdout.readline()))
        return best

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._workers:
            assert worker.stdin is not None
            worker.stdin.close()
            worker.wait()


def duration(seconds: float) -> str:
    """Three digits with a unit."""
    unit, scale = next(
        (unit, scale)
        for unit, scale in [("ns", 1e9), ("µs", 1e6), ("ms", 1e3)]
        if seconds * scale < 1000 or unit == "ms"
    )
    return f"{seconds * scale:.3g} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--baseline", type=Path, help="directory of another build's package")
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    own = Path(denizen.__file__).parents[1]
    sides = [Side(own, mode) for mode in ("off", "integrity", "audit")]
    if options.baseline:
        sides.append(Side(options.baseline, "off"))
    best = np.full((len(sides), len(CASES)), np.inf)
    for _ in range(options.turns):
        for case in range(len(CASES)):
            for side, worker in enumerate(sides):
                best[side, case] = min(best[side, case], worker.turn(case))
    for worker in sides:
        worker.close()
    head = ["what", "off", "integrity / off", "audit / off"]
    head += ["off / without"] * bool(options.baseline)
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for case, what in enumerate(CASES):
        off, checked, audited, *without = best[:, case]
        ratios = [checked / off, audited / off, *(off / other for other in without)]
        row = [what, duration(off), *(f"{ratio:.3g}" for ratio in ratios)]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
