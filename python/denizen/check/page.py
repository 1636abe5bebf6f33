"""The report as one page that needs nothing else: a coloured cell for each operation."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

from .judge import Verdict
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

_STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_SCRIPT = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")


def page(report: Report) -> str:
    """The report as HTML: one page, with nothing to load."""
    return "\n".join(_parts(report))


def _kind(result: Result) -> str:
    if result.unexpected:
        return "unexpected"
    return "numpy" if result.verdict is Verdict.LEAKS and not result.fails else str(result.verdict)


def _parts(report: Report) -> Iterator[str]:
    title = html.escape(f"{report.type} on NumPy {report.numpy}")
    yield "<!doctype html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{title}: denizen check</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style></head><body>"
    yield f"<h1>{title}</h1>"
    yield (
        f'<div class="faint">{len(report.results)} operations of NumPy, each in a process of its '
        f"own, compared with the same operation on Python objects. Python "
        f"{html.escape(report.python)}, denizen {html.escape(report.denizen)}, "
        f"{report.seconds:.1f} s. Values: {html.escape(report.values)}; compared by "
        f"{html.escape(report.compared_by)}.</div>"
    )
    for note in report.notes:
        yield f'<div class="note">{html.escape(note)}</div>'
    yield from _tiles(report)
    yield from _legend()
    yield '<div class="sections">'
    number = 0
    for section, results in report.sections().items():
        works = sum(result.verdict is Verdict.WORKS for result in results)
        yield f"<section><h2>{html.escape(section)} <small>{works} of {len(results)}</small></h2>"
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
    yield f"<script>{_SCRIPT}</script></body></html>"


def _tiles(report: Report) -> Iterator[str]:
    refused = report.count(Verdict.REFUSED)
    unexpected = len(report.unexpected)
    tiles = [
        ("work", report.count(Verdict.WORKS)),
        ("refused, expected", refused - unexpected),
        ("refused, not expected", unexpected),
        ("wrong", report.count(Verdict.WRONG)),
        ("leak", sum(result.verdict is Verdict.LEAKS for result in report.failures)),
        ("crash", report.count(Verdict.CRASHES)),
    ]
    if unchecked := report.count(Verdict.UNCHECKED):
        tiles.append(("unchecked", unchecked))
    yield '<ul class="tiles">'
    for name, count in tiles:
        yield f"<li><b>{count}</b>{name}</li>"
    yield "</ul>"


def _legend() -> Iterator[str]:
    yield '<ul class="legend">'
    for kind, (letter, text) in _KINDS.items():
        yield f'<li><span class="cell {kind}" aria-hidden="true">{letter}</span>{text}</li>'
    yield "</ul>"


def _cell(result: Result, number: int) -> str:
    kind = _kind(result)
    label = html.escape(f"{result.title}: {kind}", quote=True)
    return (
        f'<button class="cell {kind}" data-info="d{number}" aria-label="{label}" '
        f'aria-expanded="false">{_KINDS[kind][0]}</button>'
    )


def _detail(result: Result) -> str:
    lines = [
        f"<h3>{html.escape(result.title)}</h3>",
        f"<p><b>{html.escape(_word(result))}</b>, {1000 * result.seconds:.0f} ms</p>",
        f"<p>{html.escape(result.detail)}</p>",
    ]
    if result.reason is not None:
        lines.append(f"<p>expected: {html.escape(result.reason)}</p>")
    if result.errors:
        lines.append(f"<pre>{html.escape(result.errors)}</pre>")
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
            reason = f'<br><span class="faint">expected: {html.escape(result.reason)}</span>'
        yield (
            f'<tr><td><span class="cell {kind}">{_KINDS[kind][0]}</span></td>'
            f"<td>{html.escape(result.title)}</td><td>{html.escape(result.detail)}{reason}</td></tr>"
        )
    yield "</table></section>"


def _stale(report: Report) -> Iterator[str]:
    if not report.stale:
        return
    yield '<section class="list"><h2>Expected to be refused, but works now</h2><table>'
    for entry in report.stale:
        yield (
            f"<tr><td></td><td>{html.escape(entry.operation)}</td>"
            f"<td>{html.escape(entry.reason)}</td></tr>"
        )
    yield "</table></section>"
