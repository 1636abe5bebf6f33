"""The checked type: found by its name, with values of it and what it can do."""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ... import _runtime

__all__ = [
    "COUNT",
    "DIFFERENT",
    "KEYS",
    "Element",
    "ElementError",
    "Probe",
    "as_values",
    "find_dtype",
    "find_values",
    "make_values",
    "named",
    "ways_of",
]

#: As many values as a subject needs.
COUNT = 24
#: As many of them must differ for the order of a result to mean something.
DIFFERENT = 10


class ElementError(Exception):
    """The type cannot be checked; the message says why and what to do."""


def _imported(module: str) -> Any:
    """A module, also of the current directory."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise ElementError(f"cannot import {module}: {type(error).__name__}: {error}") from error


def named(text: str, what: str, others: str, search: Callable[[Any], Iterable[str]]) -> Any:
    """The object that MODULE:NAME names, which is to be `what`.

    Where there is none, the error has the names that `search` finds in the module, as those of
    `others`.
    """
    module, separator, name = text.partition(":")
    if not (module and separator and name):
        raise ElementError(f"{text!r} does not name {what}; write MODULE:NAME")
    found = _imported(module)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = ", ".join(search(_imported(module))) or "none"
            raise ElementError(f"{module} has no {name}; {others} there: {names}") from None
    return found


def _elements_of(module: Any) -> Iterator[str]:
    """The names in a module that are registered scalar classes."""
    for name, value in vars(module).items():
        if isinstance(value, type) and not name.startswith("_"):
            try:
                if _registered(np.dtype(value)):
                    yield name
            except Exception:
                continue


def _values_of(module: Any) -> Iterator[str]:
    """The names in a module that are lists, or functions of its own that may return one."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if not name.startswith("_") and (
            isinstance(value, list | tuple | np.ndarray) or (inspect.isfunction(value) and own)
        ):
            yield name


def _registered(dtype: np.dtype[Any]) -> bool:
    return str(dtype) in _runtime.types()


def find_dtype(element: Any) -> np.dtype[Any]:
    """The dtype of a scalar class, a DType class, a dtype, or the text MODULE:TYPE.

    Raises `ElementError` for anything that is no registered element type.
    """
    found: Any = element
    if isinstance(element, str):
        found = named(element, "an element type", "element types", _elements_of)
    dtype: np.dtype[Any]
    if isinstance(found, type) and issubclass(found, np.dtype):
        make: Any = found
        dtype = make()
    else:
        try:
            dtype = np.dtype(found)
        except Exception:
            raise ElementError(
                f"{element!r} is no element type: {found!r} is neither a scalar class nor a dtype"
            ) from None
    if not _registered(dtype):
        raise ElementError(
            f"{element!r} is NumPy's {dtype}, not a type that is registered with denizen"
        )
    return dtype


def find_values(text: str) -> Callable[[], list[Any]]:
    """The values that MODULE:NAME names: a list of them, or a function that returns one."""
    found = named(text, "a list of values", "lists, and functions that may give one,", _values_of)
    return as_values(found, text)


