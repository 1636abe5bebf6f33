"""The command `denizen audit`."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from .. import _runtime
from .._files import cannot_write
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
report is made. What happens in child processes is not counted.

The report goes to stderr, so that stdout is the program's. The exit status is the program's own;
where that is 0 and objects are alive, it is {LEAKED}. 2: there is no such program, or a
report cannot be written.
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
    wanted = [
        (Path(file).absolute(), content)
        for file, content in ((options.json, _as_json), (options.html, _as_page))
        if file not in (None, "-")
    ]
    # The program may take long, or change the directory.
    for problem in filter(None, (cannot_write(file) for file, _ in wanted)):
        print(f"denizen: {problem}", file=sys.stderr)
        return 2
    before = list(sys.modules)
    process = os.getpid()
    depth = sys.getrecursionlimit()
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
        # The report needs more than a program that lowered it.
        sys.setrecursionlimit(depth)
        gc.collect()
        held = _live()
        program.clear_up(before)
        daemons = program.daemons()
        audit.stop()
    _come_back(here, streams)
    report = audit.to_dict()
    held -= Counter({name: figures["live"] for name, figures in report["types"].items()})
    report["notes"] += _notes(held, daemons)
    written = [_write(file, content(audit)) for file, content in wanted]
    # When the files are there: nobody may be at the other end of the streams.
    written.append(_write(sys.stderr, f"\n{audit}\n"))
    if options.json == "-":
        written.append(_write(sys.stdout, _as_json(audit)))
    if not all(written):
        return 2
    leaked = any(figures["leaked"] for figures in report["types"].values())
    return LEAKED if status == 0 and leaked else status


def _as_json(audit: Audit) -> str:
    return audit.to_json() + "\n"


def _as_page(audit: Audit) -> str:
    return page(dict(audit.to_dict()))


def _write(place: Path | TextIO, content: str) -> bool:
    """Whether a report could be written; where not, it is said."""
    try:
        if isinstance(place, Path):
            place.write_text(content, encoding="utf-8")
        else:
            place.write(content)
            place.flush()
    except OSError as error:
        name = place if isinstance(place, Path) else place.name
        with contextlib.suppress(OSError):
            print(f"denizen: cannot write {name}: {error.strerror}", file=sys.stderr)
        return False
    return True


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


def _live() -> Counter[str]:
    """Live objects by type."""
    return Counter({name: figures["live"] for name, figures in _runtime.stats().items()})


def _notes(held: Mapping[str, int], daemons: Sequence[str]) -> Iterator[str]:
    """What else is to be known of a program's end."""
    for name, count in held.items():
        objects = "objects were" if count != 1 else "object was"
        yield f"{count:,} {name} {objects} held by the program's modules until they were dropped"
    if daemons:
        names = ", ".join(map(repr, daemons))
        yield (
            f"still running: {_plural('daemon thread', len(daemons))} {names}; modules were "
            "dropped but not emptied, so globals that running functions use count as leaks"
        )


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
