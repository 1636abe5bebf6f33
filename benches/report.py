"""How a figure reads, the page that all of them make, and the file of all else that was printed."""

import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Why a figure misses its aim, by a pattern for the beginning of its row.
REASONS: dict[str, str] = {
    r"float64 ": "perhaps chance: no code of ours runs there",
    r"fixed cost of a copy-loop call": "two lookups, two locks taken and released, the ledger of "
    "one cell: five atomic changes and what leads up to them",
    r"free of|materialising": "not profiled; the cells are zeroed first and their bits set, which "
    "a `Vec` need not do",
    r"owner map: hit": "not profiled; more records are in use, perhaps more than the fastest "
    "cache holds",
    r"Integer and Python int, `(a \+ b|a \* b|a.sum\(\))`, operands": "the results outgrow the "
    "cell (a quarter of the sums, nearly all products, the running sum): each is an object on the "
    "heap, as in Python",
    r"two threads and one": "not decided: it takes two idle processors, and the load above left "
    "none",
}


@dataclass
class Row:
    """One figure: what it is, ours and the peer's (seconds, or bytes), and the aim."""

    what: str
    ours: float
    peer: float | None
    #: The most that ours may be in units of the peer's.
    most: float | None = None
    #: How many times ours has to be contained in the peer's.
    least: float | None = None
    #: The most that ours may be.
    limit: float | None = None
    #: The limit is no sharp one: a tenth more will do.
    about: bool = False
    unit: str = "s"
    #: What stands behind the verdict.
    note: str = ""

    @property
    def ratio(self) -> str:
        """Ours in units of the peer's, or the peer's in units of ours where that is the aim."""
        if self.peer is None:
            return ""
        if self.least is not None:
            return f"{self.peer / self.ours:.3g} times as fast"
        return f"{self.ours / self.peer:.3g}"

    @property
    def aim(self) -> str:
        """The aim in the terms of the ratio."""
        if self.least is not None:
            return f"at least {self.least:g}"
        most = f"{self.most:g}" if self.limit is None else _amount(self.limit, self.unit)
        return f"{'about' if self.about else 'at most'} {most}"

    @property
    def met(self) -> bool:
        """Whether the figure is what it should be."""
        if self.limit is not None:
            return self.ours <= self.limit * (1.1 if self.about else 1)
        assert self.peer is not None
        if self.least is not None:
            return self.peer / self.ours >= self.least
        assert self.most is not None
        return self.ours / self.peer <= self.most

    @property
    def verdict(self) -> str:
        """Met, or the reason why it is not."""
        reasons = (why for pattern, why in REASONS.items() if re.match(pattern, self.what))
        verdict = "met" if self.met else "missed: " + next(reasons, "not explained yet")
        return verdict + (f" ({self.note})" if self.note else "")

    def cells(self) -> list[str]:
        """The row of the table."""
        peer = "" if self.peer is None else _amount(self.peer, self.unit)
        return [self.what, _amount(self.ours, self.unit), peer, self.ratio, self.aim, self.verdict]

    def line(self) -> str:
        """The row for a terminal."""
        return " | ".join(self.cells())


def _amount(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:.3g} {unit}"
    for scale, name in [(1, "s"), (1e-3, "ms"), (1e-6, "µs")]:
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def page(rows: list[Row], load: float) -> str:
    """docs/performance.md: the table, and how to read it."""
    lines = [_HEAD.format(machine=_machine(load))]
    lines += ["| what | denizen | peer | ratio | aim | |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    lines.append(_READING)
    return "\n".join(lines)


def printed(others: list[Path], cpp: Path | None, load: float) -> str:
    """What the C++ benchmark and the Rust ones in `others` printed, and on which machine."""
    parts = [_machine(load), _PRINTED]
    parts += [f"{path.name}\n\n{path.read_text().strip()}" for path in [cpp, *others] if path]
    return "\n\n".join(parts) + "\n"


_HEAD = """# Performance

What denizen costs, beside what does the same without it: plain Rust, NumPy's own arrays, objects
of Python. `make bench` measures all of it and writes this page (edit `benches/report.py`
instead); what else it prints is left in `benches/printed.txt`.

{machine}
"""

_READING = """
How to read it:

* Both sides of a ratio are measured in one run and take turns. Times are those that the measuring
  thread spent on a processor, the fastest of all turns; only "two threads" goes by the clock on
  the wall. "Met" is a statement about this run on this machine.
* float64 rows: the import must change nothing for arrays of other dtypes.
* Rows of segments: small objects are made, copied and destroyed one at a time, with a barrier for
  the optimiser in each; `vec!` of plain numbers is a memset, which a segment cannot match, since
  a client's function makes its objects.
* A copy-loop call: NumPy calls a copy loop once an element in fancy indexing, `take` and masks,
  so its fixed cost is what those take. The verdict says what it consists of.
* Integer: results that outgrow the cell (2^62 and more) are objects on the heap, as in Python.
* Every access is locked, also where the GIL is held. That was measured once, before and after, in
  two builds that took turns (CPython 3.13.0, NumPy 2.5.5): a copy-loop call went from 68 to 76
  ns, `np.add(x, x, out=x)` of one Integer from 723 to 743 ns, `a[0]` from 376 to 440 ns, `a[0] =
  7` from 319 to 385 ns; of the example client's BigDecimal each element of `a[index]` from 99 to
  110 ns and of `a.copy()` from 10.8 to 11.2 ns; of 1,000 Integers each of `a + b` from 4.2 to 4.1
  ns. A thread that is alone takes a lock without an atomic step ([why](architecture.md#alone)).
* C++: arrays of MPFR numbers (`cpp-bridge/examples/real/bench.py`) aim at 1.2 times a plain loop
  over a `std::vector` of the same type in each row, and beside object arrays of gmpy2's at 3
  times their speed for `add` and `sum`, 10 times for `sort` and `less`. A comparison waits for
  memory: the plain loop itself is not 10 times as fast as the objects. The figures are in
  `benches/printed.txt`.
"""

_PRINTED = """\
What the C++ benchmark and those of divan printed, the latter by the clock on the wall: on a busy
machine the fastest of each row is worth more than its mean."""


def _machine(load: float) -> str:
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    facts = {
        "date": time.strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {os.cpu_count()} logical processors, {platform.machine()}",
        "system": f"{platform.system()} {_kernel()}, {' '.join(platform.libc_ver())}",
        "huge pages": huge.read_text().strip() if huge.exists() else "unknown",
        "Python and NumPy": f"{platform.python_version()}, {np.__version__}",
        "Rust": compiler.stdout.split(" (")[0].removeprefix("rustc ").strip() or "unknown",
        "load meanwhile": f"{load:.1f} processes that want to run",
    }
    return "\n".join(f"* {name}: {text}" for name, text in facts.items())


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def _kernel() -> str:
    return platform.release().split("-")[0]
