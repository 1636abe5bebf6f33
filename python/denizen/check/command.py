"""The command `denizen check`."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

from .._files import cannot_write

__all__ = ["add_arguments"]

_DAY = 86400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command, and the function that runs it."""
    parser.add_argument(
        "element",
        metavar="MODULE:TYPE",
        nargs="?",
        help="a scalar class, DType class or dtype; the module may be in the current directory",
    )
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        help="operations whose 'section: name' has this part, or is this shell pattern",
    )
    parser.add_argument(
        "--section", metavar="PATTERN", help="sections with this part, or of this shell pattern"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_jobs, help="processes at a time (default: cores)"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        default=20.0,
        help="seconds an operation (default: 20)",
    )
    parser.add_argument(
        "--values",
        metavar="MODULE:NAME",
        help="a list of scalars of the type, or a function that returns one (24 or more)",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything as JSON")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page to look at")
    parser.add_argument(
        "--expected",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a file of refusals that are as they should be, beside the bundled one",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 for refusals that nobody expects, too"
    )
    parser.add_argument(
        "--faults",
        action="store_true",
        help="run each operation again and again, each of its steps failing once",
    )
    parser.add_argument(
        "--kind",
        metavar="KIND",
        action="append",
        help="with --faults: what fails: allocation, element (the default: both), heap, or "
        "MODULE:NAME of what counts and fails by itself",
    )
    parser.add_argument(
        "--every",
        metavar="N",
        type=_jobs,
        default=1,
        help="with --faults: every N-th operation only",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_jobs,
        default=300,
        help="with --faults: most steps of an operation that fail (default: 300)",
    )
    parser.add_argument("--list", action="store_true", help="list the operations, and run none")
    parser.add_argument("--verbose", action="store_true", help="show the operations that work, too")
    parser.set_defaults(run=_run)


def _jobs(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes, 1 or more")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    # Neither NaN nor infinity.
    if not 1.0 <= number <= _DAY:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds, 1 or more, up to a day"
        )
    return number


def _contradiction(options: argparse.Namespace) -> str | None:
    """Options that would do nothing together."""
    if options.faults and options.html is not None:
        return "--html shows a check without faults; with --faults write --json FILE"
    if options.kind and not options.faults:
        return "--kind says what fails with --faults: add --faults"
    return None


def _run(options: argparse.Namespace) -> int:
    # Imported here: the other commands need none of the operations.
    from .report.page import page
    from .runner import run, selected
    from .subject.element import ElementError, find_dtype, find_values
    from .verdict import ExpectedError

    if options.list:
        for operation in selected(options.only, options.section):
            print(operation.title)
        return 0
    if options.element is None:
        print("denizen check: name an element type, as in denizen:Integer", file=sys.stderr)
        return 2
    if problem := _contradiction(options):
        print(f"denizen check: {problem}", file=sys.stderr)
        return 2
    files = [path for path in (options.json, options.html) if path is not None]
    for problem in filter(None, map(cannot_write, files)):
        print(f"denizen check: {problem}", file=sys.stderr)
        return 2
    if options.faults:
        return _run_faults(options)
    # As Ctrl-C does: what was begun is cleaned up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    bar = _Bar()
    try:
        find_dtype(options.element)
        if not selected(options.only, options.section):
            raise ElementError("no operation matches; --list shows all")
        report = run(
            options.element,
            only=options.only,
            section=options.section,
            jobs=options.jobs,
            timeout=options.timeout,
            values=find_values(options.values) if options.values else None,
            expected=options.expected,
            progress=bar.show,
        )
    except (ElementError, ExpectedError) as error:
        print(f"denizen check: {error}", file=sys.stderr)
        return 2
    finally:
        bar.clear()
    print(report.table(options.verbose))
    try:
        if options.json is not None:
            options.json.write_text(report.to_json(), encoding="utf-8")
        if options.html is not None:
            options.html.write_text(page(report), encoding="utf-8")
    except OSError as error:
        print(f"denizen check: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return report.status(options.strict)


def _run_faults(options: argparse.Namespace) -> int:
    from .faults import run_faults
    from .faults.source import ENVIRONMENT, restart_with_faults
    from .runner import selected
    from .subject.element import ElementError, find_dtype, find_values

    kinds = options.kind or ["allocation", "element"]
    if "element" in kinds and os.environ.get(ENVIRONMENT) != "1":
        restart_with_faults()
    # As Ctrl-C does: what was begun is cleaned up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    bar = _Bar()
    try:
        find_dtype(options.element)
        if not selected(options.only, options.section):
            raise ElementError("no operation matches; --list shows all")
        report = run_faults(
            options.element,
            kinds,
            only=options.only,
            section=options.section,
            every=options.every,
            jobs=options.jobs,
            limit=options.limit,
            timeout=options.timeout,
            values=find_values(options.values) if options.values else None,
            progress=bar.show_faults,
        )
    except ElementError as error:
        print(f"denizen check: {error}", file=sys.stderr)
        return 2
    finally:
        bar.clear()
    print(report.table())
    try:
        if options.json is not None:
            options.json.write_text(report.to_json(), encoding="utf-8")
    except OSError as error:
        print(f"denizen check: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return report.status()


class _Bar:
    """Progress on standard error: a bar on a terminal, else a line for each tenth and failure."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._failures = 0
        self._tenth = 0

    def show(self, done: int, total: int, result: object) -> None:
        from .report import Result

        assert isinstance(result, Result)
        self._failures += result.fails
        if self._terminal:
            self._draw(done, total, result.title)
            return
        if result.fails:
            print(f"{result.verdict}: {result.title}", file=sys.stderr)
        if done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            print(f"{done} of {total} operations", file=sys.stderr)

    def show_faults(self, done: int, total: int, findings: int) -> None:
        """Progress of a run with faults."""
        self._failures = findings
        if self._terminal:
            self._draw(done, total, "")
        elif done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            print(f"{done} of {total} operations, {findings} findings", file=sys.stderr)

    def _draw(self, done: int, total: int, title: str) -> None:
        width = shutil.get_terminal_size().columns
        filled = 30 * done // total
        failed = f", {self._failures} failed" if self._failures else ""
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total}{failed}  {title}"
        print(f"\r\x1b[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the bar away."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
