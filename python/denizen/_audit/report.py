"""The report of an audit: the recorder's ledger with every place in the program spelled out."""

from __future__ import annotations

import linecache
import os
import platform
import site
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import CodeType
from typing import Any, Literal, TypedDict

import numpy as np

from .. import _runtime

__all__ = [
    "Corruption",
    "Foreign",
    "Leak",
    "Reconciled",
    "Report",
    "Site",
    "Timeline",
    "TypeFigures",
    "libraries",
    "make_report",
]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Site(TypedDict):
    """A place in the program."""

    file: str
    line: int
    function: str
    text: str


class TypeFigures(TypedDict):
    """What became of the objects of one type; `live_before`, `live` and `peak` are numbers of live
    objects, `leaked` is how many more of them there are than before."""

    constructed: int
    copied: int
    relocated: int
    destroyed: int
    foreign: int
    scalars: int
    reconciled: int
    live_before: int
    live: int
    peak: int
    leaked: int


class Leak(TypedDict):
    """Objects of one type that outlive the audit, made in one place, or with a trace by one stack.

    `where` they are is "managed", "corrupted", "foreign", "scalar" or "unknown". `stack` has the
    innermost frame first; `left_out` more frames come after the first 50. Without a trace a place
    may have "several" `callers`: then `stack` has the frames that the stacks which were kept have
    in common. "unknown": of some objects no callers were kept.
    """

    type: str
    count: int
    where: str
    segments: int
    bytes: int
    first_made: float
    site: Site | None
    stack: list[Site]
    left_out: int
    callers: Literal["one", "several", "unknown"]


class Foreign(TypedDict):
    """Objects that an operation built in, or moved to, memory that is NumPy's own."""

    type: str
    operation: str
    site: Site | None
    constructed: int
    relocated: int
    calls: int


class Reconciled(TypedDict):
    """Bits of init bitmaps that an operation found wrong and corrected."""

    type: str
    operation: str
    site: Site | None
    bits: int


class Corruption(TypedDict):
    """Memory of a segment that was written over."""

    segment: str
    what: str
    site: Site | None
    stack: list[Site]
    left_out: int


class Timeline(TypedDict):
    """The highest number of live objects of each type in each span of time; `seconds` has where the
    spans begin."""

    seconds: list[float]
    live: dict[str, list[int]]


class Report(TypedDict):
    """All of it. `held` is what a program's modules held at its end, until they were dropped: no
    leaks, in the same form."""

    denizen: str
    python: str
    numpy: str
    target: str
    trace: bool
    seconds: float
    types: dict[str, TypeFigures]
    leaks: list[Leak]
    held: list[Leak]
    foreign: list[Foreign]
    reconciled: list[Reconciled]
    corruptions: list[Corruption]
    timeline: Timeline
    notes: list[str]


@cache
def libraries() -> list[tuple[str, bool]]:
    """Beginnings of names of files, and whether the code in such a file is a library's, which
    is not the place where an object was made: Python's own, NumPy's and denizen's."""
    # Not by `sysconfig`: it fills tables when it is asked first, in Python 3.11 without a lock, in
    # newer ones under one that a fork may find held.
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    own = [os.path.dirname(file) for file in (os.__file__, np.__file__, _HERE.rstrip(os.sep))]
    return [
        *((folder + os.sep, False) for folder in installed),
        *((folder + os.sep, True) for folder in own),
        ("<frozen ", True),
    ]


def make_report(
    ledger: dict[str, Any],
    *,
    target: str,
    trace: bool,
    enclosing: CodeType | None,
    before: Sequence[dict[str, Any]] = (),
) -> Report:
    """The report that the recorder's ledger makes. Stacks end with the code that the audit is in,
    where it is known. `before` has the leaks of the same audit's ledger at the program's end,
    before its modules were dropped."""
    sites = _Sites(ledger["lines"], enclosing)
    types: dict[str, TypeFigures] = {}
    for name, figures in ledger["types"].items():
        figures["leaked"] = max(figures["live"] - figures["live_before"], 0)
        types[name] = figures
    leaks = sites.leaks(ledger["leaks"], trace)
    held = sites.leaks(_gone(before, ledger["leaks"]), trace)
    for section in ("foreign", "reconciled", "corruptions"):
        for row in ledger[section]:
            row["site"] = sites.at(row["site"])
            if "stack" in row:
                numbers, row["left_out"] = sites.cut(row["stack"], row["left_out"])
                row["stack"] = [sites.at(number) for number in numbers]
            if "operation" in row:
                row["operation"] = _operation(*row["operation"])
    return {
        "denizen": _runtime.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "target": target,
        "trace": trace,
        "seconds": ledger["seconds"],
        "types": types,
        "leaks": sorted(leaks, key=lambda leak: -leak["count"]),
        "held": sorted(held, key=lambda leak: -leak["count"]),
        "foreign": sorted(
            ledger["foreign"], key=lambda row: -row["constructed"] - row["relocated"]
        ),
        "reconciled": sorted(ledger["reconciled"], key=lambda row: -row["bits"]),
        "corruptions": ledger["corruptions"],
        "timeline": ledger["timeline"],
        "notes": [],
    }


