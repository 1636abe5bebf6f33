"""Refusals that are as they should be, and leaks of NumPy's own, from a file with reasons."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BUNDLED", "Expected", "ExpectedError", "read_expected"]

#: The file in this package.
BUNDLED = Path(__file__).parent / "known_refusals.toml"

_CLAUSE = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*)\s*")
_KEYS = {"operation", "reason", "type", "numpy"}
#: Sections of the file, and the verdict that each expects.
_SECTIONS = {"refusal": "refused", "leak": "leaks"}


class ExpectedError(Exception):
    """A file of expected refusals cannot be used; the message says where and why."""


@dataclass(frozen=True)
class Expected:
    """One entry: what comes of which operations, of which types and NumPy versions, and why."""

    #: "refused", or "leaks" for objects that NumPy itself loses, of any dtype.
    verdict: str
    #: Pattern of `Operation.title`, as `fnmatch` takes it.
    operation: str
    reason: str
    #: Pattern of the type's name.
    type: str = "*"
    #: Range of NumPy versions, such as ">=2.4, <2.5"; empty for all.
    numpy: str = ""
    #: Whether it stands in the bundled file, which speaks of all types.
    bundled: bool = False

    def covers(self, title: str, element: str, version: str | None = None) -> bool:
        """Whether it speaks of an operation on a type with a NumPy version (default: this one)."""
        return (
            fnmatchcase(title, self.operation)
            and fnmatchcase(element, self.type)
            and in_range(np.__version__ if version is None else version, self.numpy)
        )


def in_range(version: str, clauses: str) -> bool:
    """Whether a version is in a range such as ">=2.4, <2.5.2"; development versions count as the
    release that they lead to."""
    numbers = _numbers(version)
    for clause in filter(None, map(str.strip, clauses.split(","))):
        matched = _CLAUSE.fullmatch(clause)
        if matched is None:
            raise ValueError(f"{clause!r} is no clause of a version range, such as '<2.5'")
        comparison, wanted = matched[1], _numbers(matched[2])
        length = max(len(numbers), len(wanted))
        here = (*numbers, *[0] * (length - len(numbers)))
        there = (*wanted, *[0] * (length - len(wanted)))
        answer = {
            "<": here < there,
            "<=": here <= there,
            ">": here > there,
            ">=": here >= there,
            "==": here == there,
            "!=": here != there,
        }[comparison]
        if not answer:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    matched = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in matched[0].split(".")) if matched else (0,)


def read_expected(path: Path) -> list[Expected]:
    """The entries of a file. Raises `ExpectedError` that names the file and the entry."""
    try:
        with open(path, "rb") as file:
            data: dict[str, list[dict[str, Any]]] = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ExpectedError(f"{path}: {error}") from error
    unknown = set(data) - set(_SECTIONS)
    if unknown:
        raise ExpectedError(f"{path}: unknown {sorted(unknown)}; entries are [[refusal]], [[leak]]")
    return [
        _expected(entry, verdict, f"{path}: {section} {index}", path == BUNDLED)
        for section, verdict in _SECTIONS.items()
        for index, entry in enumerate(data.get(section, []), 1)
    ]


def _expected(entry: dict[str, Any], verdict: str, where: str, bundled: bool) -> Expected:
    unknown = set(entry) - _KEYS
    if unknown:
        raise ExpectedError(f"{where}: unknown {sorted(unknown)}; there are {sorted(_KEYS)}")
    for key in ("operation", "reason"):
        if not str(entry.get(key, "")).strip():
            raise ExpectedError(f"{where}: {key} is missing")
    if not all(isinstance(value, str) for value in entry.values()):
        raise ExpectedError(f"{where}: all values are texts")
    expected = Expected(verdict, **entry, bundled=bundled)
    try:
        in_range("0", expected.numpy)
    except ValueError as error:
        raise ExpectedError(f"{where}: {error}") from error
    return expected
