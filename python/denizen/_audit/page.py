"""The report of an audit as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._viewer import show, visible
from .text import callers, even, held_by_modules, short_name
from .timeline import Line, Scale, Timeline, duration, lay_out, short

__all__ = ["page"]

#: Colours of lines; the next ones have the same in another dash.
_COLOURS = 8

#: Leaks that are shown with their stacks, and those of them that are unfolded at first.
_LEAKS = 200
_UNFOLDED = 3

#: Frames of a stack before those that are left out.
_EDGE = 50

#: Rows of the table that stands for the picture.
_ROWS = 40

#: Columns of the table of types: key in the report, heading, what it counts.
_COUNTS = {
    "leaked": ("leaked", "alive at the end beyond those alive before"),
    "constructed": ("constructed", "objects made, copies among them"),
    "copied": ("copied", "made as copies of others"),
    "relocated": ("relocated", "moved from one cell to another"),
    "destroyed": ("destroyed", "objects ended"),
    "foreign": ("foreign", "made in memory that NumPy or another library allocated"),
    "scalars": ("scalars", "made in Python scalars that hold an object themselves"),
    "reconciled": ("reconciled", "bits of init bitmaps that were set right by the cells"),
    "live_before": ("live before", "alive when the audit began"),
    "live": ("live", "alive when the audit ended"),
    "peak": ("peak", "alive at once, at most"),
}

#: What the word of a leak says about its memory.
_MEMORY = {
    "foreign": "in structured arrays or NumPy's buffers",
    "adopted": "in memory lent to an array",
    "scalar": "in Python scalars",
    "unknown": "in a place that is not known",
}

_Report = Mapping[str, Any]
_Data = dict[str, Any]


def page(report: _Report) -> str:
    """The report of an audit, in the form of its JSON, as HTML: one page, with nothing to load."""
    target = report.get("target", "block")
    types: Mapping[str, Mapping[str, int]] = {
        name: counts for name, counts in report.get("types", {}).items() if any(counts.values())
    }
    colours = {name: index for index, name in enumerate(types)}
    timeline = _timeline(report, types)
    if timeline:
        colours = {line.type: index for index, line in enumerate(timeline.lines)}
    return show(
        {
            "title": f"{target}: denizen audit",
            "heading": target,
            "circumstances": _circumstances(report),
            "notes": [*_notes(report, types), _result(report, types)],
            "totals": {"tiles": list(_totals(report, types))} if types else None,
            "timeline": _picture(timeline, colours) if timeline else None,
            "types": _types(types, colours) if types else None,
            "leak_sections": list(_leak_sections(report)),
            "findings": list(_findings(report)),
        }
    )


def _circumstances(report: _Report) -> str:
    versions = ", ".join(
        f"{name} {report[key]}"
        for key, name in (("python", "Python"), ("numpy", "NumPy"), ("denizen", "denizen"))
        if key in report
    )
    stacks = "all calls" if report.get("trace") else "up to 32 callers of each place"
    return f"{duration(report.get('seconds', 0.0))}. {versions}. Stacks of {stacks}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _link(section: str, words: str) -> _Data:
    return {"section": section, "words": words}


def _notes(report: _Report, types: Mapping[str, Mapping[str, int]]) -> Iterator[_Data]:
    for note in report.get("notes", []):
        yield {"text": note}
    for name in types:
        held = report.get("held", [])
        if count := sum(leak["count"] for leak in held if leak["type"] == name):
            link = _link("held", "Where they were made")
            yield {"text": f"{held_by_modules(name, count)}.", "link": link}
    if corruptions := report.get("corruptions"):
        yield {
            "grade": "bad",
            "strong": f"{_count(len(corruptions), 'segment')} of memory overwritten.",
            "text": "",
            "link": _link("corruptions", "Which"),
        }


def _result(report: _Report, types: Mapping[str, Mapping[str, int]]) -> _Data:
    """Whether something outlives the audit."""
    if leaks := report.get("leaks"):
        lost = sum(leak["count"] for leak in leaks)
        return {
            "grade": "bad",
            "strong": f"{lost:,} {'objects outlive' if lost != 1 else 'object outlives'} the audit",
            "text": f", made at {_count(len(leaks), 'place')}.",
            "link": _link("leaks", "Where they were made"),
        }
    if told := even(types):
        return {"grade": "good", "strong": f"{'; '.join(told)}.", "text": ""}
    if types:
        return {"grade": "good", "strong": "Everything that was made is gone.", "text": ""}
    return {
        "text": "No object of an element type was made, moved or destroyed in this process.",
    }


def _totals(report: _Report, types: Mapping[str, Mapping[str, int]]) -> Iterator[_Data]:
    def total(key: str) -> int:
        return sum(counts.get(key, 0) for counts in types.values())

    counts = {
        "constructed": total("constructed"),
        "destroyed": total("destroyed"),
        "outlive the audit": sum(leak["count"] for leak in report.get("leaks", [])),
        "in foreign memory": total("foreign"),
        "reconciled": total("reconciled"),
    }
    if corruptions := len(report.get("corruptions", [])):
        counts["corruptions"] = corruptions
    for name, count in counts.items():
        yield {"name": name, "count": f"{count:,}"}


# ---- the picture ---------------------------------------------------------------------------------


def _timeline(report: _Report, types: Mapping[str, Mapping[str, int]]) -> Timeline | None:
    samples = report.get("timeline", {})
    live: Mapping[str, Sequence[int]] = samples.get("live", {})
    order = [
        *(name for name in types if name in live),
        *(name for name in live if name not in types),
    ]
    peaks = {name: counts.get("peak", 0) for name, counts in types.items()}
    return lay_out(
        samples.get("seconds", []),
        {name: live[name] for name in order},
        peaks,
        report.get("seconds", 0.0),
    )


def _picture(timeline: Timeline, colours: Mapping[str, int]) -> _Data:
    scales = timeline.scales()
    named = [
        {
            "index": index,
            "name": "logarithmic" if scale.logarithmic else "linear",
            "checked": index == 0,
        }
        for index, scale in enumerate(scales)
    ]
    return {
        "several_scales": {"scales": named} if len(scales) > 1 else None,
        "drawings": [_drawing(timeline, scale, index) for index, scale in enumerate(scales)],
        "moments": [
            {"left": f"{100 * moment / (timeline.end or 1.0):.2f}", "text": text}
            for moment, text in timeline.ticks()
        ],
        "last": len(timeline.seconds) - 1,
        "lines": [
            {
                "line": index,
                "colour": _colour(colours[line.type]),
                "type": line.type,
                "peak": f"{line.peak:,}",
            }
            for index, line in enumerate(timeline.lines)
        ],
        "thinned": timeline.thinned,
        "table": _table(timeline),
        "samples": _samples(timeline),
    }


def _drawing(timeline: Timeline, scale: Scale, index: int) -> _Data:
    """The lines on one scale, in a box of 1000 by 1000, and what stands beside them in per cent."""
    placed: list[tuple[float, float]] = []
    return {
        "index": index,
        "ticks": [
            {
                "bottom": f"{100 * scale.height(tick):.2f}",
                "y": f"{1000 - 1000 * scale.height(tick):.1f}",
                "text": short(tick),
            }
            for tick in scale.ticks
        ],
        # The first type is the most important one: it is drawn last, over the others.
        "lines": [
            {"line": number, "colour": _colour(number), "path": timeline.path(line, scale)}
            for number, line in reversed(list(enumerate(timeline.lines)))
        ],
        "peaks": [
            _peak(timeline, scale, number, line, placed)
            for number, line in enumerate(timeline.lines)
            if line.peak
        ],
    }


def _peak(
    timeline: Timeline, scale: Scale, index: int, line: Line, placed: list[tuple[float, float]]
) -> _Data:
    """A dot at the peak, with its number where no other number stands."""
    left = 100 * timeline.seconds[line.peak_at] / (timeline.end or 1.0)
    bottom = 100 * scale.height(line.peak)
    free = all(abs(left - x) > 12 or abs(bottom - y) > 9 for x, y in placed)
    if free:
        placed.append((left, bottom))
    return {
        "line": index,
        "colour": _colour(index),
        "left_side": left > 75,
        "left": f"{left:.2f}",
        "bottom": f"{bottom:.2f}",
        "label": f"peak {line.peak:,}" if free else None,
    }


def _colour(index: int) -> str:
    dash = index // _COLOURS % 3
    return f"c{index % _COLOURS}" + (f" dash{dash}" if dash else "")


def _table(timeline: Timeline) -> _Data:
    """The picture for those who read it: moments and numbers."""

    def cell(count: int, line: Line) -> _Data:
        largest = count > 0 and count == max(line.most)
        return {"strong" if largest else "text": f"{count:,}"}

    return {
        "label": "Live objects over time",
        "numbers": True,
        "columns": [
            {"heading": name} for name in ("time", *(line.type for line in timeline.lines))
        ],
        "rows": [
            {
                "head": {"text": duration(moment)},
                "cells": [cell(*pair) for pair in zip(counts, timeline.lines, strict=True)],
            }
            for moment, counts in timeline.rows(_ROWS)
        ],
    }


def _samples(timeline: Timeline) -> _Data:
    """What the script reads; it sets texts as text."""
    return {
        "end": timeline.end,
        "when": [duration(moment) for moment in timeline.seconds],
        "seconds": [round(moment, 6) for moment in timeline.seconds],
        "lines": [{"type": visible(line.type), "live": line.most} for line in timeline.lines],
    }


# ---- the lists -----------------------------------------------------------------------------------


def _types(types: Mapping[str, Mapping[str, int]], colours: Mapping[str, int]) -> _Data:
    columns = [{"heading": heading, "title": told} for heading, told in _COUNTS.values()]
    rows = [
        {
            "head": {
                "text": name,
                "swatch": {"colour": _colour(colours[name])} if name in colours else None,
            },
            "cells": [
                {"text": f"{counts.get(key, 0):,}", "bad": key == "leaked" and counts.get(key)}
                for key in _COUNTS
            ],
        }
        for name, counts in types.items()
    ]
    return {
        "columns": columns,
        "table": {
            "label": "Counts a type",
            "numbers": True,
            "columns": [{"heading": "type"}, *columns],
            "rows": rows,
        },
    }


def _leak_sections(report: _Report) -> Iterator[_Data]:
    for key, heading, unfolded in (
        ("leaks", "Objects that outlive the audit", _UNFOLDED),
        ("held", "Held by the program's modules until they were dropped", 0),
    ):
        leaks: Sequence[_Report] = report.get(key, [])
        if not leaks:
            continue
        rest = leaks[_LEAKS:]
        lost = sum(leak["count"] for leak in rest)
        yield {
            "id": key,
            "heading": heading,
            "leaks": [
                _leak(leak, unfolded=index < unfolded) for index, leak in enumerate(leaks[:_LEAKS])
            ],
            "rest": f"{_count(lost, 'more object')} from {_count(len(rest), 'more place')}: "
            "the JSON of the report has them all."
            if rest
            else None,
        }


def _leak(leak: _Report, unfolded: bool) -> _Data:
    where = leak.get("where", "")
    facts = [_MEMORY.get(where, where)]
    if where in ("managed", "corrupted"):
        noun = "array" if where == "managed" else "corrupted array"
        facts = [f"in {_count(leak['segments'], noun)}"]
    if "bytes" in leak:
        facts.append(_count(leak["bytes"], "byte"))
    if leak.get("first_made") is not None:
        facts.append(f"first made at {duration(leak['first_made'])}")
    facts.append(callers(leak) or "")
    frames = leak.get("stack") or ([leak["site"]] if leak.get("site") else [])
    items = [_frame(frame) for frame in frames]
    if leak.get("site") in frames:
        items[frames.index(leak["site"])]["here"] = True
    if left_out := leak.get("left_out"):
        words = _count(left_out, "more frame")
        items.insert(_EDGE, {"left_out": {"value": _EDGE + left_out, "words": words}})
    return {
        "unfolded": unfolded,
        "count": f"{leak['count']:,}",
        "type": leak["type"],
        "location": _location(leak.get("site")),
        "facts": ", ".join(filter(None, facts)),
        "stack": {"frames": items} if items else None,
    }


def _location(site: _Report | None) -> str | None:
    if not site:
        return None
    line = f":{site['line']}" if site.get("line") else ""
    return f"{short_name(site.get('file', '?'))}{line}"


def _frame(site: _Report) -> _Data:
    return {
        "location": _location(site),
        "function": site.get("function"),
        "code": site.get("text", "").strip(),
    }


_Cell = Callable[[_Report], _Data]


def _number(key: str) -> _Cell:
    return lambda entry: {"text": f"{entry.get(key, 0):,}"}


def _words(key: str) -> _Cell:
    return lambda entry: {"text": entry.get(key, "")}


def _site(entry: _Report) -> _Data:
    return {"frame": _frame(entry["site"])} if entry.get("site") else {"unknown": True}


#: Lists of the report: key, heading, what it means, columns. Words first, then numbers.
_FINDINGS: list[tuple[str, str, str, dict[str, _Cell]]] = [
    (
        "corruptions",
        "Corruptions",
        "Memory of a segment was overwritten by something that is not this library.",
        {"segment": _words("segment"), "what": _words("what"), "made at": _site},
    ),
    (
        "foreign",
        "Foreign memory",
        "Objects in buffers of NumPy's casts and iterators, and in structured arrays.",
        {
            "operation": _words("operation"),
            "type": _words("type"),
            "at": _site,
            "built": _number("constructed"),
            "moved there": _number("relocated"),
            "calls": _number("calls"),
        },
    ),
    (
        "reconciled",
        "Reconciliations",
        "NumPy moved bytes without a loop of the type; the init bitmap was set right by the cells.",
        {
            "operation": _words("operation"),
            "type": _words("type"),
            "at": _site,
            "bits": _number("bits"),
        },
    ),
]


def _findings(report: _Report) -> Iterator[_Data]:
    for key, heading, meaning, columns in _FINDINGS:
        entries: Sequence[_Report] = report.get(key, [])
        if entries:
            yield {
                "id": key,
                "heading": heading,
                "meaning": meaning,
                "table": {
                    "label": heading,
                    "columns": [{"heading": name} for name in columns],
                    "rows": [
                        {"cells": [cell(entry) for cell in columns.values()]} for entry in entries
                    ],
                },
            }
