"""The command line: `denizen demo`, `check`, `audit` and `info` (also `python -m denizen ...`)."""

from __future__ import annotations

import argparse
import platform
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np

import denizen

from ._audit import command as audit_command
from ._numpy_patches import patches
from .check import command as check_command
from .demo import run_demo, run_fit
from .demo.tables import DataError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, 1 for a failure, 2 for unusable input."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.include_dir:
        print(denizen.get_include())
        return 0
    if options.cmake_dir:
        print(denizen.get_cmake_dir())
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    try:
        return int(options.run(options))
    except DataError as error:
        print(f"denizen: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output is gone (`denizen demo | head`); say nothing more.
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    """One subparser a command; each names the function that runs it."""
    parser = argparse.ArgumentParser(
        prog="denizen", description="Rust and C++ objects as elements of NumPy arrays."
    )
    parser.add_argument("--version", action="version", version=f"denizen {denizen.__version__}")
    parser.add_argument("--include-dir", action="store_true", help="print the C and C++ headers")
    parser.add_argument("--cmake-dir", action="store_true", help="print the CMake package")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="solve certified problems exactly, with every object counted",
        description="Solves problems of the NIST Statistical Reference Datasets in exact "
        "arithmetic, or fits a model to your own file.",
    )
    demo.add_argument("--data", metavar="FILE.csv", help="a CSV file with a header row")
    demo.add_argument("--fit", metavar="MODEL", help="the model, as in 'y ~ x1 + x2 + x2^2'")
    demo.set_defaults(run=_demo)

    check = commands.add_parser(
        "check",
        help="run NumPy's operations on an element type and judge each",
        description="Runs operations of NumPy's on a registered element type, each in a process "
        "of its own, and compares with the same operation on Python objects. Exit status: 1 when "
        "a result is wrong, objects leak or a process crashes, 2 when the type cannot be checked.",
    )
    check_command.add_arguments(check)

    audit = commands.add_parser(
        "audit",
        help="run a program and report what happened to its objects",
        description=audit_command.DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit_command.add_arguments(audit)

    info = commands.add_parser("info", help="print versions, types and what works here")
    info.add_argument(
        "--patches", action="store_true", help="print what an import of denizen changes in NumPy"
    )
    info.set_defaults(run=_info)
    return parser


def _demo(options: argparse.Namespace) -> int:
    if (options.data is None) != (options.fit is None):
        raise DataError("--data and --fit belong together: --data FILE.csv --fit 'y ~ x1 + x2'")
    return run_fit(options.data, options.fit) if options.data else run_demo()


def _info(options: argparse.Namespace) -> int:
    if options.patches:
        return _print_patches()
    probe = np.zeros(3, dtype=denizen.Rational)
    managed = denizen.owner(probe) == "managed"
    system = f"{platform.system()} {platform.machine()}"
    rows = [
        ("denizen", denizen.__version__),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()}, {system})"),
        ("NumPy", np.__version__),
        ("handler here", denizen.handler_name()),
        ("handler of a new array of Rational", denizen.handler_name(probe) or "none"),
        (
            "arming",
            "works: new arrays get managed segments"
            if managed
            else "does not work on this NumPy: arrays live by their cells, without headers",
        ),
        ("headers", denizen.get_include()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    print("registered types")
    for name in denizen.types():
        print(f"  {name}")
    return 0


def _print_patches() -> int:
    """One paragraph a patch: what became of it here, and its row of `docs/numpy.md`."""
    found = patches()
    counts = Counter(patch.state for patch in found)
    print(f"NumPy {np.__version__}: {', '.join(f'{n} {state}' for state, n in counts.items())}")
    for patch in found:
        until = "every NumPy" if patch.until == "open" else f"NumPy below {patch.until}"
        safe = ", keeps memory safe" if patch.keeps == "memory" else ""
        print(f"\n{patch.name}: {patch.state} ({until}{safe})")
        for label, text in (
            ("replaces", patch.replaces),
            ("because", patch.wrong),
            ("instead", patch.instead),
        ):
            print(
                textwrap.fill(
                    text.replace("`", ""),
                    width=100,
                    initial_indent=f"  {label:<10}",
                    subsequent_indent=" " * 12,
                    break_on_hyphens=False,
                )
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
