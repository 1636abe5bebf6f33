"""The report as one page that needs nothing else: a coloured cell for each operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._viewer import show
from ..verdict.judge import Verdict
from .report import Report, Result

__all__ = ["page"]

#: The letter of a cell, and what the legend says.
_CELLS: dict[str, tuple[str, str]] = {
    "works": ("", "works: equal to the same operation on Python objects"),
    "refused": ("R", "refused, as expected: the message says why"),
    "unexpected": ("?", "refused, though nobody expects it"),
    "numpy": ("N", "leaks, which is NumPy's own fault, of any dtype"),
    "unchecked": ("u", "unchecked: nothing to compare the result with"),
    "wrong": ("W", "wrong: another result, or another exception, than objects give"),
    "leaks": ("L", "leaks: objects outlive everything that held them"),
    "crashes": ("X", "crashes: the process died or did not end"),
}

_Data = dict[str, Any]


def page(report: Report) -> str:
    """The report as HTML: one page, with nothing to load."""
    heading = f"{report.type} on NumPy {report.numpy}"
    return show(
        {
            "title": f"{heading}: denizen check",
            "heading": heading,
            "circumstances": f"{len(report.results)} operations of NumPy, each in a process of its "
            "own, compared with the same operation on Python objects. Python "
            f"{report.python}, denizen {report.denizen}, {report.seconds:.1f} s. Values: "
            f"{report.values}; compared by {report.compared_by}.",
            "notes": [{"text": note} for note in report.notes],
            "totals": {
                "tiles": [{"name": name, "count": f"{count:,}"} for name, count in _counts(report)]
            },
            "verdicts": {
                "legend": [
                    {"verdict": name, "letter": letter, "text": text}
                    for name, (letter, text) in _CELLS.items()
                ],
                "sections": list(_sections(report)),
                "lists": list(_lists(report)),
                "details": [_detail(result, n) for n, result in enumerate(report.results)],
            },
        }
    )


def _verdict(result: Result) -> str:
    if result.unexpected:
        return "unexpected"
    return "numpy" if result.verdict is Verdict.LEAKS and not result.fails else str(result.verdict)


def _cell(result: Result) -> _Data:
    verdict = _verdict(result)
    return {"verdict": verdict, "letter": _CELLS[verdict][0]}


def _counts(report: Report) -> Iterator[tuple[str, int]]:
    refused = report.count(Verdict.REFUSED)
    unexpected = len(report.unexpected)
    yield "work", report.count(Verdict.WORKS)
    yield "refused, expected", refused - unexpected
    yield "refused, not expected", unexpected
    yield "wrong", report.count(Verdict.WRONG)
    yield "leak", sum(result.verdict is Verdict.LEAKS for result in report.failures)
    yield "crash", report.count(Verdict.CRASHES)
    if unchecked := report.count(Verdict.UNCHECKED):
        yield "unchecked", unchecked


def _sections(report: Report) -> Iterator[_Data]:
    """Cells by section. Their numbers are those of the results in this order."""
    number = 0
    for name, results in report.sections().items():
        cells: list[_Data] = []
        for result in results:
            label = f"{result.title}: {_verdict(result)}"
            cells.append({**_cell(result), "number": number, "label": label})
            number += 1
        works = sum(result.verdict is Verdict.WORKS for result in results)
        yield {"name": name, "works": works, "count": len(results), "cells": cells}


def _detail(result: Result, number: int) -> _Data:
    return {
        "number": number,
        "title": result.title,
        "word": "refused, not expected" if result.unexpected else str(result.verdict),
        "milliseconds": f"{1000 * result.seconds:.0f}",
        "detail": result.detail,
        "reason": result.reason,
        "errors": result.errors,
    }


def _lists(report: Report) -> Iterator[_Data]:
    """Everything that does not work, worst first, to read and to search; and what works again."""
    order = list(_CELLS)[::-1]
    listed = [result for result in report.results if result.verdict is not Verdict.WORKS]
    if listed:
        entries = [
            {
                **_cell(result),
                "title": result.title,
                "detail": result.detail,
                "reason": result.reason,
            }
            for result in sorted(listed, key=lambda result: order.index(_verdict(result)))
        ]
        yield {"heading": "What does not work", "entries": entries}
    if report.stale:
        yield {
            "heading": "Expected to be refused, but works now",
            "entries": [{"title": e.operation, "detail": e.reason} for e in report.stale],
        }
