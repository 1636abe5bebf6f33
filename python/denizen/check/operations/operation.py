"""Operations of the check, and the tables that hold them.

An operation is a function of a `Subject` that returns everything about it that is to be compared:
arrays (also those that it changed in place), scalars, numbers, texts, and lists, tuples and dicts
of these. The same function runs on arrays of the checked type and on object arrays of its scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from ..subject.subject import Subject

__all__ = ["Capability", "Operation", "Run", "Table"]

#: What an operation does: the subject in, everything to compare out.
Run: TypeAlias = Callable[[Subject], Any]

#: What a type may lack, so that operations which need it must refuse. With "numbers" it is cast
#: from and to them; with "counting" they stay true, in order and add up in it, as they do not in a
#: type of texts.
Capability: TypeAlias = Literal[
    "ordering",
    "arithmetic",
    "division",
    "equality",
    "text",
    "codec",
    "copy",
    "default",
    "numbers",
    "counting",
]
_CAPABILITIES = frozenset(get_args(Capability))


@dataclass(frozen=True)
class Operation:
    """One operation of NumPy's, as one function."""

    section: str
    name: str
    run: Run
    #: What runs on the object arrays instead of `run`.
    oracle: Run | None = None
    #: What a type must have for this to work; a type without it must refuse.
    needs: frozenset[str] = frozenset()
    #: A time limit of its own, in seconds.
    seconds: float | None = None

    @property
    def title(self) -> str:
        """The section and the name: what patterns match."""
        return f"{self.section}: {self.name}"


@dataclass
class Table:
    """The operations of one section, in the order in which they are shown."""

    section: str
    operations: dict[str, Operation] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations.values())

    def __len__(self) -> int:
        return len(self.operations)

    def add(
        self,
        name: str,
        run: Run,
        oracle: Run | None = None,
        needs: Iterable[str] = (),
        seconds: float | None = None,
    ) -> None:
        """Add an operation. Names are unique in a section; `needs` are capabilities."""
        if name in self.operations:
            raise ValueError(f"{self.section} has an operation {name!r} already")
        unknown = set(needs) - _CAPABILITIES
        if unknown:
            raise ValueError(
                f"{self.section}: {name} needs {sorted(unknown)}, which are no capabilities; "
                f"there are {', '.join(sorted(_CAPABILITIES))}"
            )
        self.operations[name] = Operation(
            self.section, name, run, oracle, frozenset(needs), seconds
        )

    def operation(
        self,
        name: str,
        oracle: Run | None = None,
        needs: Iterable[str] = (),
        seconds: float | None = None,
    ) -> Callable[[Run], Run]:
        """A decorator that adds the function below it."""

        def add(run: Run) -> Run:
            self.add(name, run, oracle, needs, seconds)
            return run

        return add
