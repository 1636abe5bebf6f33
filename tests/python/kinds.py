"""Every element type that the tests register, as one list: how its values are made and read.

A `Kind` makes arrays of eight different values where the type has so many, through its own text,
conversions or casts. `read` gives the values as text, `plain` turns one text into the Python value
that a model computes with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import denizen_example as example
import denizen_raw as raw
import denizen_sorting as sorting
import numpy as np

import denizen

BIG = 2**100


@dataclass(frozen=True)
class Kind:
    element: Any
    #: What `make` starts from: texts, Python objects or numbers.
    sources: tuple
    #: Text of a cell in which nothing was built; None where reading one is an error.
    default: str | None = None
    #: How sources become an array.
    build: Callable[[Any, tuple], np.ndarray] | None = None
    #: NumPy type that the type is cast from and to.
    number: Any = None
    #: The Python value of a text, for types that add.
    plain: Callable[[str], Any] | None = None
    ordered: bool = False
    pickles: bool = False
    #: Text through this cast, where the type has no text of its own.
    text_cast: Any = None
    #: Whether a value can have a cell of zero bytes, so that it does not count as live.
    zero_counts: bool = True

    @property
    def name(self):
        return str(np.dtype(self.element))

    @property
    def copyable(self):
        return self.element is not sorting.Unique

    def make(self, count=8):
        sources = tuple(self.sources[i % len(self.sources)] for i in range(count))
        if self.build is None:
            return np.array(sources, dtype=self.element)
        return self.build(self.element, sources)

    def read(self, array):
        """Values as texts, in the order of C."""
        flat = np.asarray(array).ravel()
        if self.text_cast is not None:
            return [str(x) for x in flat.astype(self.text_cast)]
        if self.element is sorting.Opaque:
            return ["?"] * len(flat)
        return [str(x) for x in flat]

    def texts(self, array):
        """The same values as an array of Python strings, for NumPy to do the same with."""
        out = np.empty(np.shape(array), dtype=object)
        out.ravel()[:] = self.read(array)
        return out

    def stats(self):
        return denizen.stats()[self.name]


def item_by_item(element, sources):
    array = np.empty(len(sources), dtype=element)
    for index, source in enumerate(sources):
        array[index] = source
    return array


def from_numbers(dtype):
    return lambda element, sources: np.array(sources, dtype=dtype).astype(element)


def defaults(element, sources):
    """For types that nothing converts to: scalars of vacant cells are objects."""
    default = np.zeros(1, dtype=element)[0]
    return item_by_item(element, (default,) * len(sources))


INTEGERS = ("5", "-3", "17", "2", "40", "11", "-8", "9")
POSITIVE = ("5", "3", "17", "2", "40", "11", "8", "9")

BOMBS = {
    "sources": INTEGERS,
    "default": "0",
    "number": np.int64,
    "plain": int,
    "ordered": True,
    "pickles": True,
}

KINDS = {
    "Integer": Kind(
        denizen.Integer,
        (str(BIG), "0", "-3", str(BIG + 1), "7", str(-(BIG**2)), "1", "2"),
        default="0",
        number=np.int64,
        plain=int,
        ordered=True,
        pickles=True,
        zero_counts=False,
    ),
    "Rational": Kind(
        denizen.Rational,
        ("1/3", "0", f"{BIG}/7", "-5/2", "4", "22/7", f"-1/{BIG}", "9"),
        default="0",
        number=np.int64,
        plain=Fraction,
        ordered=True,
        pickles=True,
        zero_counts=False,
    ),
    "BigDecimal": Kind(
        example.BigDecimal,
        ("0.1", "-12345678901234567890.5", "3", "7.25", "2", "-1.5", "40", "11"),
        default="0",
        number=np.int64,
        plain=Decimal,
        ordered=True,
        pickles=True,
    ),
    "Dual": Kind(
        example.Dual,
        ((1.5, [1.0, 0.5]), 2.0, (-3.0, [2.0]), 0.25, 8.0, (7.0, [0.0, 1.0]), -1.0, 6.5),
        default="0 d[]",
        build=item_by_item,
        number=np.float64,
        plain=lambda text: float(text.split()[0]),
        ordered=True,
        pickles=True,
    ),
    "Ticket": Kind(raw.Ticket, POSITIVE, ordered=True, pickles=True),
    "Pinned": Kind(raw.Pinned, (None,), default="pinned", build=defaults),
    "Shared": Kind(raw.Shared, tuple("abcdefgh"), default="", plain=str, pickles=True),
    "Bomb": Kind(raw.Bomb, **BOMBS),
    "BoxedBomb": Kind(raw.BoxedBomb, **BOMBS),
    "InlineBomb": Kind(raw.InlineBomb, **BOMBS),
    "Unit": Kind(raw.Unit, ("unit",), default="unit", ordered=True, pickles=True),
    "Aligned": Kind(
        raw.Aligned,
        INTEGERS,
        default="0",
        number=np.int64,
        plain=int,
        ordered=True,
        pickles=True,
    ),
    "Old": Kind(
        raw.Old,
        (5, 3, 17, 2, 40, 11, 8, 9),
        default="0",
        build=from_numbers(np.uint32),
        number=np.uint32,
        plain=int,
        text_cast=np.uint32,
    ),
    "Number": Kind(
        sorting.Number,
        INTEGERS,
        default="0",
        number=np.int64,
        plain=int,
        ordered=True,
        pickles=True,
    ),
    "Compared": Kind(sorting.Compared, INTEGERS, default="0", ordered=True, pickles=True),
    "sorting.Ticket": Kind(sorting.Ticket, INTEGERS, ordered=True, pickles=True),
    "Opaque": Kind(sorting.Opaque, (5, 3, 17, 2), default="?", build=from_numbers(np.int64)),
    "Wide": Kind(sorting.Wide, (None,), default="aligned 2", build=defaults),
    "Unique": Kind(sorting.Unique, INTEGERS, default="0", text_cast="U30", ordered=True),
}

#: The types whose elements can be copied.
COPYABLE = {name: kind for name, kind in KINDS.items() if kind.copyable}
