"""What an operation works on: arrays of the checked type, or object arrays of its scalars."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .element import Element
from .element_object import ElementObject
from .exact_integer import ExactInteger

__all__ = ["ROWS", "Scalars", "Subject"]

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = int | tuple[int, ...]

#: The shape of `Subject.m`.
ROWS = (4, 5)
_ORDER = [7, 2, 9, 4, 0, 5, 8, 1, 3, 6]

#: What the elements are: cells of the type, or objects in arrays of objects: its scalars, or
#: wrappers around them whose operators are the type's loops on single elements.
Scalars: TypeAlias = Literal["cells", "scalars", "element_objects"]


class Subject:
    """Arrays of one element type for one run of one operation; everything is made when asked for.

    The same operation sees arrays of the type first and then object arrays of the same values.
    """

    def __init__(
        self, element: Element, scalars: Scalars = "cells", folder: Path | None = None
    ) -> None:
        self._element = element
        #: What the elements are.
        self.scalars: Scalars = scalars
        self._folder = folder
        #: Arrays that the operation got, in the order in which it asked.
        self.handed: list[weakref.ref[Array]] = []
        #: The dtype: the type's, or `object`.
        self.dtype: np.dtype[Any] = np.dtype(object) if self.is_oracle else element.dtype
        #: A generator with the same seed in each run.
        self.rng = np.random.default_rng(20240229)

    @property
    def is_oracle(self) -> bool:
        """Whether the elements are Python objects."""
        return self.scalars != "cells"

    @property
    def element_dtype(self) -> np.dtype[Any]:
        """The type's own dtype, also where the elements are Python objects."""
        return self._element.dtype

    # ---- scalars

    @property
    def values(self) -> list[Any]:
        """At least 20 scalars of the type. The same ones each time, unless they only move."""
        if "copy" not in self._element.abilities:
            return self._wrapped(self._element.values())
        return list(self._values)

    @cached_property
    def _values(self) -> list[Any]:
        return self._wrapped(self._element.values())

    @cached_property
    def default(self) -> Any:
        """What a cell holds in which nothing was built; VacantError where the type has none."""
        return self._wrap(np.zeros(1, dtype=self._element.dtype)[0])

    def scalar(self, value: Any) -> Any:
        """A scalar of the type, from a number, a text or whatever it is made of."""
        if isinstance(value, (self._element.scalar, ElementObject)):
            return value if isinstance(value, ElementObject) else self._wrap(value)
        single = np.empty(1, dtype=self._element.dtype)
        single[0] = value
        return self._wrap(single[0])

    def _wrapped(self, values: list[Any]) -> list[Any]:
        return [self._wrap(value) for value in values]

    def _wrap(self, value: Any) -> Any:
        if self.scalars == "element_objects":
            return ElementObject(self._element.dtype, value)
        # Python's int divides to float, and is what arithmetic of such scalars gives.
        if self.scalars == "scalars" and isinstance(value, int):
            return ExactInteger(value)
        return value

    # ---- arrays

    def array(self, values: Any) -> Array:
        """A new array of scalars of the type, or of what they are made of; lists may nest."""
        shape: list[int] = []
        flat: list[Any] = values if isinstance(values, list) else list(values)
        while True:
            shape.append(len(flat) if not shape else len(flat) // _size(shape))
            if not flat or not isinstance(flat[0], list):
                break
            flat = [item for items in flat for item in items]
        made = np.empty(len(flat), dtype=self.dtype)
        for index, value in enumerate(flat):
            made[index] = self.scalar(value) if self.is_oracle else value
        return self._handed(made.reshape(shape))

    def empty(self, shape: Shape) -> Array:
        """An array in which nothing was built."""
        if not self.is_oracle:
            return self._handed(np.empty(shape, dtype=self.dtype))
        made = np.empty(shape, dtype=object)
        if "default" in self._element.abilities:
            made.fill(self.default)
        return self._handed(made)

    def zeros(self, shape: Shape) -> Array:
        """An array of the type's default."""
        if not self.is_oracle:
            return self._handed(np.zeros(shape, dtype=self.dtype))
        return self.empty(shape)

    def full(self, shape: Shape, value: Any) -> Array:
        """An array of one value."""
        return self._handed(
            np.full(shape, self.scalar(value) if self.is_oracle else value, dtype=self.dtype)
        )

    @cached_property
    def a(self) -> Array:
        """Ten values that all differ, if the type has so many."""
        return self.array(self.values[:10])

    @cached_property
    def b(self) -> Array:
        """The same values as in `a`, in another order."""
        values = self.values
        return self.array([values[index] for index in _ORDER])

    @cached_property
    def h(self) -> Array:
        """Half built: five values, and five cells in which nothing was built."""
        made = self.empty(10)
        for index, value in enumerate(self.values[:5]):
            made[index] = value
        return made

    @cached_property
    def m(self) -> Array:
        """Two dimensions, `ROWS`."""
        return self.array(self.values[: ROWS[0] * ROWS[1]]).reshape(ROWS)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Which of ten: neither the first nor every third after it."""
        return np.not_equal(np.arange(10) % 3, 0)

    @cached_property
    def folder(self) -> Path:
        """An empty directory."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def _handed(self, array: Array) -> Array:
        self.handed.append(weakref.ref(array))
        return array

    def sources(self) -> list[Array | None]:
        """The arrays that the operation got; None for those that are gone."""
        return [reference() for reference in self.handed]


def _size(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=int))
