"""The command `denizen audit`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TextIO

from . import program
from .audit import Audit
from .page import page

__all__ = ["DESCRIPTION", "LEAKED", "add_arguments"]

#: The exit status of a program that ended well and leaks.
LEAKED = 3

DESCRIPTION = f"""\
Runs a Python program and reports what happened to the objects of every element type: how many
were constructed, copied, relocated and destroyed, which of them are alive at the end and where
they were made, which were built in memory of NumPy's own and by which operation, and which bits
of init bitmaps were corrected.

Arrays that module globals hold at the end are no leak: when the program has ended, with its
threads and its atexit functions, __main__ and the modules that it imported are dropped (those of
installed packages stay), caches of functools are emptied, garbage is collected, and then the
report is made.

The report goes to stderr, so that stdout is the program's. The exit status is the program's own;
where that is 0 and objects are alive, it is {LEAKED}. 2: there is no such program.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command, and the function that runs it."""
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON; - is stdout")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page to look at")
    parser.add_argument(
        "--trace", action="store_true", help="keep the whole stack of every allocation"
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="SCRIPT is the name of a module"
    )
    parser.add_argument("script", metavar="SCRIPT", help="the program")
    parser.add_argument(
        "arguments", metavar="...", nargs=argparse.REMAINDER, help="the program's arguments"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    target = " ".join([*(["-m"] if options.is_module else []), options.script, *options.arguments])
    before = list(sys.modules)
    process = os.getpid()
    here, streams = os.getcwd(), (sys.stdout, sys.stderr)
    audit = Audit(trace=options.trace, raises=False, target=target)
    with audit:
        try:
            status = program.run(options.script, options.arguments, is_module=options.is_module)
        except program.ProgramError as error:
            print(f"denizen: {error}", file=sys.stderr)
            return 2
        if os.getpid() != process:
            # A child that the program forked: the report is the parent's.
            return status
        program.wait_for_end()
        program.clear_up(before)
        audit.stop()
    _come_back(here, streams)
    report = audit.to_dict()
    print(f"\n{audit}", file=sys.stderr)
    if options.json == "-":
        print(audit.to_json())
    elif options.json is not None:
        Path(options.json).write_text(audit.to_json() + "\n", encoding="utf-8")
    if options.html is not None:
        options.html.write_text(page(dict(report)), encoding="utf-8")
    leaked = any(figures["leaked"] for figures in report["types"].values())
    return LEAKED if status == 0 and leaked else status


def _come_back(here: str, streams: tuple[TextIO, TextIO]) -> None:
    """The directory and the streams that the command began with: the program may have put others in
    their place, or closed them."""
    # The directory may be gone.
    with contextlib.suppress(OSError):
        os.chdir(here)
    for stream in (sys.stdout, sys.stderr):
        # The program's, whatever those are by now.
        with contextlib.suppress(Exception):
            stream.flush()
    sys.stdout, sys.stderr = (
        _opened(stream, descriptor) for descriptor, stream in enumerate(streams, start=1)
    )


def _opened(stream: TextIO, descriptor: int) -> TextIO:
    """The stream, or another to the same place where the program closed it."""
    if not stream.closed:
        return stream
    try:
        return open(descriptor, "w", encoding=stream.encoding, closefd=False)
    except OSError:
        # Closed as well: what is written to files is all that remains.
        return open(os.devnull, "w", encoding=stream.encoding)