def _in_words(error: Exception) -> str:
    """An exception on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def as_values(found: Any, name: str) -> Callable[[], list[Any]]:
    """A function that gives the values anew, from it or from a list."""

    def make() -> list[Any]:
        try:
            values = found() if callable(found) else found
            if not isinstance(values, Iterable):
                raise ElementError(f"{name} is no list of values, nor gives one: {values!r}")
            values = list(values)
        except ElementError:
            raise
        except Exception as error:
            raise ElementError(f"{name} raised {_in_words(error)}") from error
        if not values:
            raise ElementError(f"{name} gives no values")
        return values

    return make


#: Integers in no order, with repeats of none.
_NUMBERS = [
    5,
    -3,
    17,
    2,
    40,
    11,
    -8,
    9,
    1,
    6,
    23,
    -14,
    31,
    7,
    3,
    50,
    -21,
    13,
    28,
    4,
    19,
    35,
    10,
    44,
]
_POSITIVE = [abs(number) for number in _NUMBERS]
_WORDS = [chr(ord("a") + number % 26) * (1 + number % 3) for number in range(COUNT)]
_CALLABLES: list[Any] = [(lambda value: lambda *_: value)(float(number)) for number in _NUMBERS]

Sources = Sequence[Any]


def _big_integers() -> list[int]:
    """Such as fill a word, and such as do not fit in one."""
    values = list(_NUMBERS)
    values[2], values[6], values[12], values[15] = 2**70 + 1, -(2**65), 2**62, -(2**200)
    return values


def _fractions() -> list[Fraction]:
    values = [Fraction(number, 1 + index % 4) for index, number in enumerate(_NUMBERS)]
    values[2], values[6], values[12] = Fraction(2**70, 3), Fraction(-1, 2**65), Fraction(1, 7)
    return values


def _by_items(dtype: np.dtype[Any], sources: Sources) -> list[Any]:
    array = np.empty(len(sources), dtype=dtype)
    for index, source in enumerate(sources):
        array[index] = source
    return [array[index] for index in range(len(sources))]


def _by_class(dtype: np.dtype[Any], sources: Sources) -> list[Any]:
    return [dtype.type(*source) for source in sources]


def _by_cast(number: Any) -> Callable[[np.dtype[Any], Sources], list[Any]]:
    def cast(dtype: np.dtype[Any], sources: Sources) -> list[Any]:
        return list(np.array(sources, dtype=number).astype(dtype))

    return cast


def _defaults(dtype: np.dtype[Any], sources: Sources) -> list[Any]:
    zeros = np.zeros(len(sources), dtype=dtype)
    return [zeros[index] for index in range(len(sources))]


Way: TypeAlias = tuple[str, Callable[[np.dtype[Any], Sources], list[Any]], Sources]

#: Ways to values, in words, best first. A type that reads texts or numbers takes one of the first.
_WAYS: list[Way] = [
    ("integers", _by_items, _NUMBERS),
    ("integers by a cast", _by_cast(np.int64), _NUMBERS),
    ("floats by a cast", _by_cast(np.float64), _NUMBERS),
    ("texts of integers", _by_items, [str(number) for number in _NUMBERS]),
    ("positive integers", _by_items, _POSITIVE),
    ("positive integers by a cast", _by_cast(np.int64), _POSITIVE),
    ("texts of positive integers", _by_items, [str(number) for number in _POSITIVE]),
    ("uint32 by a cast", _by_cast(np.uint32), _POSITIVE),
    ("uint64 by a cast", _by_cast(np.uint64), _POSITIVE),
    ("int32 by a cast", _by_cast(np.int32), _NUMBERS),
    ("uint8 by a cast", _by_cast(np.uint8), _POSITIVE),
    ("floats", _by_items, [float(number) for number in _NUMBERS]),
    ("float32 by a cast", _by_cast(np.float32), _NUMBERS),
    ("complex numbers", _by_items, [complex(number, 1) for number in _NUMBERS]),
    ("words", _by_items, _WORDS),
    ("words as bytes", _by_items, [word.encode() for word in _WORDS]),
    *(
        (f"lists of {size} floats", _by_items, [[float(n), *[0.5] * (size - 1)] for n in _NUMBERS])
        for size in (1, 2, 3, 4)
    ),
    *(
        (f"tuples of {size} floats", _by_items, [(float(n), *[0.5] * (size - 1)) for n in _NUMBERS])
        for size in (1, 2, 3, 4)
    ),
    *(
        (
            f"the class called with {size} numbers",
            _by_class,
            [(float(n), *[50.5] * (size - 1)) for n in _NUMBERS],
        )
        for size in (1, 2, 3, 4)
    ),
    *(
        (
            f"the class called with {size} integers",
            _by_class,
            [(n, *[7] * (size - 1)) for n in _POSITIVE],
        )
        for size in (1, 2, 3, 4)
    ),
    ("the class called with a list", _by_class, [([float(n), 0.5],) for n in _NUMBERS]),
    ("the class called with a word", _by_class, [(word,) for word in _WORDS]),
    ("callables", _by_items, _CALLABLES),
    ("default values", _defaults, _NUMBERS),
]


def ways_of(dtype: np.dtype[Any]) -> list[Way]:
    """The ways to values of a type; those that are numbers of Python's get large ones too."""
    if issubclass(dtype.type, int):
        return [("integers, some of many words", _by_items, _big_integers()), *_WAYS]
    if issubclass(dtype.type, Fraction):
        return [("fractions, some of many words", _by_items, _fractions()), *_WAYS]
    return _WAYS


