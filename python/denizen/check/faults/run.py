"""Runs all operations with all faults, in processes that each try many."""

from __future__ import annotations

import functools
import json
import mmap
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..operations.operation import Operation, Table
from ..runner.probe import probed
from ..runner.process import Ending, Task, run_tasks
from ..runner.run import selected
from ..subject.element import as_values, find_dtype
from .known import explained
from .report import FaultFinding, FaultReport, FaultRuns
from .source import Source, source_named
from .worker import Progress, Worker

__all__ = ["run_faults"]

#: Most steps of an operation that are made to fail.
LIMIT = 300
#: Time limit of one run of an operation, and what all runs of one with faults may take, in seconds.
SECONDS = 20.0
BUDGET = 4.0
#: Operations of one process, and what it may take in all.
_CHUNK = 12
_CHUNK_SECONDS = 900.0
#: Crashes of one operation after which its other steps are left.
_CRASHES = 3

#: Called now and then: how many operations are done, of how many, and what was found so far.
OnProgress = Callable[[int, int, int], None]


class _Chunk:
    """Some operations, from one of their runs on."""

    def __init__(self, operations: Sequence[Operation], log: Path) -> None:
        self.operations = operations
        self.log = log
        self.progress = Progress(mmap.mmap(-1, mmap.PAGESIZE))
        self.start = (0, 0, 0)
        self.crashes: dict[tuple[int, int], int] = {}

    def after_crash(self, kinds: int) -> bool:
        """Set the start behind the crash; whether anything is left there."""
        kind, operation, run = self.progress.read()[:3]
        crashes = self.crashes[kind, operation] = self.crashes.get((kind, operation), 0) + 1
        if run < 0 or crashes >= _CRASHES:
            self.start = (kind, operation + 1, 0)
        else:
            self.start = (kind, operation, run + 1)
        if self.start[1] == len(self.operations):
            self.start = (kind + 1, 0, 0)
        return self.start[0] < kinds


def run_faults(
    element: Any,
    kinds: Sequence[str] = ("allocation", "element"),
    *,
    only: str | None = None,
    section: str | None = None,
    every: int = 1,
    jobs: int | None = None,
    limit: int = LIMIT,
    timeout: float = SECONDS,
    budget: float = BUDGET,
    values: Callable[[], Iterable[Any]] | Sequence[Any] | None = None,
    tables: Iterable[Table] | None = None,
    progress: OnProgress | None = None,
) -> FaultReport:
    """Run NumPy's operations on an element type with each of their steps failing once.

    `kinds` are what fails: "allocation", "heap", "element", or MODULE:NAME of a `Source`. Of each
    operation all steps fail in turn, or `limit` of them spread evenly; fewer where all would take
    more than `budget` seconds. `every` takes every so many-th operation. The others are as for
    `denizen.check.run`.

    Raises `ElementError` where the type or a source cannot be used.
    """
    started = time.monotonic()
    operations = selected(only, section, tables)[::every]
    supplied = None if values is None else as_values(values, "--values")
    workers = max(1, jobs if jobs is not None else len(os.sched_getaffinity(0)))
    dtype = find_dtype(element)
    sources: list[tuple[str, Source]] = [(kind, source_named(kind)) for kind in kinds]
    checked = probed(dtype, supplied, timeout, workers)
    tried: list[FaultRuns] = []
    findings: list[FaultFinding] = []
    with tempfile.TemporaryDirectory(prefix="denizen-faults-") as name:
        folder = Path(name)
        chunks = [
            _Chunk(operations[first : first + _CHUNK], folder / f"{first}.log")
            for first in range(0, len(operations), _CHUNK)
        ]
        done = 0
        waiting = chunks
        while waiting:
            tasks = [
                Task(
                    functools.partial(
                        Worker(
                            checked,
                            chunk.operations,
                            sources,
                            folder,
                            chunk.log,
                            chunk.progress,
                            limit=limit,
                            seconds=timeout,
                            budget=budget,
                        ).work,
                        *chunk.start,
                    ),
                    _CHUNK_SECONDS,
                )
                for chunk in waiting
            ]
            again = []
            for index, ending in run_tasks(tasks, workers):
                chunk = waiting[index]
                if ending.failure is None:
                    done += len(chunk.operations)
                else:
                    finding, part = _crash(chunk, ending, sources)
                    findings.append(finding)
                    tried.append(part)
                    if chunk.after_crash(len(sources)):
                        again.append(chunk)
                    else:
                        done += len(chunk.operations)
                if progress is not None:
                    progress(done, len(operations), len(findings))
            waiting = again
        for chunk in chunks:
            _read(chunk.log, tried, findings)
    from denizen import __version__

    order = {operation.title: index for index, operation in enumerate(operations)}
    return FaultReport(
        type=checked.name,
        denizen=__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        kinds=tuple(kinds),
        tried=tuple(_merged(tried, order)),
        findings=tuple(
            sorted(
                explained(findings), key=lambda finding: (order[finding.operation], finding.step)
            )
        ),
        limit=limit,
        seconds=round(time.monotonic() - started, 3),
    )


def _crash(
    chunk: _Chunk, ending: Ending, sources: Sequence[tuple[str, Source]]
) -> tuple[FaultFinding, FaultRuns]:
    """What a process was at when it died, and what it had done of that."""
    kind, operation, run, steps, tried, raised, reported, survived = chunk.progress.read()
    title, name = chunk.operations[operation].title, sources[kind][0]
    failure = (ending.failure or "").strip()
    first, _, rest = failure.partition("\n")
    detail = rest.splitlines()[-1] if rest else first
    if detail == "SIGALRM":
        detail = "no end"
    errors = "\n".join(filter(None, (rest, ending.errors)))
    finding = FaultFinding(title, name, run, "crashes", detail, errors)
    return finding, FaultRuns(title, name, steps, 0, tried + 1, raised, reported, survived)


def _read(log: Path, tried: list[FaultRuns], findings: list[FaultFinding]) -> None:
    if not log.exists():
        return
    for line in log.read_text().splitlines():
        name, content = json.loads(line)
        if name == FaultRuns.__name__:
            tried.append(FaultRuns(**content))
        else:
            findings.append(FaultFinding(**content))


def _merged(tried: list[FaultRuns], order: dict[str, int]) -> list[FaultRuns]:
    """One entry for each operation and kind, from the parts between crashes."""
    merged: dict[tuple[str, str], FaultRuns] = {}
    for part in tried:
        known = merged.setdefault((part.operation, part.kind), FaultRuns(part.operation, part.kind))
        known.steps = max(known.steps, part.steps)
        known.planned = max(known.planned, part.planned)
        for function, count in part.functions.items():
            known.functions[function] = known.functions.get(function, 0) + count
        for name in ("tried", "raised", "reported", "survived", "missed"):
            setattr(known, name, getattr(known, name) + getattr(part, name))
    return sorted(merged.values(), key=lambda entry: (order[entry.operation], entry.kind))
