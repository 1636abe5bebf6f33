"""One operation with one step that fails, and what it leaves behind. Runs in a forked process."""

from __future__ import annotations

import gc
import json
import signal
import struct
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from mmap import mmap
from pathlib import Path
from typing import Any

from ... import _inspect, _runtime
from ..operations.operation import Operation
from ..subject.element import Element
from ..subject.subject import Subject
from ..verdict.comparison import Comparison
from ..verdict.errors import forget, in_words, lost_exceptions
from .report import FaultFinding, FaultRuns
from .source import PLANNED, RuntimeSource, Source

__all__ = ["Progress", "Worker"]

#: What of a subject is made before the plan: its own arrays.
_MADE_BEFORE = ("a", "b", "h", "m")


@dataclass
class Progress:
    """How far a process is, in memory that its parent sees."""

    memory: mmap
    _LAYOUT = struct.Struct("8q")

    def write(self, *, kind: int, operation: int, run: int, runs: FaultRuns) -> None:
        self._LAYOUT.pack_into(
            self.memory,
            0,
            kind,
            operation,
            run,
            runs.steps,
            runs.tried,
            runs.raised,
            runs.reported,
            runs.survived,
        )

    def read(self) -> tuple[int, ...]:
        """Kind, operation, run; steps, tried, raised, reported and survived of these."""
        return self._LAYOUT.unpack_from(self.memory, 0)


def spread(steps: int, limit: int) -> Sequence[int]:
    """All steps, or as many as the limit, evenly, with the first and the last."""
    if steps <= limit:
        return range(steps)
    return sorted({round(index * (steps - 1) / (limit - 1)) for index in range(limit)})


@dataclass
class _Outcome:
    """What an attempt gave."""

    result: Any = None
    error: BaseException | None = None
    seen: int = 0
    happened: bool = False


class Worker:
    """Tries many operations, each with all its steps, and writes down what it finds."""

    def __init__(
        self,
        element: Element,
        operations: Sequence[Operation],
        sources: Sequence[tuple[str, Source]],
        folder: Path,
        log: Path,
        progress: Progress,
        *,
        limit: int,
        seconds: float,
        budget: float,
    ) -> None:
        self._element = element
        self._operations = operations
        self._sources = sources
        self._folder = folder
        self._log = log
        self._progress = progress
        self._limit = limit
        self._seconds = seconds
        self._budget = budget
        self._values: list[Any] | None = None
        self._keys: list[Any] = []

    def work(self, kind: int, operation: int, run: int) -> None:
        """All kinds and operations, from one of their runs on."""
        warnings.simplefilter("ignore")
        if "copy" in self._element.abilities:
            self._values = self._element.values()
        gc.collect()
        gc.freeze()
        gc.disable()
        with self._log.open("a") as log:
            for k in range(kind, len(self._sources)):
                first = operation if k == kind else 0
                for o in range(first, len(self._operations)):
                    start = run if (k, o) == (kind, operation) else 0
                    for entry in self._runs(k, o, start):
                        log.write(json.dumps([type(entry).__name__, asdict(entry)]) + "\n")
                        log.flush()

    def _runs(self, kind: int, number: int, start: int) -> Iterator[FaultRuns | FaultFinding]:
        """One operation with each step of one kind failing, from a run on."""
        operation = self._operations[number]
        name, source = self._sources[kind]
        # A crash before the first run is one without a fault.
        self._progress.write(
            kind=kind, operation=number, run=-1, runs=FaultRuns(operation.title, name)
        )
        began = time.perf_counter()
        self._alarm()
        # The subject goes at once, and what the operation took of it stays with the result.
        wanted, names = self._attempt(operation, source, (), None)[::2]
        before = self._balances()
        plain, subject, _ = self._attempt(operation, source, names, None)
        steps = plain.seen
        released, _ = self._released(plain, subject, source, None)
        del subject
        duration = time.perf_counter() - began
        usual = self._leaked(before)
        limit = self._limit
        if duration * (steps + released) > self._budget:
            limit = max(10, min(limit, round(self._budget / duration)))
        failing = spread(steps + released, limit)
        runs = FaultRuns(operation.title, name, steps=steps + released, planned=len(failing))
        for run in range(start, len(failing)):
            self._progress.write(kind=kind, operation=number, run=run, runs=runs)
            self._alarm()
            step = failing[run]
            before = self._balances()
            if step < steps:
                problems = self._run_with_fault(operation, source, names, step, wanted, runs)
            else:
                problems = self._release_with_fault(operation, source, names, step - steps, runs)
            leaked = self._leaked(before)
            if any(_is_more(count, usual.get(name, 0)) for name, count in leaked.items()):
                counts = ", ".join(f"{count:+d} {name}" for name, count in leaked.items())
                problems.append(f"leaks: {counts} outlive it (negative: destroyed too often)")
            for problem in problems:
                what, _, detail = problem.partition(": ")
                yield FaultFinding(operation.title, name, step, what, detail)
        forget(wanted.error)
        yield runs

    def _run_with_fault(
        self,
        operation: Operation,
        source: Source,
        names: Sequence[str],
        step: int,
        wanted: _Outcome,
        runs: FaultRuns,
    ) -> list[str]:
        """One operation with one step that fails; what is wrong then."""
        of_threads: list[str] = []
        with lost_exceptions(of_threads) as lost:
            outcome, subject, _ = self._attempt(operation, source, names, step)
            problems = list(self._judged(outcome, wanted, lost, of_threads, runs))
            forget(outcome.error)
            outcome = _Outcome()
            problems += [f"unusable: {text}" for text in _unusable(subject, self._element)]
            del subject
        return problems

    def _release_with_fault(
        self,
        operation: Operation,
        source: Source,
        names: Sequence[str],
        step: int,
        runs: FaultRuns,
    ) -> list[str]:
        """One operation whose arrays and result are let go, which has one step that fails."""
        outcome, subject, _ = self._attempt(operation, source, names, None)
        with lost_exceptions() as lost:
            _, happened = self._released(outcome, subject, source, step)
            # The array of the subject that is let go last.
            del subject
        runs.tried += 1
        if not happened:
            runs.missed += 1
        elif any(map(_planned_words, lost)):
            runs.reported += 1
            _note(runs, lost[0])
        else:
            runs.survived += 1
            if not isinstance(source, RuntimeSource) or source.kind == "element":
                return ["no error: nobody was told of a failure while arrays were let go"]
        return []

    def _released(
        self, outcome: _Outcome, subject: Subject, source: Source, after: int | None
    ) -> tuple[int, bool]:
        """Let all go that an attempt holds, under a plan."""
        source.plan(after)
        try:
            forget(outcome.error)
            outcome.result = outcome.error = None
            # All that it has made; but not the values, which all attempts share.
            for name in set(subject.__dict__) & {*_MADE_BEFORE}:
                del subject.__dict__[name]
        finally:
            seen, happened = source.end()
        return seen, happened

    def _judged(
        self,
        outcome: _Outcome,
        wanted: _Outcome,
        lost: list[str],
        of_threads: list[str],
        runs: FaultRuns,
    ) -> Iterator[str]:
        """What is wrong with how it ended."""
        runs.tried += 1
        if not outcome.happened:
            runs.missed += 1
            return
        planned = None if outcome.error is None else _planned(outcome.error)
        if planned is not None:
            runs.raised += 1
            _note(runs, str(planned))
            return
        if any(map(_planned_words, of_threads)):
            # The others miss what that thread was to do.
            runs.reported += 1
            return
        if any(map(_planned_words, lost)):
            runs.reported += 1
            _note(runs, lost[0])
        else:
            runs.survived += 1
        if outcome.error is not None:
            if wanted.error is None or type(outcome.error) is not type(wanted.error):
                yield f"other error: {in_words(outcome.error)}"
            return
        if wanted.error is not None:
            yield f"no error: it raises {in_words(wanted.error)} without a fault"
            return
        try:
            problem = Comparison(self._element).difference(outcome.result, wanted.result)
        except Exception as error:
            problem = f"the result cannot be read: {in_words(error)}"
            forget(error)
        if problem is not None:
            yield f"wrong result: {problem}"

    def _attempt(
        self,
        operation: Operation,
        source: Source,
        names: Sequence[str],
        after: int | None,
    ) -> tuple[_Outcome, Subject, tuple[str, ...]]:
        """Run an operation on new arrays under a plan; also the names of those that it used."""
        subject = Subject(self._element, folder=self._folder)
        if self._values is not None:
            subject.__dict__["_values"] = self._values
        for name in names:
            getattr(subject, name)
        outcome = _Outcome()
        source.plan(after)
        try:
            outcome.result = operation.run(subject)
        except BaseException as error:
            outcome.error = error
        finally:
            outcome.seen, outcome.happened = source.end()
        used = tuple(name for name in _MADE_BEFORE if name in subject.__dict__)
        return outcome, subject, used

    def _alarm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def _balances(self) -> dict[str, int]:
        """Constructed minus destroyed objects, by type, and what the sources count."""
        balances = {
            name: counters["constructed"] - counters["destroyed"]
            for name, counters in _runtime.stats().items()
        }
        for _, source in self._sources:
            balances.update(getattr(source, "counts", {}))
        return balances

    def _leaked(self, before: dict[str, int]) -> dict[str, int]:
        """How the balances have changed."""
        for collect in (False, True):
            if collect:
                gc.collect()
            now = self._balances()
            if now == before:
                return {}
        return {
            name: balance - before.get(name, 0)
            for name, balance in now.items()
            if balance != before.get(name, 0)
        }


