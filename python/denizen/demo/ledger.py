"""The ledger: objects constructed, destroyed and still alive, from the runtime's own counters."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

from .. import _runtime

Result = TypeVar("Result")


@dataclass(frozen=True)
class Ledger:
    """Objects of all element types over one computation."""

    #: Objects built, copies included.
    constructed: int
    #: Objects destroyed.
    destroyed: int
    #: Objects more alive than before; 0 when each was destroyed.
    live: int

    @property
    def balances(self) -> bool:
        """Whether every object that was built was destroyed, once."""
        return self.live == 0 and self.constructed == self.destroyed

    def __str__(self) -> str:
        return f"{self.constructed:,} constructed, {self.destroyed:,} destroyed, {self.live:,} live"


def counted(compute: Callable[[], Result]) -> tuple[Result, float, Ledger]:
    """Run `compute`; return its result, the seconds it took, and the ledger afterwards.

    The result must hold no array, else its elements are counted as alive.
    """
    before = _totals()
    start = perf_counter()
    result = compute()
    seconds = perf_counter() - start
    after = _totals()
    return result, seconds, Ledger(*(now - then for now, then in zip(after, before, strict=True)))


def _totals() -> tuple[int, int, int]:
    """Constructed, destroyed and live objects of all types together."""
    gc.collect()
    counters = _runtime.stats().values()
    return (
        sum(counter["constructed"] for counter in counters),
        sum(counter["destroyed"] for counter in counters),
        sum(counter["live"] for counter in counters),
    )
