"""`integrity` and `check_memory`: memory that was overwritten, found early and named."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from . import _runtime


class integrity:
    """Switch the thorough checks of array memory on or off, for good or for a block.

    >>> denizen.integrity(True)      # from here on, in all threads  # doctest: +SKIP
    >>> with denizen.integrity():    # on in the block, then as before
    ...     a = np.zeros(3, denizen.Integer)

    Arrays made while it is on get canaries on both sides whatever their size, and their cells are
    compared with the init bitmap when they are freed or resized: a write past their end, in front
    of them or over their objects is reported as an `IntegrityError` through `sys.unraisablehook`,
    which names the array's memory. Headers and small arrays are checked always. The environment
    variable `DENIZEN_INTEGRITY=1` (or true, yes, on) has it on from the import on. For the whole
    process. Where an array was made is known while an `audit` runs only.
    """

    def __init__(self, enabled: bool = True, /) -> None:
        self._before = _runtime._set_integrity(enabled)

    def __enter__(self) -> integrity:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _runtime._set_integrity(self._before)


@dataclass(frozen=True)
class Finding:
    """Memory of an array that was overwritten by what does not own it."""

    #: Address of the first cell; of the whole block where its header cannot be believed.
    address: int
    #: The element type's name; None where it is not known.
    type: str | None
    #: How many cells; None where that is not known.
    cells: int | None
    #: What was overwritten: "header", "fields" (of the header), "lock", "upstream record", "front"
    #: (the bytes in front of the cells), "behind" (those behind them), "bitmap" or "cells".
    part: str
    #: Where the array was made, "script.py:12 in main"; None unless an audit keeps a record.
    site: str | None
    #: One sentence with all of it, and the bytes that were found.
    message: str

    def __str__(self) -> str:
        return self.message


def check_memory() -> list[Finding]:
    """Check the memory of all living arrays now: headers, canaries, and cells against their bitmap.

    Returns what is corrupted, an empty list where nothing is. Takes time in proportion to the
    memory of all arrays. What was reported before, when an array was freed, is left out. Cells that
    another thread is at work on are not looked at.
    """
    return [
        Finding(
            address=raw["address"],
            type=raw["type"],
            cells=raw["cells"],
            part=raw["part"],
            site=raw["site"],
            message=raw["message"],
        )
        for raw in _runtime.check_memory_raw()
    ]