def _planned_words(words: str) -> bool:
    """Whether an exception in words is the planned one."""
    return PLANNED in words or MemoryError.__name__ in words


def _is_more(count: int, usual: int) -> bool:
    """Whether more was lost than without a fault, which is NumPy's doing."""
    return not min(usual, 0) <= count <= max(usual, 0)


def _note(runs: FaultRuns, words: str) -> None:
    """Note which function failed, where the words of the failure say it."""
    _, said, name = words.partition(f"{PLANNED} in ")
    if said:
        name = name.partition(",")[0]
        runs.functions[name] = runs.functions.get(name, 0) + 1


def _planned(error: BaseException) -> BaseException | None:
    """The planned exception, if it is this one or brought it about."""
    known: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in known:
            continue
        known.add(id(found))
        if isinstance(found, MemoryError) or PLANNED in str(found):
            return found
        waiting += [found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions
    return None


def _unusable(subject: Subject, element: Element) -> Iterator[str]:
    """What the arrays of a subject cannot do any more."""
    for array in subject.sources():
        if array is None or array.dtype != element.dtype:
            continue
        try:
            _use(array, element)
        except Exception as error:
            yield in_words(error)
            forget(error)


def _use(array: Any, element: Element) -> None:
    """Read, copy, compute with, sort and write an array, and compare its init bitmap."""
    inspection = _inspect.inspect(array)
    if inspection.live != sum(inspection.bitmap):
        raise ValueError(f"{inspection.live} live cells, {sum(inspection.bitmap)} bits")
    able = element.abilities
    if "default" in able and "copy" in able:
        array.tolist()
        copy = array.copy()
        if "arithmetic" in able:
            _ = copy + copy
        if "ordering" in able and copy.ndim:
            copy.sort(axis=0)
        if array.flags.writeable and array.size:
            array[...] = array.flat[array.size - 1]
