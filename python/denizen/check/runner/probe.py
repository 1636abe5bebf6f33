"""What a type can do, found out in processes of their own: its code may crash, exit or hang."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ..subject.element import DIFFERENT, KEYS, Element, ElementError, Probe, make_values, ways_of
from .process import Task, run_alone, run_tasks

__all__ = ["probe", "probed"]

#: Time limit in seconds of finding out one thing about a type, unless operations have less.
_SECONDS = 5.0
#: What tells values apart.
_TELLING = ("text", "pickles", "numbers")
#: What values are compared by, best first.
_COMPARING = ("equality", *_TELLING)

Supplied: TypeAlias = "Callable[[], list[Any]] | None"


def probed(dtype: np.dtype[Any], supplied: Supplied, seconds: float, jobs: int) -> Element:
    """The type with what it can do. Raises `ElementError` where no values can be made.

    All is found out in one process; where the type's own code ends that, in one for each thing.
    """

    def find() -> Probe | str:
        try:
            return probe(dtype, supplied)
        except ElementError as error:
            return str(error)

    # Values that a function gives may take their time.
    ending = run_alone(find, seconds if supplied else min(seconds, 2 * _SECONDS))
    if ending.failure is not None:
        found = _OneByOne(dtype, supplied, seconds, jobs).probe(ending.failure)
    elif isinstance(ending.result, str):
        raise ElementError(ending.result)
    else:
        found = ending.result
    return Element(dtype, found, supplied)


def probe(dtype: np.dtype[Any], supplied: Supplied = None) -> Probe:
    """Find values of a type and see what it can do. Raises `ElementError` where there are none."""
    way = None if supplied is not None else _best_way(dtype)
    values, again = make_values(dtype, way, supplied), make_values(dtype, way, supplied)
    return Probe(
        way,
        _different(dtype, values),
        _consistent(name for name, able in _ABILITIES.items() if able(dtype, values[0])),
        _compared_by(dtype, values, again),
    )


# ---- one process for each thing


class _OneByOne:
    """Finds the same as `probe`, each thing in a process of its own."""

    def __init__(self, dtype: np.dtype[Any], supplied: Supplied, seconds: float, jobs: int) -> None:
        self._dtype = dtype
        self._supplied = supplied
        self._seconds = seconds
        self._jobs = jobs
        self._notes: list[str] = []
        self._fatal: list[tuple[str, str, str]] = []

    def probe(self, failure: str) -> Probe:
        """What is found; `failure` is how the process ended that looked for everything at once."""
        way = self._way()
        compared_by = self._compared_by(way)
        abilities = self._abilities(way)
        different = self._tried(
            {way: partial(self._different, way, self._telling(way))},
            lambda way: "telling values apart",
        )
        self._notes = list(dict.fromkeys(self._notes)) or [
            f"finding out what {self._dtype} can do ended with {_last_line(failure)}, but nothing "
            "did when tried alone"
        ]
        return Probe(
            way,
            different.get(way) or 1,
            abilities,
            compared_by,
            tuple(self._notes),
            tuple(self._fatal),
        )

    def _tried(
        self, works: dict[Any, Callable[[], Any]], what: Callable[[Any], str], so: str = ""
    ) -> dict[Any, Any]:
        """What each returns; without those that died, which are noted."""
        names = list(works)
        # Values that a function gives may take their time.
        seconds = self._seconds if self._supplied else min(self._seconds, _SECONDS)
        found: dict[Any, Any] = {}
        died: dict[str, list[Any]] = {}
        self._errors: dict[Any, tuple[str, str]] = {}
        tasks = [Task(work, seconds) for work in works.values()]
        for index, ending in run_tasks(tasks, self._jobs):
            if ending.failure is None:
                found[names[index]] = ending.result
            else:
                failure = _last_line(ending.failure)
                died.setdefault(failure, []).append(names[index])
                self._errors[names[index]] = failure, ending.errors
        for failure, those in died.items():
            ordered = [what(name) for name in names if name in those]
            more = f" and {len(ordered) - 3} more" if len(ordered) > 3 else ""
            self._notes.append(f"{', '.join(ordered[:3])}{more} ended with {failure}{so}")
        return found

    def _way(self) -> int | None:
        """The best way to make values that its process survives."""
        dtype = self._dtype
        if self._supplied is not None:
            made = self._tried({None: partial(self._makes, None)}, lambda _: "making the values")
            if not made:
                raise ElementError(
                    f"{self._notes[0]}: the function of --values, or the code of {dtype} that it "
                    "calls, must be mended first"
                )
            if made[None] is not None:
                raise ElementError(made[None])
            return None
        ways = ways_of(dtype)
        made = self._tried(
            {index: partial(self._makes, index) for index in range(len(ways))},
            lambda index: f"making values from {ways[index][0]}",
        )
        self._fatal = [(ways[index][0], *died) for index, died in sorted(self._errors.items())]
        safe = [index for index in range(len(ways)) if index in made and made[index] is None]
        if not safe:
            raise ElementError(
                f"no values of {dtype} could be made: {'; '.join(self._notes)}; give a list of "
                "scalars, or a function that returns one, with --values MODULE:NAME"
            )
        telling = self._telling(safe[0])
        counts = self._tried(
            {index: partial(self._different, index, telling) for index in safe},
            lambda index: f"telling values from {ways[index][0]} apart",
        )
        enough = [index for index in safe if counts.get(index, 0) >= DIFFERENT]
        return enough[0] if enough else max(safe, key=lambda index: counts.get(index, 1))

    def _values(self, way: int | None) -> list[Any]:
        return make_values(self._dtype, way, self._supplied)

    def _makes(self, way: int | None) -> str | None:
        """Why a way does not make values; None where it does."""
        try:
            self._values(way)
        except Exception as error:
            return str(error) or type(error).__name__
        return None

    def _different(self, way: int | None, telling: Sequence[str]) -> int:
        return _different(self._dtype, self._values(way), telling)

    def _telling(self, way: int | None) -> list[str]:
        """What tells values apart and does not end the process."""
        return list(
            self._tried(
                {name: partial(self._different, way, (name,)) for name in _TELLING},
                lambda name: f"taking the {name} of values",
                "; they are not told apart by it",
            )
        )

    def _compared_by(self, way: int | None) -> str:
        def compares(name: str) -> bool:
            return _compares(self._dtype, self._values(way), self._values(way), name)

        found = self._tried(
            {name: partial(compares, name) for name in _COMPARING},
            lambda name: f"comparing values by {name}",
            "; results are not compared by it",
        )
        return next((name for name in _COMPARING if found.get(name)), "nothing")

    def _abilities(self, way: int | None) -> frozenset[str]:
        def has(able: Callable[[np.dtype[Any], Any], bool]) -> bool:
            return able(self._dtype, self._values(way)[0])

        found = self._tried(
            {name: partial(has, able) for name, able in _ABILITIES.items()},
            lambda name: f"trying {_TRIED[name]}",
            "; it counts as present, so that the operations show it",
        )
        return _consistent(name for name in _ABILITIES if found.get(name, True))


def _last_line(failure: str) -> str:
    return failure.strip().splitlines()[-1]


# ---- values


def _best_way(dtype: np.dtype[Any]) -> int:
    """The first way that makes enough different values, else the one that makes most."""
    most, best = 0, None
    for index in range(len(ways_of(dtype))):
        try:
            different = _different(dtype, make_values(dtype, index, None))
        except Exception:
            continue
        if different >= DIFFERENT:
            return index
        if different > most:
            most, best = different, index
    if best is None:
        raise ElementError(
            f"found no values of {dtype}: it takes no integers, floats, texts or tuples of numbers "
            "and has no default; give a list of scalars, or a function that returns one, with "
            "--values MODULE:NAME"
        )
    return best


def _different(dtype: np.dtype[Any], values: list[Any], telling: Sequence[str] = _TELLING) -> int:
    """How many of the values differ, by whatever tells most of them apart."""
    most = 1
    for name in telling:
        try:
            most = max(most, len({KEYS[name](dtype, value) for value in values}))
        except Exception:
            continue
    return most


def _compared_by(dtype: np.dtype[Any], values: list[Any], again: list[Any]) -> str:
    """The first of the ways to compare that will do."""
    return next((name for name in _COMPARING if _compares(dtype, values, again, name)), "nothing")


def _compares(dtype: np.dtype[Any], values: list[Any], again: list[Any], name: str) -> bool:
    """Whether a way to compare finds equal what was made alike, and not all equal."""
    try:
        keys = [KEYS[name](dtype, value) for value in values]
        others = [KEYS[name](dtype, value) for value in again]
        alike = all(bool(one == other) for one, other in zip(keys, others, strict=True))
        telling = any(not bool(keys[0] == key) for key in keys)
    except Exception:
        return False
    # One value alone tells nothing; any comparison that finds it equal to itself will do.
    return alike and (telling or (name != "equality" and _different(dtype, values) == 1))


# ---- abilities


def _works(attempt: Callable[[], Any]) -> bool:
    """Whether something can be done at all: a value it cannot be done with is another matter."""
    try:
        attempt()
    except (TypeError, NotImplementedError, pickle.PicklingError):
        return False
    except Exception:
        return True
    return True


def _one(dtype: np.dtype[Any], value: Any) -> Any:
    one = np.empty(1, dtype=dtype)
    one[0] = value
    return one


def _on_one(attempt: Callable[[Any], Any]) -> Callable[[np.dtype[Any], Any], bool]:
    def able(dtype: np.dtype[Any], value: Any) -> bool:
        one = _one(dtype, value)
        return _works(lambda: attempt(one))

    return able


def _reads_its_text(dtype: np.dtype[Any], value: Any) -> bool:
    """Whether the text of a value makes a value, and not only some other text."""
    one = _one(dtype, value)
    try:
        one.copy()[0] = str(one[0])
    except Exception:
        return False
    return True


def _casts_numbers(dtype: np.dtype[Any], value: Any) -> bool:
    one = _one(dtype, value)
    return _works(lambda: np.arange(2).astype(dtype)) and (
        _works(lambda: one.astype(np.int64)) or _works(lambda: one.astype(np.float64))
    )


def _counts(dtype: np.dtype[Any], value: Any) -> bool:
    """Whether numbers stay true, in order and add up: as far as the type can do that at all."""
    numbers = np.arange(12)
    tests: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda cast: cast.astype(bool), numbers.astype(bool)),
        (lambda cast: cast[:-1] < cast[1:], np.ones(11, dtype=bool)),
        (lambda cast: (cast + cast).astype(np.int64), 2 * numbers),
    ]
    for test, wanted in tests:
        try:
            if not np.array_equal(test(numbers.astype(dtype)), wanted):
                return False
        except Exception:
            continue
    return True


def _has_default(dtype: np.dtype[Any], value: Any) -> bool:
    try:
        np.zeros(1, dtype=dtype)[0]
    except Exception:
        return False
    return True


#: Each capability, and whether a type with some value has it.
_ABILITIES: dict[str, Callable[[np.dtype[Any], Any], bool]] = {
    "ordering": _on_one(lambda one: np.less(one, one)),
    "arithmetic": _on_one(
        lambda one: (np.add(one, one), np.subtract(one, one), np.multiply(one, one))
    ),
    "division": _on_one(lambda one: np.true_divide(one, one)),
    "equality": _on_one(lambda one: np.equal(one, one)),
    "text": _reads_its_text,
    "codec": _on_one(pickle.dumps),
    "copy": _on_one(lambda one: one.copy()),
    "numbers": _casts_numbers,
    "counting": _counts,
    "default": _has_default,
}
#: What is tried for each, in words.
_TRIED = {
    "ordering": "the ordering (<)",
    "arithmetic": "arithmetic (+, -, *)",
    "division": "division (/)",
    "equality": "equality (==)",
    "text": "to read a value's text",
    "codec": "to pickle a value",
    "copy": "to copy a value",
    "numbers": "casts from and to numbers",
    "counting": "sums of numbers that were cast",
    "default": "the default value",
}


def _consistent(abilities: Iterable[str]) -> frozenset[str]:
    """The capabilities; what becomes of numbers in a type that takes none means nothing."""
    found = frozenset(abilities)
    return found if "numbers" in found else found - {"counting"}
