"""The report as one page that needs nothing else: a coloured cell for each operation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..._page import document, escape, read, tiles
from ..verdict.judge import Verdict
from .report import Report, Result

__all__ = ["page"]

#: The class and the letter of a cell, and what the legend says.
_KINDS: dict[str, tuple[str, str]] = {
    "works": ("", "works: equal to the same operation on Python objects"),
    "refused": ("R", "refused, as expected: the message says why"),
    "unexpected": ("?", "refused, though nobody expects it"),
    "numpy": ("N", "leaks, which is NumPy's own fault, of any dtype"),
    "unchecked": ("u", "unchecked: nothing to compare the result with"),
    "wrong": ("W", "wrong: another result, or another exception, than objects give"),
    "leaks": ("L", "leaks: objects outlive everything that held them"),
    "crashes": ("X", "crashes: the process died or did not end"),
}

_STYLE = read(Path(__file__).parent / "page.css")
_SCRIPT = read(Path(__file__).parent / "page.js")


def page(report: Report) -> str:
    """The report as HTML: one page, with nothing to load."""
    title = f"{report.type} on NumPy {report.numpy}"
    return "\n".join(document(f"{title}: denizen check", _STYLE, _SCRIPT, _body(title, report)))


def _kind(result: Result) -> str:
    if result.unexpected:
        return "unexpected"
    return "numpy" if result.verdict is Verdict.LEAKS and not result.fails else str(result.verdict)


def _body(title: str, report: Report) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    yield (
        f'<div class="faint">{len(report.results)} operations of NumPy, each in a process of its '
        f"own, compared with the same operation on Python objects. Python "
        f"{escape(report.python)}, denizen {escape(report.denizen)}, "
        f"{report.seconds:.1f} s. Values: {escape(report.values)}; compared by "
        f"{escape(report.compared_by)}.</div>"
    )
    for note in report.notes:
        yield f'<div class="note">{escape(note)}</div>'
    yield from tiles(_counts(report))
    yield from _legend()
    yield '<div class="sections">'
    number = 0
    for section, results in report.sections().items():
        works = sum(result.verdict is Verdict.WORKS for result in results)
        yield f"<section><h2>{escape(section)} <small>{works} of {len(results)}</small></h2>"
        yield '<div class="cells">'
        for result in results:
            yield _cell(result, number)
            number += 1
        yield "</div></section>"
    yield "</div>"
    yield '<div id="detail" aria-live="polite"><span class="faint">Point at a cell to see what '
    yield "happened; click to keep it here.</span></div>"
    yield from _list(report)
    yield from _stale(report)
    for number, result in enumerate(report.results):
        yield f'<template id="d{number}">{_detail(result)}</template>'


def _counts(report: Report) -> list[tuple[str, int]]:
    refused = report.count(Verdict.REFUSED)
    unexpected = len(report.unexpected)
    counts = [
        ("work", report.count(Verdict.WORKS)),
        ("refused, expected", refused - unexpected),
        ("refused, not expected", unexpected),
        ("wrong", report.count(Verdict.WRONG)),
        ("leak", sum(result.verdict is Verdict.LEAKS for result in report.failures)),
        ("crash", report.count(Verdict.CRASHES)),
    ]
    if unchecked := report.count(Verdict.UNCHECKED):
        counts.append(("unchecked", unchecked))
    return counts


def _legend() -> Iterator[str]:
    yield '<ul class="legend">'
    for kind, (letter, text) in _KINDS.items():
        yield f'<li><span class="cell {kind}" aria-hidden="true">{letter}</span>{text}</li>'
    yield "</ul>"


def _cell(result: Result, number: int) -> str:
    kind = _kind(result)
    label = escape(f"{result.title}: {kind}")
    return (
        f'<button class="cell {kind}" data-info="d{number}" aria-label="{label}" '
        f'aria-expanded="false">{_KINDS[kind][0]}</button>'
    )


def _detail(result: Result) -> str:
    lines = [
        f"<h3>{escape(result.title)}</h3>",
        f"<p><b>{escape(_word(result))}</b>, {1000 * result.seconds:.0f} ms</p>",
        f"<p>{escape(result.detail)}</p>",
    ]
    if result.reason is not None:
        lines.append(f"<p>expected: {escape(result.reason)}</p>")
    if result.errors:
        lines.append(f"<pre>{escape(result.errors)}</pre>")
    return "".join(lines)


def _word(result: Result) -> str:
    return "refused, not expected" if result.unexpected else str(result.verdict)


def _list(report: Report) -> Iterator[str]:
    """Everything that does not work, worst first, to read and to search."""
    order = list(_KINDS)[::-1]
    listed = [result for result in report.results if result.verdict is not Verdict.WORKS]
    if not listed:
        return
    yield '<section class="list"><h2>What does not work</h2><table>'
    for result in sorted(listed, key=lambda result: order.index(_kind(result))):
        kind = _kind(result)
        reason = ""
        if result.reason is not None:
            reason = f'<br><span class="faint">expected: {escape(result.reason)}</span>'
        yield (
            f'<tr><td><span class="cell {kind}">{_KINDS[kind][0]}</span></td>'
            f"<td>{escape(result.title)}</td><td>{escape(result.detail)}{reason}</td></tr>"
        )
    yield "</table></section>"


def _stale(report: Report) -> Iterator[str]:
    if not report.stale:
        return
    yield '<section class="list"><h2>Expected to be refused, but works now</h2><table>'
    for entry in report.stale:
        yield (
            f"<tr><td></td><td>{escape(entry.operation)}</td><td>{escape(entry.reason)}</td></tr>"
        )
    yield "</table></section>"
