"""The block under audit."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import sys
from collections.abc import Mapping
from contextlib import ContextDecorator
from types import CodeType, TracebackType
from typing import Any, Literal, Self

from .. import _runtime
from .report import (
    Corruption,
    Foreign,
    Leak,
    Reconciled,
    Report,
    Timeline,
    TypeFigures,
    libraries,
    make_report,
)
from .text import leak_lines, text

__all__ = ["Audit", "LeakError", "audit"]

#: Places that a `LeakError` names.
_MOST_PLACES = 5


class LeakError(AssertionError):
    """Objects outlived an `audit` block.

    `leaks` maps the names of the types to the number of objects that are still alive; `report` is
    all that the audit found, as `Audit.to_dict` gives it, where there was an audit.
    """

    __module__ = "denizen"

    leaks: dict[str, int]
    report: Report | None

    def __init__(self, leaks: Mapping[str, int], report: Report | None = None) -> None:
        self.leaks = dict(leaks)
        self.report = report
        counted = ", ".join(
            f"{count} {name} object{'s' if count != 1 else ''}"
            for name, count in sorted(self.leaks.items())
        )
        lines = [f"{counted} outlived the audit block"]
        places = report["leaks"] if report else []
        for leak in places[:_MOST_PLACES]:
            first, *rest = leak_lines(leak)
            lines += [f"  {leak['type']}: {first}", *(f"  {line}" for line in rest)]
        if len(places) > _MOST_PLACES:
            lines.append(f"  and {len(places) - _MOST_PLACES} places more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, int], Report | None]]:
        return type(self), (self.leaks, self.report)


class Audit(ContextDecorator):
    """What happened to objects in a `with` block: the value that `audit` returns.

    While the block runs its members tell what has happened so far; afterwards what happened in it.
    """

    def __init__(
        self,
        *,
        trace: bool = False,
        raises: bool = True,
        target: str = "block",
        collects: bool = True,
    ) -> None:
        self._trace = trace
        self._raises = raises
        self._target = target
        #: Whether garbage is collected at the beginning and at the end.
        self._collects = collects
        self._number: int | None = None
        self._enclosing: CodeType | None = None
        self._report: Report | None = None
        #: What was alive when the program's modules were about to be dropped.
        self._before: list[dict[str, Any]] = []

    def _recreate_cm(self) -> Self:
        """As a decorator: a new audit for each call."""
        return type(self)(
            trace=self._trace,
            raises=self._raises,
            target=self._target,
            collects=self._collects,
        )

    def __enter__(self) -> Self:
        if self._number is not None or self._report is not None:
            raise RuntimeError("an audit is for one block; call `denizen.audit()` for each")
        self._enclosing = _caller()
        if self._collects:
            gc.collect()
        self._number = _runtime._audit_begin(self._trace, libraries())
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]:
        self.stop()
        if error_type is None and self._raises:
            report = self.to_dict()
            leaks = {name: f["leaked"] for name, f in report["types"].items() if f["leaked"]}
            if leaks:
                raise LeakError(leaks, report)
        return False

    def stop(self) -> None:
        """End the audit before its block ends. Garbage is collected first. Idempotent."""
        number = self._number
        if number is None:
            return
        if self._collects:
            gc.collect()
        try:
            self._report = self._look(number)
        finally:
            self._number = None
            _runtime._audit_end(number)

    def modules_end(self) -> None:
        """Takes down what is alive before a program's modules are dropped: what is gone afterwards
        they held."""
        if self._number is not None:
            self._before = _runtime._audit_ledger(self._number)["leaks"]

    def _look(self, number: int) -> Report:
        return make_report(
            _runtime._audit_ledger(number),
            target=self._target,
            trace=self._trace,
            enclosing=self._enclosing,
            before=self._before,
        )

    def to_dict(self) -> Report:
        """All of the report as a dict of plain values, as `--json` writes it.

        Raises:
            RuntimeError: the block has not begun.
        """
        if self._report is not None:
            return self._report
        if self._number is None:
            raise RuntimeError("the audit has not begun: enter its `with` block first")
        return self._look(self._number)

    def to_json(self, *, indent: int | None = 1) -> str:
        """The report as JSON; lists of numbers have a line each, however long they are."""
        text = json.dumps(self.to_dict(), indent=indent)
        # A line never ends within a string of JSON's.
        return re.sub(r"\[\n[-+.\deE,\s]*\]", lambda found: _on_one_line(found[0]), text)

    @property
    def types(self) -> dict[str, TypeFigures]:
        """For each element type: objects constructed, copied, relocated, destroyed, ..."""
        return self.to_dict()["types"]

    @property
    def leaks(self) -> list[Leak]:
        """Objects that are alive and were not before, by the place where they were made."""
        return self.to_dict()["leaks"]

    @property
    def foreign(self) -> list[Foreign]:
        """What operations built in NumPy's buffers and in structured arrays."""
        return self.to_dict()["foreign"]

    @property
    def reconciled(self) -> list[Reconciled]:
        """Bits of init bitmaps that were corrected, by operation and place."""
        return self.to_dict()["reconciled"]

    @property
    def corruptions(self) -> list[Corruption]:
        """Memory that was found written over."""
        return self.to_dict()["corruptions"]

    @property
    def timeline(self) -> Timeline:
        """The highest number of live objects of each type in each span of time."""
        return self.to_dict()["timeline"]

    def __str__(self) -> str:
        return text(self.to_dict())

    def __repr__(self) -> str:
        state = "over" if self._report else "not begun" if self._number is None else "running"
        return f"<denizen audit of {self._target}: {state}>"


def _on_one_line(numbers: str) -> str:
    return f"[{' '.join(numbers[1:-1].split())}]"


def _caller() -> CodeType | None:
    """The code whose `with` block, or decorated function, this is."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == contextlib.__file__ and frame.f_back:
        frame = frame.f_back
    return frame.f_code


def audit(*, trace: bool = False, raises: bool = True) -> Audit:
    """Watch the objects of every element type in a `with` block, or in a decorated function.

    At the end of the block `LeakError` is raised when more objects are alive than at its
    beginning; its message says where they were made. With `raises=False` the report alone says so:

    >>> with denizen.audit(raises=False) as report:
    ...     kept = np.array([1, 2, 3], dtype=denizen.Rational)
    >>> report.leaks[0]["count"], report.leaks[0]["site"]["text"]
    (3, 'kept = np.array([1, 2, 3], dtype=denizen.Rational)')

    Garbage is collected on entry and on exit, so that only reachable objects count; bind no array
    to a name that lives longer than the block. Every element type is audited, those registered in
    the block too, and every thread. Blocks nest. An exception from the block passes through
    unchanged: its traceback keeps arrays alive.

    Of each place in the program a few dozen stacks are kept whole; with `trace` all of them are.
    While an audit runs every array of an element type asks Python where it is made, which takes a
    few hundred nanoseconds, as do other entries in the ledger; when none runs, nothing is recorded.

    The block should begin and end in one thread or task of the program that is otherwise at rest:
    objects that other threads make meanwhile count as its own.
    """
    return Audit(trace=trace, raises=raises)