def _gone(
    before: Iterable[dict[str, Any]], now: Iterable[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Of the leaks `before` what is not among those of `now`, stack by stack."""

    def key(row: dict[str, Any]) -> object:
        return row["type"], row["where"], row["site"], tuple(row["stack"]), row["left_out"]

    left = {key(row): row for row in now}
    for row in before:
        same = left.get(key(row), {})
        numbers = {name: row[name] - same.get(name, 0) for name in ("count", "segments", "bytes")}
        if numbers["count"] > 0:
            yield row | {name: max(number, 0) for name, number in numbers.items()}


class _Sites:
    """Places by their numbers, each looked up once."""

    def __init__(self, lines: list[tuple[CodeType, int]], enclosing: CodeType | None) -> None:
        self._lines = lines
        self._enclosing = enclosing
        self._known: dict[int, Site] = {}

    def at(self, number: int | None) -> Site | None:
        if number is None:
            return None
        if number not in self._known:
            code, line = self._lines[number]
            self._known[number] = {
                "file": code.co_filename,
                "line": line,
                "function": code.co_qualname,
                "text": linecache.getline(code.co_filename, line).strip(),
            }
        return self._known[number]

    def cut(self, numbers: Sequence[int], left_out: int) -> _Stack:
        """The frames from the innermost one to that of the code that the audit is in, and how many
        are left out after the first `_EDGE` of them."""
        for index in reversed(range(len(numbers))):
            if self._lines[numbers[index]][0] is self._enclosing:
                numbers = numbers[: index + 1]
                break
        # Those of the command, which runs the program.
        while len(numbers) > 1 and self._lines[numbers[-1]][0].co_filename.startswith(_HERE):
            numbers = numbers[:-1]
        return tuple(numbers), left_out if len(numbers) > _EDGE else 0

    def leaks(self, rows: Iterable[dict[str, Any]], trace: bool) -> list[Leak]:
        """The leaks of single stacks put together by their places, or with a trace by what is left
        of their stacks."""
        groups: dict[object, list[tuple[dict[str, Any], _Stack]]] = {}
        for row in rows:
            stack = self.cut(row["stack"], row["left_out"])
            key = (row["type"], row["where"], row["site"], stack if trace else None)
            groups.setdefault(key, []).append((row, stack))
        return [self._leak(group) for group in groups.values()]

    def _leak(self, group: list[tuple[dict[str, Any], _Stack]]) -> Leak:
        group.sort(key=lambda member: member[0]["first_made"])
        first = group[0][0]
        known = [stack for row, stack in group if not self._lacks_callers(row)]
        callers: Literal["one", "several", "unknown"] = "one"
        numbers, left_out = known[0] if known else group[0][1]
        if len(known) < len(group):
            callers = "unknown"
        for other in known[1:]:
            common = _common((numbers, left_out), other, first["site"])
            if common != (numbers, left_out):
                callers = "several"
                numbers, left_out = common
        return {
            "type": first["type"],
            "count": sum(row["count"] for row, _ in group),
            "where": first["where"],
            "segments": sum(row["segments"] for row, _ in group),
            "bytes": sum(row["bytes"] for row, _ in group),
            "first_made": first["first_made"],
            "site": self.at(first["site"]),
            "stack": [site for number in numbers if (site := self.at(number))],
            "left_out": left_out,
            "callers": callers,
        }

    def _lacks_callers(self, row: dict[str, Any]) -> bool:
        """Whether of a stack only the part up to the site was kept."""
        site = row["site"]
        if site is None or not row["stack"] or row["stack"][-1] != site:
            return False
        code = self._lines[site][0]
        return code is not self._enclosing and code.co_name != "<module>"


#: Numbers of lines, the innermost first, and how many more there are after the first `_EDGE`.
_Stack = tuple[tuple[int, ...], int]

#: Frames that the recorder keeps at each end of a stack.
_EDGE = 50


def _common(stack: _Stack, other: _Stack, site: int | None) -> _Stack:
    """The innermost frames of `stack` up to where the callers of `site` differ from those of
    `other`; all of it where none do."""
    (mine, left_out), (its, its_left_out) = stack, other
    starts = [numbers.index(site) if site in numbers else 0 for numbers in (mine, its)]
    callers, its_callers = mine[starts[0] :], its[starts[1] :]
    if (callers, left_out) == (its_callers, its_left_out):
        return stack
    same = 0
    for own, another in zip(callers, its_callers, strict=False):
        if own != another:
            break
        same += 1
    numbers = mine[: starts[0] + same]
    return numbers[:_EDGE], 0


def _operation(name: str, source: str, target: str) -> str:
    """What an operation is called in the report."""
    if name == "cast":
        return f"cast from {_type_name(source)} to {_type_name(target)}"
    return name or "client code"


def _type_name(name: str) -> str:
    """The usual name of a type; NumPy's DType classes are called `numpy.dtypes.Int64DType`."""
    if name.startswith("numpy."):
        name = name.rpartition(".")[2]
        if not name.startswith("String"):
            return name.removesuffix("DType").lower()
    return name