@dataclass(frozen=True)
class Probe:
    """What was found out about a type, as plain data: it comes from a process of its own."""

    #: Index in the ways to values; None for values that the caller gave.
    way: int | None
    #: How many of the values differ, as far as they can be told apart.
    different: int
    #: Capabilities, see `operation.Capability`.
    abilities: frozenset[str]
    #: What values are compared by: "equality", "text", "pickles", "numbers" or "nothing".
    compared_by: str
    #: What ended the processes that found all this out, in words.
    notes: tuple[str, ...] = ()
    #: Ways to make values that ended their process: what they are made from, how it ended, and what
    #: it wrote to its standard error.
    fatal: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Element:
    """The checked type; no object of it is held."""

    dtype: np.dtype[Any]
    probe: Probe
    #: Values that the caller gave, and where they come from.
    supplied: Callable[[], list[Any]] | None = None

    @property
    def name(self) -> str:
        """`module.Name`."""
        return str(self.dtype)

    @property
    def scalar(self) -> Any:
        """The scalar class."""
        return self.dtype.type

    @property
    def abilities(self) -> frozenset[str]:
        """Capabilities, see `operation.Capability`."""
        return self.probe.abilities

    @property
    def source(self) -> str:
        """Where values come from, in words."""
        return "given" if self.probe.way is None else ways_of(self.dtype)[self.probe.way][0]

    def key(self, value: Any) -> Any:
        """What of a value is compared: the value itself where it has an equality."""
        return KEYS[self.probe.compared_by](self.dtype, value)

    def values(self) -> list[Any]:
        """`COUNT` values, made anew; they repeat where the type has fewer."""
        return make_values(self.dtype, self.probe.way, self.supplied)

    def notes(self) -> list[str]:
        """What a reader must know about the verdicts."""
        found = list(self.probe.notes)
        if self.probe.different < DIFFERENT:
            found.append(
                f"only {self.probe.different} different values were found (from {self.source}), so "
                "that the order of results means little; give more with --values MODULE:NAME"
            )
        elif self.source.startswith("texts of "):
            found.append(
                f"the values are {self.source}, as nothing better was found, and hardly what the "
                "type is made for: give telling ones with --values MODULE:NAME"
            )
        if self.probe.compared_by == "nothing":
            found.append(
                "two values cannot be compared (no equality, no text, no codec, no cast to a "
                "number): shapes, dtypes and objects are checked, values are not"
            )
        return found


def _convert(dtype: np.dtype[Any], value: Any) -> Any:
    """A scalar of the type, from one or from what the type takes. Raises `ElementError`."""
    if isinstance(value, dtype.type):
        return value
    try:
        (made,) = _by_items(dtype, [value])
    except Exception as error:
        raise ElementError(
            f"--values gives {value!r}, which is no scalar of {dtype} and does not convert: "
            f"{_in_words(error)}"
        ) from error
    return made


def make_values(
    dtype: np.dtype[Any], way: int | None, supplied: Callable[[], list[Any]] | None
) -> list[Any]:
    """`COUNT` values, in one of the ways or as the caller gives them."""
    if supplied is None:
        assert way is not None
        _, make, sources = ways_of(dtype)[way]
        return make(dtype, sources)
    values: list[Any] = []
    # Objects that only move cannot stand in a list twice.
    while len(values) < COUNT:
        values += [_convert(dtype, value) for value in supplied()[: COUNT - len(values)]]
    return values


def _number(dtype: np.dtype[Any], value: Any) -> Any:
    array = np.empty(1, dtype=dtype)
    array[0] = value
    for number in (np.int64, np.float64, np.uint32, np.uint64, np.float32, np.bool_):
        try:
            return array.astype(number)[0].item()
        except TypeError:
            continue
    raise TypeError("no cast to a number")


KEYS: dict[str, Callable[[np.dtype[Any], Any], Any]] = {
    "equality": lambda dtype, value: value,
    "text": lambda dtype, value: str(value),
    "pickles": lambda dtype, value: pickle.dumps(value),
    "numbers": _number,
    "nothing": lambda dtype, value: None,
}
