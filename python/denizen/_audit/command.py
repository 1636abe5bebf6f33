"""The command `denizen audit`."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

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

Options come before the program's name; what stands behind it is the program's.

The report goes to stderr, so that stdout is the program's. The exit status is the program's own;
where that is 0 and objects are alive, it is {LEAKED}. 2: there is no such program, or a
report cannot be written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command, and the function that runs it."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write everything as JSON; with - as the last line of stdout, behind the program's",
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page to look at")
    parser.add_argument(
        "--trace", action="store_true", help="keep the whole stack of every allocation"
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="SCRIPT is the name of a module"
    )
    # One argument for both: apart, a `--` between them would be lost.
    parser.add_argument(
        "program",
        metavar="SCRIPT",
        nargs=argparse.PARSER,
        help="the program, and its arguments: options behind its name are its own",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    script, *arguments = options.program[options.program[0] == "--" :]
    target = " ".join([*(["-m"] if options.is_module else []), script, *arguments])
    wanted = [
        (Path(file).absolute(), content)
        for file, content in ((options.json, _as_json), (options.html, _as_page))
        if file not in (None, "-")
    ]
    for hint in _misplaced(options, script, arguments):
        print(f"denizen: {hint}", file=sys.stderr, flush=True)
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
            status = program.run(script, arguments, is_module=options.is_module)
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
        audit.modules_end()
        program.clear_up(before)
        daemons = program.daemons()
        audit.stop()
    _come_back(here, streams)
    report = audit.to_dict()
    report["notes"] += _notes(daemons)
    written = [_write(file, content(audit)) for file, content in wanted]
    # When the files are there: the other end of the streams may be closed.
    written.append(_write(sys.stderr, f"\n{audit}\n"))
    if options.json == "-":
        # What the program printed may end within a line.
        written.append(_write(sys.stdout, f"\n{audit.to_json(indent=None)}\n"))
    if not all(written):
        return 2
    leaked = any(figures["leaked"] for figures in report["types"].values())
    return LEAKED if status == 0 and leaked else status


#: Options of the command that a program's arguments may have been meant for, and whether they take
#: a value.
_OPTIONS = {"--json": True, "--html": True, "--trace": False}


def _misplaced(options: argparse.Namespace, script: str, arguments: Sequence[str]) -> Iterator[str]:
    """What to say of options of ours that stand behind the program's name, if any do: there they
    are the program's, which may know some of the same name."""
    found: list[str] = []
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        name, separator, _ = argument.partition("=")
        # One that stands in front of the program as well is ours: the user knows the difference.
        if name in _OPTIONS and not getattr(options, name.lstrip("-")):
            end = index + 1 + (_OPTIONS[name] and not separator)
            found += arguments[index:end]
    if found:
        target = shlex.join([*(["-m"] if options.is_module else []), script])
        yield (
            f"{shlex.join(found)} went to the program; options of denizen audit come before its "
            f"name: denizen audit {shlex.join(found)} {target}"
        )


def _as_json(audit: Audit) -> str:
    return audit.to_json() + "\n"


def _as_page(audit: Audit) -> str:
    return page(dict(audit.to_dict()))


def _write(target: Path | TextIO, content: str) -> bool:
    """Whether a report could be written; where not, it is said."""
    try:
        if isinstance(target, Path):
            target.write_text(content, encoding="utf-8")
        else:
            target.write(content)
            target.flush()
    except OSError as error:
        name = target if isinstance(target, Path) else target.name
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


def _notes(daemons: Sequence[str]) -> Iterator[str]:
    """What else is to be known of a program's end."""
    if daemons:
        names = ", ".join(map(repr, daemons))
        yield (
            f"still running: {_plural('daemon thread', len(daemons))} {names}; modules were "
            "dropped but not emptied, so globals that running functions use count as leaks"
        )


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
