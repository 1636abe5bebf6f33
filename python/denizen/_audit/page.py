"""The report of an audit as one page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._page import document, escape, read, tiles, visible
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
_PLACES = {
    "foreign": "in structured arrays or NumPy's buffers",
    "adopted": "in memory lent to an array",
    "scalar": "in Python scalars",
    "unknown": "in a place that is not known",
}

_STYLE = read(Path(__file__).parent / "page.css")
_SCRIPT = read(Path(__file__).parent / "page.js")

_Report = Mapping[str, Any]


def page(report: _Report) -> str:
    """The report of an audit, in the form of its JSON, as HTML: one page, with nothing to load."""
    title = f"{report.get('target', 'block')}: denizen audit"
    return "\n".join(document(title, _STYLE, _SCRIPT, _body(report)))


def _body(report: _Report) -> Iterator[str]:
    types: Mapping[str, Mapping[str, int]] = {
        name: counts for name, counts in report.get("types", {}).items() if any(counts.values())
    }
    leaks: Sequence[_Report] = report.get("leaks", [])
    held: Sequence[_Report] = report.get("held", [])
    corruptions: Sequence[_Report] = report.get("corruptions", [])
    yield f"<h1>{escape(report.get('target', 'block'))}</h1>"
    yield '<div class="faint">' + escape(_circumstances(report)) + "</div>"
    for note in report.get("notes", []):
        yield f'<div class="note">{escape(note)}</div>'
    for name in types:
        if count := sum(leak["count"] for leak in held if leak["type"] == name):
            note = escape(held_by_modules(name, count))
            yield f'<div class="note">{note}. <a href="#held">Where they were made</a></div>'
    if corruptions:
        yield (
            f'<div class="note bad"><b>{_count(len(corruptions), "segment")} of memory '
            f'overwritten.</b> <a href="#corruptions">Which</a></div>'
        )
    if leaks:
        lost = sum(leak["count"] for leak in leaks)
        outlive = "objects outlive" if lost != 1 else "object outlives"
        yield (
            f'<div class="note bad"><b>{lost:,} {outlive} the audit</b>, made at '
            f'{_count(len(leaks), "place")}. <a href="#leaks">Where they were made</a></div>'
        )
    elif told := even(types):
        yield f'<div class="note good"><b>{escape("; ".join(told))}.</b></div>'
    elif types:
        yield '<div class="note good"><b>Everything that was made is gone.</b></div>'
    else:
        yield (
            '<div class="note">No object of an element type was made, moved or destroyed in this '
            "process.</div>"
        )
    if types:
        yield from tiles(_totals(report, types, leaks))
    colours = {name: index for index, name in enumerate(types)}
    if timeline := _timeline(report, types):
        colours = {line.type: index for index, line in enumerate(timeline.lines)}
        yield from _picture(timeline, colours)
    if types:
        yield from _types(types, colours)
    if leaks:
        yield from _leaks(leaks, "leaks", "Objects that outlive the audit", unfolded=_UNFOLDED)
    if held:
        heading = "Held by the program's modules until they were dropped"
        yield from _leaks(held, "held", heading, unfolded=0)
    yield from _lists(report)


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


def _totals(
    report: _Report, types: Mapping[str, Mapping[str, int]], leaks: Sequence[_Report]
) -> list[tuple[str, int]]:
    def total(key: str) -> int:
        return sum(counts.get(key, 0) for counts in types.values())

    counts = [
        ("constructed", total("constructed")),
        ("destroyed", total("destroyed")),
        ("outlive the audit", sum(leak["count"] for leak in leaks)),
        ("in foreign memory", total("foreign")),
        ("reconciled", total("reconciled")),
    ]
    if corruptions := len(report.get("corruptions", [])):
        counts.append(("corruptions", corruptions))
    return counts


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


def _picture(timeline: Timeline, colours: Mapping[str, int]) -> Iterator[str]:
    scales = timeline.scales()
    yield '<section class="list" id="timeline"><h2>Live objects over time</h2>'
    if len(scales) > 1:
        yield '<fieldset class="faint"><legend>Scale</legend>'
        for index, scale in enumerate(scales):
            name = "logarithmic" if scale.logarithmic else "linear"
            checked = "" if index else " checked"
            yield (
                f'<label><input type="radio" name="scale" id="scale{index}"{checked}> '
                f"{name}</label>"
            )
        yield "</fieldset>"
    yield '<div id="plot">'
    for index, scale in enumerate(scales):
        yield f'<div class="scale{index}">'
        yield from _drawing(timeline, scale)
        yield "</div>"
    yield '<div id="cursor" hidden></div>'
    for moment, text in timeline.ticks():
        left = 100 * moment / (timeline.end or 1.0)
        yield f'<span class="x" style="left:{left:.2f}%">{text}</span>'
    yield "</div>"
    # A slider is what keyboards, fingers and screen readers know; the script shows it.
    yield (
        f'<input type="range" id="moment" min="0" max="{len(timeline.seconds) - 1}" value="0" '
        f'aria-label="Moment of the timeline" hidden>'
    )
    yield '<p class="faint" id="when">Peaks of each type; a press hides its line.</p>'
    yield '<ul id="lines">'
    for index, line in enumerate(timeline.lines):
        yield (
            f'<li><button type="button" aria-pressed="true" data-line="{index}">'
            f"{_swatch(colours[line.type])}<span>{escape(line.type)}</span>"
            f"<b>{line.peak:,}</b></button></li>"
        )
    yield "</ul>"
    yield from _table(timeline)
    yield '<script type="application/json" id="samples">' + _samples(timeline) + "</script>"
    yield "</section>"


def _drawing(timeline: Timeline, scale: Scale) -> Iterator[str]:
    for tick in scale.ticks:
        yield (
            f'<span class="y" style="bottom:{100 * scale.height(tick):.2f}%">{short(tick)}</span>'
        )
    yield '<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">'
    for tick in scale.ticks:
        height = 1000 - 1000 * scale.height(tick)
        yield f'<path class="grid" d="M0,{height:.1f}H1000"/>'
    # The first type is the most important one: it is drawn last, over the others.
    for index, line in reversed(list(enumerate(timeline.lines))):
        yield (
            f'<path class="line {_colour(index)}" data-line="{index}" '
            f'd="{timeline.path(line, scale)}"/>'
        )
    yield "</svg>"
    placed: list[tuple[float, float]] = []
    for index, line in enumerate(timeline.lines):
        if line.peak:
            yield _peak(timeline, scale, index, line, placed)


def _peak(
    timeline: Timeline, scale: Scale, index: int, line: Line, placed: list[tuple[float, float]]
) -> str:
    """A dot at the peak, with its number where no other number stands."""
    left = 100 * timeline.seconds[line.peak_at] / (timeline.end or 1.0)
    bottom = 100 * scale.height(line.peak)
    free = all(abs(left - x) > 12 or abs(bottom - y) > 9 for x, y in placed)
    side = " left" if left > 75 else ""
    label = ""
    if free:
        placed.append((left, bottom))
        label = f"<span>peak {line.peak:,}</span>"
    return (
        f'<i class="peak{side} {_colour(index)}" data-line="{index}" '
        f'style="left:{left:.2f}%;bottom:{bottom:.2f}%">{label}</i>'
    )


def _colour(index: int) -> str:
    dash = index // _COLOURS % 3
    return f"c{index % _COLOURS}" + (f" dash{dash}" if dash else "")


def _swatch(index: int) -> str:
    return (
        '<svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">'
        f'<path class="line {_colour(index)}" d="M1,5H27"/></svg>'
    )


def _table(timeline: Timeline) -> Iterator[str]:
    """The picture for those who read it: moments and numbers."""
    yield "<details><summary>The timeline as a table</summary>"
    if timeline.thinned:
        yield '<p class="faint">Each row has the largest numbers of an interval.</p>'
    yield from _wide("Live objects over time", ["time", *(line.type for line in timeline.lines)])
    for moment, counts in timeline.rows(_ROWS):
        cells = "".join(
            f"<td>{'<b>' * mark}{count:,}{'</b>' * mark}</td>"
            for count, mark in (
                (count, count > 0 and count == max(line.most))
                for count, line in zip(counts, timeline.lines, strict=True)
            )
        )
        yield f'<tr><th scope="row">{duration(moment)}</th>{cells}</tr>'
    yield "</tbody></table></div></details>"


def _samples(timeline: Timeline) -> str:
    """What the script reads: texts are set as text by it, and cannot end the element."""
    data = {
        "end": timeline.end,
        "when": [duration(moment) for moment in timeline.seconds],
        "seconds": [round(moment, 6) for moment in timeline.seconds],
        "lines": [{"type": visible(line.type), "live": line.most} for line in timeline.lines],
    }
    return json.dumps(data).replace("<", "\\u003c")


# ---- the lists -----------------------------------------------------------------------------------


def _wide(label: str, headings: Iterable[str], told: Sequence[str] = ()) -> Iterator[str]:
    """The beginning of a table of numbers that scrolls sideways where it must."""
    yield f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">'
    yield '<table class="numbers"><thead><tr>'
    for index, heading in enumerate(headings):
        title = f' title="{escape(told[index])}"' if index < len(told) and told[index] else ""
        yield f'<th scope="col"{title}>{escape(heading)}</th>'
    yield "</tr></thead><tbody>"


def _types(types: Mapping[str, Mapping[str, int]], colours: Mapping[str, int]) -> Iterator[str]:
    yield '<section class="list" id="types"><h2>Types</h2>'
    yield from _wide(
        "Counts a type",
        ["type", *(heading for heading, _ in _COUNTS.values())],
        ["", *(told for _, told in _COUNTS.values())],
    )
    for name, counts in types.items():
        swatch = _swatch(colours[name]) if name in colours else ""
        cells = "".join(f"<td{_bad(key, counts)}>{counts.get(key, 0):,}</td>" for key in _COUNTS)
        yield f'<tr><th scope="row">{swatch}{escape(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    yield "<details><summary>What the columns count</summary><dl>"
    for heading, told in _COUNTS.values():
        yield f"<dt>{heading}</dt><dd>{told}</dd>"
    yield "</dl></details></section>"


def _bad(key: str, counts: Mapping[str, int]) -> str:
    return ' class="bad"' if key == "leaked" and counts.get(key) else ""


def _leaks(leaks: Sequence[_Report], name: str, heading: str, *, unfolded: int) -> Iterator[str]:
    """A section of leaks, of which so many are unfolded at first."""
    yield f'<section class="list" id="{name}"><h2>{heading}'
    yield " <small>by the place where their memory was made</small></h2>"
    for index, leak in enumerate(leaks[:_LEAKS]):
        yield _leak(leak, unfolded=index < unfolded)
    if rest := leaks[_LEAKS:]:
        lost = sum(leak["count"] for leak in rest)
        yield (
            f'<p class="faint">{_count(lost, "more object")} from '
            f"{_count(len(rest), 'more place')}: the JSON of the report has them all.</p>"
        )
    yield "</section>"


def _leak(leak: _Report, unfolded: bool) -> str:
    where = leak.get("where", "")
    facts = [_PLACES.get(where, where)]
    if where in ("managed", "corrupted"):
        noun = "array" if where == "managed" else "corrupted array"
        facts = [f"in {_count(leak['segments'], noun)}"]
    if "bytes" in leak:
        facts.append(_count(leak["bytes"], "byte"))
    if leak.get("first_made") is not None:
        facts.append(f"first made at {duration(leak['first_made'])}")
    facts.append(callers(leak) or "")
    frames = leak.get("stack") or ([leak["site"]] if leak.get("site") else [])
    items = [f"<li>{_frame(frame)}</li>" for frame in frames]
    if leak.get("site") in frames:
        index = frames.index(leak["site"])
        items[index] = items[index].replace("<li>", '<li class="here">', 1)
    if left_out := leak.get("left_out"):
        items.insert(
            _EDGE, f'<li value="{_EDGE + left_out}">({_count(left_out, "more frame")})</li>'
        )
    stack = "".join(items)
    return (
        f'<details class="leak"{" open" * unfolded}><summary><b>{leak["count"]:,}</b> '
        f"{escape(leak['type'])} {_site(leak.get('site'))}</summary>"
        f'<p class="faint">{escape(", ".join(filter(None, facts)))}</p>'
        + (f"<ol>{stack}</ol>" if stack else '<p class="faint">No stack was recorded.</p>')
        + "</details>"
    )


def _site(site: _Report | None) -> str:
    if not site:
        return '<span class="faint">made at an unknown place</span>'
    line = f":{site['line']}" if site.get("line") else ""
    return f'<span class="site">{escape(short_name(site.get("file", "?")))}{line}</span>'


def _frame(site: _Report) -> str:
    text = f"<code>{escape(site['text'].strip())}</code>" if site.get("text") else ""
    function = f" in {escape(site['function'])}" if site.get("function") else ""
    return f"{_site(site)}{function}{text}"


_Cell = Callable[[_Report], str]


def _number(key: str) -> _Cell:
    return lambda entry: f"{entry.get(key, 0):,}"


def _words(key: str) -> _Cell:
    return lambda entry: escape(entry.get(key, ""))


def _made(entry: _Report) -> str:
    return _frame(entry["site"]) if entry.get("site") else '<span class="faint">unknown</span>'


#: Lists of the report: key, heading, what it means, columns. Words first, then numbers.
_LISTS: list[tuple[str, str, str, dict[str, _Cell]]] = [
    (
        "corruptions",
        "Corruptions",
        "Memory of a segment was overwritten by something that is not this library.",
        {"segment": _words("segment"), "what": _words("what"), "made at": _made},
    ),
    (
        "foreign",
        "Foreign memory",
        "Objects in buffers of NumPy's casts and iterators, and in structured arrays.",
        {
            "operation": _words("operation"),
            "type": _words("type"),
            "at": _made,
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
            "at": _made,
            "bits": _number("bits"),
        },
    ),
]


def _lists(report: _Report) -> Iterator[str]:
    for key, heading, told, columns in _LISTS:
        entries: Sequence[_Report] = report.get(key, [])
        if not entries:
            continue
        yield f'<section class="list" id="{key}"><h2>{heading} <small>{told}</small></h2>'
        yield f'<div class="wide" role="region" aria-label="{heading}" tabindex="0">'
        yield "<table><thead><tr>"
        for name in columns:
            yield f'<th scope="col">{name}</th>'
        yield "</tr></thead><tbody>"
        for entry in entries:
            cells = "".join(f"<td>{cell(entry)}</td>" for cell in columns.values())
            yield f"<tr>{cells}</tr>"
        yield "</tbody></table></div></section>"
