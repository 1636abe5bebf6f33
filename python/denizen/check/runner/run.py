"""Runs the operations of all tables on a type, each in a process of its own."""

from __future__ import annotations

import functools
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from ..operations import tables as bundled_tables
from ..operations.operation import Operation, Table
from ..report.report import Report, Result, Stale, raised_in
from ..subject.element import Element, as_values, find_dtype
from ..verdict.judge import Finding, Verdict, judge
from ..verdict.known_refusals import BUNDLED, Expected, read_expected
from .probe import probed
from .process import Ending, Task, run_tasks

__all__ = ["run", "selected"]

#: Time limit of an operation in seconds, unless it has its own.
SECONDS = 20.0

#: Called after each operation: how many are done, of how many, and what came of it.
OnProgress = Callable[[int, int, Result], None]


def selected(
    only: str | None = None,
    section: str | None = None,
    tables: Iterable[Table] | None = None,
) -> list[Operation]:
    """The operations whose title matches a pattern (or contains it), in sections that match."""
    chosen = bundled_tables() if tables is None else tables
    return [
        operation
        for table in chosen
        if section is None or _matches(table.section, section)
        for operation in table
        if only is None or _matches(operation.title, only)
    ]


def _matches(text: str, pattern: str) -> bool:
    text, pattern = text.lower(), pattern.lower()
    return pattern in text or fnmatchcase(text, pattern)


def run(
    element: Any,
    *,
    only: str | None = None,
    section: str | None = None,
    jobs: int | None = None,
    timeout: float = SECONDS,
    values: Callable[[], Iterable[Any]] | Sequence[Any] | None = None,
    expected: Iterable[str | os.PathLike[str]] = (),
    tables: Iterable[Table] | None = None,
    progress: OnProgress | None = None,
) -> Report:
    """Run NumPy's operations on an element type and judge each.

    `element` is a scalar class, a DType class, a dtype, or the text MODULE:TYPE. `only` and
    `section` choose operations by a pattern or a part of their name. `jobs` processes run at a time
    (default: as many as there are cores), each for at most `timeout` seconds. `values` are scalars
    of the type, at least 24 with 10 different ones for the full meaning of every operation, or a
    function that returns them; without, values are looked for. `expected` are files of refusals
    that are as they should be, beside the bundled one. `tables` replaces the bundled operations.
    `progress` is called after each operation.

    Each operation runs in a process that is forked from this one: have no threads running.

    Raises `ElementError` where the type cannot be checked, `ExpectedError` for an unusable file.
    """
    started = time.monotonic()
    entries = [entry for path in (BUNDLED, *map(Path, expected)) for entry in read_expected(path)]
    operations = selected(only, section, tables)
    supplied = None if values is None else as_values(values, "--values")
    limit = max(1, jobs if jobs is not None else len(os.sched_getaffinity(0)))
    checked = probed(find_dtype(element), supplied, timeout, limit)
    results: dict[int, Result] = {}
    with tempfile.TemporaryDirectory(prefix="denizen-check-") as folder:
        work = [
            Task(
                functools.partial(judge, operation, checked, Path(folder)),
                operation.seconds or timeout,
            )
            for operation in operations
        ]
        for index, ending in run_tasks(work, limit):
            result = _result(operations[index], ending, checked, entries)
            results[index] = result
            if progress is not None:
                progress(len(results), len(operations), result)
    made = tuple(
        Result("values", f"made from {what}", Verdict.CRASHES, failure, errors=errors)
        for what, failure, errors in checked.probe.fatal
    )
    ordered = (*made, *(results[index] for index in range(len(operations))))
    from denizen import __version__

    return Report(
        type=checked.name,
        denizen=__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        values=checked.source,
        compared_by=checked.probe.compared_by,
        notes=(*checked.notes(), *raised_in(ordered)),
        results=ordered,
        stale=tuple(_stale(ordered, checked, entries)),
        seconds=round(time.monotonic() - started, 3),
    )


def _result(
    operation: Operation, ending: Ending, element: Element, entries: list[Expected]
) -> Result:
    section, name = operation.section, operation.name
    seconds = round(ending.seconds, 4)
    if ending.failure is not None:
        first, _, rest = ending.failure.strip().partition("\n")
        errors = "\n".join(filter(None, (first if rest else "", rest, _own_frames(ending.errors))))
        detail = rest.splitlines()[-1] if rest else first
        return Result(section, name, Verdict.CRASHES, detail, errors=errors, seconds=seconds)
    finding: Finding = ending.result
    reason = finding.reason
    if reason is None:
        reason = next(
            (
                entry.reason
                for entry in entries
                if entry.verdict == finding.verdict and entry.covers(operation.title, element.name)
            ),
            None,
        )
    return Result(
        section,
        name,
        finding.verdict,
        finding.detail,
        reason,
        finding.leaked,
        finding.raised,
        seconds=seconds,
    )


def _own_frames(errors: str) -> str:
    """A dump of the stack without the frames of the check, which called the operation."""
    lines = []
    for line in errors.splitlines():
        if line.startswith("  File") and line.endswith(" in _attempt"):
            break
        lines.append(line)
    return "\n".join(lines)


def _stale(
    results: tuple[Result, ...], element: Element, entries: list[Expected]
) -> Iterable[Stale]:
    """Entries of which nothing is left among the operations that ran."""
    for entry in entries:
        # What NumPy does to most types may not happen to one of an extension.
        if entry.bundled and entry.type == "*" and not element.name.startswith("denizen."):
            continue
        covered = [result for result in results if entry.covers(result.title, element.name)]
        if covered and all(result.verdict is Verdict.WORKS for result in covered):
            yield Stale(", ".join(result.title for result in covered), entry.reason)
