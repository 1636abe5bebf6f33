"""`inspect`: what an array's memory holds, as attributes and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _runtime

#: Most characters in a line of the bitmap, and most lines.
_LINE = 64
_LINES = 8


@dataclass(frozen=True, repr=False)
class Inspection:
    """The memory of one array at the moment of the call.

    `print` it to see the init bitmap: `#` is a cell (or a group of cells) with live objects, `.`
    one without, `+` a group with some of both.
    """

    #: "managed" (our segment), "adopted" (memory of a C++ or Rust owner) or "foreign".
    owner: str
    #: The element type's name, `module.Name`.
    type: str
    #: Cells in the segment that the array's memory belongs to; in foreign memory, the array's.
    cells: int
    #: Live objects among them.
    live: int
    #: One entry a cell: True where an object was built. Empty where there is no header.
    bitmap: tuple[bool, ...]
    #: Bytes of the cells.
    bytes: int
    #: Bytes that the live objects own on the heap beside their cells; None where the type cannot
    #: tell.
    heap_bytes: int | None
    #: Address of the first cell.
    address: int
    #: Elements of the array that was looked at: fewer than `cells` in a view of part of a segment.
    size: int
    #: Whether the array's memory is a segment in which nothing was built, so that it has no bitmap.
    untouched: bool
    #: What something overwrote in the array's memory; None where it is intact (of
    #: foreign and adopted memory nothing is known).
    corruption: str | None

    @property
    def integrity(self) -> str:
        """What is wrong with the memory, or "intact"; "unknown" where there is no header."""
        if self.corruption is not None:
            return self.corruption
        return "intact" if self.owner == "managed" else "unknown"

    def __repr__(self) -> str:
        heap = "unknown" if self.heap_bytes is None else f"{self.heap_bytes:,} bytes"
        whole = ""
        if self.size < self.cells:
            whole = f", of the whole segment (the array has {self.size:,})"
        lines = [
            f"{self.type}: {self.owner} memory at {self.address:#x}",
            f"  cells  {self.cells:,} ({self.bytes:,} bytes), {self.live:,} live{whole}",
            f"  heap   {heap}",
            f"  memory {self.integrity}",
        ]
        if self.untouched:
            lines.append("  init bitmap: none, the segment is untouched")
        picture, group = draw_bitmap(self.bitmap)
        if picture:
            scale = "" if group == 1 else f", {group} cells a character"
            lines.append(f"  init bitmap (# live, . vacant, + both{scale})")
            lines.extend("  " + line for line in picture)
        return "\n".join(lines)


def draw_bitmap(bits: tuple[bool, ...]) -> tuple[list[str], int]:
    """Draw bits as at most `_LINES` lines of text.

    Returns the lines and the number of cells that each character stands for.
    """
    group = max(1, -(-len(bits) // (_LINE * _LINES)))
    characters = []
    for start in range(0, len(bits), group):
        part = bits[start : start + group]
        characters.append("#" if all(part) else "+" if any(part) else ".")
    text = "".join(characters)
    return [text[start : start + _LINE] for start in range(0, len(text), _LINE)], group


def inspect(a: NDArray[Any]) -> Inspection:
    """Look at the memory of an array of a registered element type.

    Raises `TypeError` for anything else.
    """
    raw = _runtime.inspect_raw(a)
    return Inspection(
        owner=raw["owner"],
        type=raw["type"],
        cells=raw["cells"],
        live=raw["live"],
        bitmap=_unpack(raw["bitmap"], raw["cells"]),
        bytes=raw["bytes"],
        heap_bytes=raw["heap_bytes"],
        address=raw["address"],
        size=a.size,
        untouched=raw["untouched"],
        corruption=raw["corruption"],
    )


def _unpack(bitmap: Any, cells: int) -> tuple[bool, ...]:
    """The bitmap as the runtime gives it: bytes with the first cell in the lowest bit, or bools."""
    if bitmap is None:
        return ()
    if isinstance(bitmap, bytes):
        bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
        return tuple(bits[:cells].astype(bool).tolist())
    return tuple(bool(bit) for bit in bitmap)
