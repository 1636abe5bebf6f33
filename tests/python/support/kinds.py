"""The element types that the tests of this folder register, as one list."""

from decimal import Decimal
from fractions import Fraction

import denizen_example as example
import denizen_raw as raw
import denizen_sorting as sorting
import numpy as np

import denizen
from support.kind import Kind, item_by_item

BIG = 2**100


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
    "fail_after": lambda count: raw.set_fuse("compare", count),
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
    "Pinned": Kind(raw.Pinned, (None,), default="pinned", build=defaults, ordered=True),
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
    "Compared": Kind(
        sorting.Compared,
        INTEGERS,
        default="0",
        ordered=True,
        pickles=True,
        nonsense=("random",),
        misbehave=sorting.misbehave,
        fail_after=lambda count: sorting.misbehave(*(("well",) if count < 0 else ("fail", count))),
    ),
    "sorting.Ticket": Kind(sorting.Ticket, INTEGERS, ordered=True, pickles=True),
    "Opaque": Kind(
        sorting.Opaque,
        (5, 3, 17, 2),
        default="?",
        build=from_numbers(np.int64),
        text_of=lambda element: "?",
    ),
    "Wide": Kind(sorting.Wide, (None,), default="aligned 2", build=defaults),
    "Unique": Kind(
        sorting.Unique,
        INTEGERS,
        default="0",
        plain=int,
        text_cast="U30",
        ordered=True,
        copyable=False,
    ),
}

#: The types whose elements can be copied.
COPYABLE = {name: kind for name, kind in KINDS.items() if kind.copyable}

#: Those that tests run for without `--all-types`, and what is theirs alone: between them and those of
#: `cpp_kinds` each storage meets each capability, and the lack of it.
TYPICAL = {
    "Integer": "bundled; inline, without the GIL, and zero bytes are a value",
    "BoxedBomb": "boxed, and each object checks itself",
    "Ticket": "no default",
    "Dual": "made from numbers and lists; its objects own memory",
    "Unit": "of size zero",
    "Old": "an older vtable; no text, no order",
    "Compared": "an order that lies where it is told to",
    "Opaque": "lacks all but casts from numbers",
    "Unique": "moves only",
}
