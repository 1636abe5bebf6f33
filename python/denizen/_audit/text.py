"""The report of an audit as text for a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .report import Leak, Report, Site, TypeFigures

__all__ = ["callers", "even", "leak_lines", "short_name", "text"]

_COLUMNS = (
    "constructed",
    "copied",
    "relocated",
    "destroyed",
    "foreign",
    "scalars",
    "reconciled",
    "peak",
    "live",
    "leaked",
)
#: Rows of a section that are shown; all of them are in the JSON.
_MOST_ROWS = 12
#: Places of what modules held that are shown, of each type.
_MOST_HELD = 5
#: Frames of a stack that are shown, and those of them that are the outermost.
_MOST_FRAMES = 12
_OUTERMOST = 4


def text(report: Report) -> str:
    """The report as lines of text: a type a line; then what outlives the audit and where it was
    made; then what was built in foreign memory, and what was reconciled."""
    sections = [
        [f"denizen audit of {report['target']}: {report['seconds']:.3g} s"],
        list(_types(report["types"])),
        report["notes"],
        list(_held(report)),
        list(_leaks(report)),
        list(_corruptions(report)),
        list(_foreign(report)),
        list(_reconciled(report)),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _types(types: dict[str, TypeFigures]) -> Iterator[str]:
    busy = {name: figures for name, figures in types.items() if any(figures.values())}
    if not busy:
        yield "no object of any element type was built in this process"
        return
    rows = [
        [name, *(f"{dict(figures)[column]:,}" for column in _COLUMNS)]
        for name, figures in busy.items()
    ]
    table = [["type", *_COLUMNS], *rows]
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]))]
    for name, *cells in table:
        numbers = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join([f"{name:<{widths[0]}}", *numbers])


def _held(report: Report) -> Iterator[str]:
    for name in report["types"]:
        held = [leak for leak in report["held"] if leak["type"] == name]
        if not held:
            continue
        count = sum(leak["count"] for leak in held)
        yield held_by_modules(name, count)
        for leak in held[:_MOST_HELD]:
            yield f"  {leak['count']:,} {_home(leak)}{_at(leak['site'], ', made at ')}"
        yield from _more(held, "  ", _MOST_HELD)


def _leaks(report: Report) -> Iterator[str]:
    leaked = {name: figures["leaked"] for name, figures in report["types"].items()}
    for name, count in leaked.items():
        if count == 0:
            continue
        yield f"{_count(count, f'{name} object')} outlived the audit"
        leaks = [leak for leak in report["leaks"] if leak["type"] == name]
        for leak in leaks[:_MOST_ROWS]:
            yield from (f"  {line}" for line in leak_lines(leak))
        yield from _more(leaks, "  ")
        found = sum(leak["count"] for leak in leaks)
        if found > count:
            yield f"  (so many fewer of those from before the audit: {found - count:,})"
    if not any(leaked.values()):
        yield from even(report["types"]) or ["nothing outlived the audit"]


def even(types: Mapping[str, Any]) -> list[str]:
    """What can be said of types without leaks some of whose objects are older than the audit: new
    ones may have come for old ones that went."""
    return [
        f"no more {name} objects than before ({figures['live']:,} alive, "
        f"{figures['live_before']:,} before)"
        for name, figures in types.items()
        if figures.get("live_before") and figures.get("constructed") and not figures.get("leaked")
    ]


def callers(leak: Mapping[str, Any]) -> str | None:
    """What to say of a leak whose stack is not that of all its objects."""
    match leak.get("callers"):
        case "several":
            return "from several callers; --trace (trace=True) tells them apart"
        case "unknown":
            return "callers of some were not kept; --trace (trace=True) keeps them all"
    return None


def leak_lines(leak: Leak) -> Iterator[str]:
    """Where the objects of one leak are and where they were made."""
    yield f"{leak['count']:,} {_place(leak)}"
    stack = leak["stack"] or ([leak["site"]] if leak["site"] else [])
    here = stack.index(leak["site"]) if leak["site"] in stack else -1
    shown = list(enumerate(stack))
    left_out = leak["left_out"]
    if len(stack) + left_out > _MOST_FRAMES:
        left_out += len(stack) - _MOST_FRAMES
        del shown[_MOST_FRAMES - _OUTERMOST : -_OUTERMOST]
    for position, (index, site) in enumerate(shown):
        if left_out and position == _MOST_FRAMES - _OUTERMOST:
            yield f"    ({_count(left_out, 'more frame')})"
        mark = ">" if index == here else " "
        yield f"  {mark} {short_name(site['file'])}:{site['line']}, in {site['function']}"
        if site["text"]:
            yield f"      {site['text']}"
    if told := callers(leak):
        yield f"    ({told})"


def _place(leak: Leak) -> str:
    made = "" if leak["where"] == "unknown" else f", first made after {leak['first_made']:.3g} s"
    return f"{_home(leak)}{made}"


def _home(leak: Leak) -> str:
    """The kind of memory that objects are in."""
    match leak["where"]:
        case "managed":
            return f"in {_count(leak['segments'], 'array')} ({leak['bytes']:,} bytes)"
        case "corrupted":
            return f"in {_count(leak['segments'], 'corrupted array')} ({leak['bytes']:,} bytes)"
        case "scalar":
            return "in Python scalars"
        case "foreign":
            return "in structured arrays or NumPy's buffers"
        case _:
            return "in a place that is not known"


def held_by_modules(name: str, count: int) -> str:
    """What is said of objects that a program's modules held."""
    were = "was" if count == 1 else "were"
    objects = _count(count, f"{name} object")
    return f"{objects} {were} held by the program's modules until they were dropped"


