"""The element types under stress, and what each of their values must be at any time.

Every value that a thread may meet is one that some thread wrote: a member of a fixed set, or, where
the type adds, a multiple of a number that no torn or invented value is a multiple of. The Rust bombs
and the C++ subjects check themselves at every use as well, and count what was no object.
"""

import importlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import denizen

Array = NDArray[Any]

#: A prime of 89 bits, so that most multiples own memory.
PRIME = 2**89 - 1
#: For types of 64 bits that wrap: as low bits never depend on high ones, multiples stay multiples.
STEP = 2**20


class Wrong(Exception):
    """A value that no thread wrote."""


@dataclass(frozen=True)
class Subject:
    name: str
    element: Any
    #: Python objects or texts that the array's elements are made from.
    sources: Sequence[Any]
    #: Whether a scalar is a value that a thread wrote.
    holds: Callable[[Any], bool]
    #: Whether sums of its values are values.
    adds: bool = False
    #: Whether an order is registered.
    ordered: bool = True
    #: Whether its objects can be copied; else they move.
    copies: bool = True
    #: An array over memory of an owner, of as many values.
    adopt: Callable[[list[Any]], Array] | None = None
    #: Reads, and writes, through a view of C++, without the GIL.
    read_free: Callable[[Array], object] | None = None
    raise_free: Callable[[Array], object] | None = None
    #: Makes the n-th next operation of some name fail, in whichever thread comes to it.
    fuse: Callable[[str, int], object] | None = None
    fuses: Sequence[str] = ()
    #: What the type's own counters say: all zero where nothing is alive and nothing went wrong.
    counters: Callable[[], dict[str, int]] = field(default=lambda: {})
    #: Conversions of one source to an element that fail.
    nonsense: Sequence[Any] = ()

    def make(self, rng: random.Random, count: int) -> Array:
        """A new array of values."""
        if not self.copies:
            return np.array([rng.choice(self.sources) for _ in range(count)], dtype=self.element)
        sources = [rng.choice(self.sources) for _ in range(min(count, 24))]
        some = np.empty(len(sources), dtype=self.element)
        some[...] = sources
        return some[np.arange(count) % len(some)]

    def check(self, elements: Any) -> None:
        for element in elements:
            if not self.holds(element):
                raise Wrong(f"{self.name}: {element!r} is no value that a thread wrote")


def multiple_of_step(element: Any) -> bool:
    return int(str(element)) % STEP == 0


def integer() -> Subject:
    return Subject(
        "Integer",
        denizen.Integer,
        [PRIME * k for k in (0, 1, -1, 7, 2**70, -(3**50), 12345)] + [0],
        lambda x: int(x) % PRIME == 0,
        adds=True,
        nonsense=("nonsense", 1.5, None),
    )


def rational() -> Subject:
    return Subject(
        "Rational",
        denizen.Rational,
        [f"{PRIME * k}/{d}" for k in (1, -5, 2**70) for d in (1, 2, 6, 7)] + [0],
        lambda x: x.numerator % PRIME == 0,
        adds=True,
        nonsense=("1/x", "nonsense", None),
    )


def bomb(name: str) -> Subject:
    raw = importlib.import_module("denizen_raw")
    return Subject(
        name,
        getattr(raw, name),
        [str(STEP * k) for k in (0, 1, -1, 99, 2**40, -(2**42) - 5, 1234567)],
        multiple_of_step,
        adds=True,
        fuse=raw.set_fuse,
        fuses=("default", "clone", "assign", "add", "compare", "equal", "parse", "display"),
        counters=lambda: {"live": raw.bombs()[2], "misused": raw.misused_bombs()},
        nonsense=("nonsense", None),
    )


def single(name: str) -> Subject:
    raw = importlib.import_module("denizen_raw")
    numbers = [STEP * k for k in (1, -1, 99, 2**40, -(2**42) - 5, 1234567)]
    return Subject(
        name,
        getattr(raw, name),
        [str(number) for number in numbers],
        multiple_of_step,
        copies=False,
        adopt=(lambda texts: raw.adopt_singles([int(t) for t in texts]))
        if name == "Single"
        else None,
        counters=lambda: {"live": raw.singles()},
        nonsense=("nonsense", None),
    )


def shared() -> Subject:
    raw = importlib.import_module("denizen_raw")
    texts = [letter * length for letter in "abc" for length in (1, 40)]
    return Subject("Shared", raw.Shared, texts, lambda x: str(x) in ("", *texts), ordered=False)


def cpp(name: str, *, free: bool, adopts: bool = False) -> Subject:
    types = importlib.import_module("cpp_types")

    def counters() -> dict[str, int]:
        figures = types.counters(name)
        return {key: figures[key] for key in ("live", "misused")}

    return Subject(
        f"cpp {name}",
        getattr(types, name),
        [STEP * k for k in (0, 1, -1, 99, 2**40, -(2**42) - 5, 1234567)],
        multiple_of_step,
        adds=True,
        adopt=(lambda values: types.adopt(name, values)) if adopts else None,
        read_free=(lambda array: types.read_free(name, array)) if free else None,
        raise_free=(lambda array: types.raise_free(name, array, STEP)) if free else None,
        fuse=types.set_fuse,
        fuses=("make", "value", "copy", "assign", "add", "compare", "equal", "parse", "text"),
        counters=counters,
        nonsense=("nonsense", None),
    )


def string() -> Subject:
    standard = importlib.import_module("standard")
    texts = ["", "short", "long " * 20, "fig", "x" * 15, "y" * 16]
    return Subject(
        "cpp String", standard.String, texts, lambda x: str(x) in texts, nonsense=(None,)
    )


def real() -> Subject:
    module = importlib.import_module("real")
    texts = ["1.5", "-3", "0.25", "100", "7", "-0.5", "2", "9"]
    made = np.array(texts, dtype=module.real)
    known = {"0.0", *(str(x) for x in made)}
    return Subject("cpp real", module.real, texts, lambda x: str(x) in known)


#: In the order in which they run: those without the GIL first.
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "Integer": integer,
    "Rational": rational,
    "Bomb": lambda: bomb("Bomb"),
    "BoxedBomb": lambda: bomb("BoxedBomb"),
    "InlineBomb": lambda: bomb("InlineBomb"),
    "FreeInline": lambda: cpp("FreeInline", free=True, adopts=True),
    "FreeTagged": lambda: cpp("FreeTagged", free=True),
    "FreeBoxed": lambda: cpp("FreeBoxed", free=True),
    "real": real,
    "Single": lambda: single("Single"),
    "BoxedSingle": lambda: single("BoxedSingle"),
    # These hold the GIL.
    "HeldBomb": lambda: bomb("HeldBomb"),
    "Shared": shared,
    "Inline": lambda: cpp("Inline", free=False, adopts=True),
    "SelfPointing": lambda: cpp("SelfPointing", free=False),
    "String": string,
}
