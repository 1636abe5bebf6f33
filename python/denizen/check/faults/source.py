"""What makes a step of an operation fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, Protocol

from ... import _runtime
from ..subject.element import ElementError, named

__all__ = [
    "ENVIRONMENT",
    "KINDS",
    "PLANNED",
    "RuntimeSource",
    "Source",
    "restart_with_faults",
    "source_named",
]

#: Kinds of step that the runtime can make fail, and what they are.
KINDS = {
    "allocation": "a block of memory for an array, or what is allocated beside one",
    "heap": "a request of the runtime to its own heap: scratch space, ledger, messages",
    "element": "one element in an operation of its type",
}
#: What planned failures of elements say.
PLANNED = "planned fault"
#: Types that are registered while this is 1 count their elements.
ENVIRONMENT = "DENIZEN_FAULTS"


class Source(Protocol):
    """Steps of one kind, of which one can be made to fail.

    It may have an attribute `counts`, a mapping of names to numbers that are the same after each
    run as before it, such as that of the objects alive.
    """

    def plan(self, after: int | None, /) -> None:
        """Have the next step but `after` fail, once; with None, count them only."""

    def end(self) -> tuple[int, bool]:
        """End the plan: how many steps were made, and whether one failed."""


class RuntimeSource:
    """Steps that the runtime counts."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def plan(self, after: int | None, /) -> None:
        _runtime._plan_fault(self.kind, after)

    def end(self) -> tuple[int, bool]:
        return _runtime._end_fault()


def source_named(name: str) -> Source:
    """The source of a kind, or the object that MODULE:NAME names.

    Raises `ElementError` for anything else.
    """
    if name in KINDS:
        if name == "element" and os.environ.get(ENVIRONMENT) != "1":
            raise ElementError(
                f"elements are not counted in this process: start it with {ENVIRONMENT}=1 in its "
                "environment, as the command line does by itself"
            )
        return RuntimeSource(name)
    what = f"a source of faults (or one of {', '.join(KINDS)})"
    found = named(name, what, "sources of faults", _sources_of)
    if not _is_source(found):
        raise ElementError(f"{name} is no source of faults: it has no functions plan and end")
    source: Source = found
    return source


def _is_source(found: Any) -> bool:
    return all(callable(getattr(found, name, None)) for name in ("plan", "end"))


def _sources_of(module: Any) -> Iterator[str]:
    """The names in a module that are sources of faults."""
    return (name for name, value in vars(module).items() if _is_source(value))


def restart_with_faults() -> NoReturn:
    """Start this program again, so that all types count their elements."""
    os.environ[ENVIRONMENT] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