def _corruptions(report: Report) -> Iterator[str]:
    if report["corruptions"]:
        yield "memory that was written over"
    for corruption in report["corruptions"][:_MOST_ROWS]:
        made = _at(corruption["site"], ", made at ")
        yield f"  {corruption['segment']}: {corruption['what']}{made}"
    yield from _more(report["corruptions"], "  ")


def _foreign(report: Report) -> Iterator[str]:
    rows = report["foreign"]
    if rows:
        yield "in NumPy's buffers and structured arrays"
    for row in rows[:_MOST_ROWS]:
        done = [f"{row['constructed']:,} built"] if row["constructed"] else []
        if row["relocated"]:
            done.append(f"{row['relocated']:,} moved there")
        yield (
            f"  {row['type']}  {', '.join(done)} by {row['operation']}"
            f" ({_count(row['calls'], 'call')}){_at(row['site'], ', ')}"
        )
    yield from _more(rows, "  ")


def _reconciled(report: Report) -> Iterator[str]:
    rows = report["reconciled"]
    if rows:
        yield "reconciled: bits of init bitmaps that NumPy's raw moves of bytes had left behind"
    for row in rows[:_MOST_ROWS]:
        found = f"{_count(row['bits'], 'bit')} found by {row['operation']}"
        yield f"  {row['type']}  {found}{_at(row['site'], ', ')}"
    yield from _more(rows, "  ")


def _more(rows: Sequence[object], indent: str, most: int = _MOST_ROWS) -> Iterator[str]:
    if len(rows) > most:
        yield f"{indent}and {len(rows) - most} more, which --json or --html show"


def _at(site: Site | None, before: str) -> str:
    return (
        f"{before}{short_name(site['file'])}:{site['line']} in {site['function']}" if site else ""
    )


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def short_name(file: str) -> str:
    """A file's name from here, where that is shorter and says as much."""
    if not os.path.isabs(file):
        return file
    try:
        relative = os.path.relpath(file)
    except OSError:
        # The program may have removed the directory that it is in.
        return file
    return file if relative.startswith(os.pardir) else relative
