"""`audit`: a block that must leave no object behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .. import _runtime


class LeakError(AssertionError):
    """Objects outlived an `audit` block.

    `leaks` maps the names of the types to the number of objects that are still alive.
    """

    leaks: dict[str, int]

    def __init__(self, leaks: Mapping[str, int]) -> None:
        self.leaks = dict(leaks)
        counted = ", ".join(
            f"{count} {name} object{'s' if count != 1 else ''}"
            for name, count in sorted(self.leaks.items())
        )
        super().__init__(f"{counted} outlived the audit block")


@contextmanager
def audit() -> Iterator[None]:
    """Raise `LeakError` when objects that were built in the block outlive it.

    Garbage is collected first, on entry and on exit, so that only reachable objects count; bind
    no array to a name that lives longer than the block. Every element type is watched, those
    registered in the block too. Blocks nest. An exception from the block passes through
    unchanged, without a check: its traceback keeps arrays alive.
    """
    before = _live()
    yield
    leaks = {
        name: count - before.get(name, 0)
        for name, count in _live().items()
        if count > before.get(name, 0)
    }
    if leaks:
        raise LeakError(leaks)


def _live() -> dict[str, int]:
    """Live objects of every type, once the garbage is gone."""
    gc.collect()
    return {name: counters["live"] for name, counters in _runtime.stats().items()}
