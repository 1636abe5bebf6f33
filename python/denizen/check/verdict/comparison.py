"""Whether what an operation gave on arrays of the type equals what it gave on object arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import _runtime
from ..subject.element import Element
from ..subject.element_object import ElementObject, one_by_one
from ..subject.exact_integer import ExactInteger
from ..subject.subject import Subject

__all__ = ["Comparison", "known_values", "one_by_one", "shared"]

_SEQUENCES = (list, tuple)


class Comparison:
    """Compares one result with what is wanted, and counts what it compared."""

    def __init__(self, element: Element) -> None:
        self._element = element
        #: Values, texts, shapes and dtypes that were compared.
        self.compared = 0

    def difference(self, found: Any, wanted: Any, where: str = "") -> str | None:
        """The first difference, in words; None where everything is equal."""
        at = f"{where}: " if where else ""
        if isinstance(wanted, Mapping):
            return self._mappings(found, wanted, where)
        if isinstance(wanted, _SEQUENCES):
            if not isinstance(found, _SEQUENCES) or len(found) != len(wanted):
                return f"{at}{_short(found)} instead of {_short(wanted)}"
            # An empty list is a result too.
            self.compared += not wanted
            for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
                inside = f"{where}[{index}]" if where else f"result {index}"
                if problem := self.difference(one, other, inside):
                    return problem
            return None
        if isinstance(wanted, np.dtype):
            self.compared += 1
            same = found == wanted or (wanted.hasobject and found == self._element.dtype)
            return None if same else f"{at}dtype {found} instead of {wanted}"
        if isinstance(wanted, np.ndarray) or isinstance(found, np.ndarray):
            return self._arrays(found, wanted, where)
        self.compared += wanted is not None
        if self._equal(found, wanted):
            return self._truth_values(found, wanted, at)
        return f"{at}{_short(found)} instead of {_short(wanted)}"

    def _mappings(self, found: Any, wanted: Mapping[Any, Any], where: str) -> str | None:
        if not isinstance(found, Mapping) or found.keys() != wanted.keys():
            return f"{where or 'result'}: keys {list(found)} instead of {list(wanted)}"
        self.compared += not wanted
        for key in wanted:
            if problem := self.difference(
                found[key], wanted[key], f"{where}[{key!r}]" if where else str(key)
            ):
                return problem
        return None

    def _arrays(self, found: Any, wanted: Any, where: str) -> str | None:
        at = f"{where}: " if where else ""
        if not isinstance(found, np.ndarray) and np.ndim(wanted) == 0:
            return self.difference(found, wanted[()], where)
        if not isinstance(wanted, np.ndarray):
            if found.ndim == 0:
                # An array of no dimensions where objects give an object: `np.sum(.., out=)`.
                return self.difference(found[()], wanted, where)
            return f"{at}an array of shape {found.shape} instead of {_short(wanted)}"
        self.compared += 1
        if np.shape(found) != wanted.shape:
            return f"{at}shape {np.shape(found)} instead of {wanted.shape}"
        if isinstance(wanted, np.ma.MaskedArray) or isinstance(found, np.ma.MaskedArray):
            return self._masked(found, wanted, where)
        if wanted.dtype.names is not None:
            if found.dtype.names != wanted.dtype.names:
                return f"{at}fields {found.dtype.names} instead of {wanted.dtype.names}"
            for name in wanted.dtype.names:
                if problem := self._arrays(found[name], wanted[name], f"{where}[{name!r}]"):
                    return problem
            return None
        if wanted.dtype != object and found.dtype != wanted.dtype:
            return f"{at}dtype {found.dtype} instead of {wanted.dtype}"
        for index in np.ndindex(wanted.shape):
            other = wanted[index]
            one = self._element_at(found, index, other)
            self.compared += 1
            if not self._equal(one, other):
                spot = list(index) if index else ""
                return f"{at}element {spot} is {_short(one)} instead of {_short(other)}"
        if wanted.dtype == object and wanted.size:
            return self._dtypes_of_objects(found, wanted, at)
        return None

    def _masked(self, found: Any, wanted: Any, where: str) -> str | None:
        if type(found) is not type(wanted):
            return f"{where or 'result'}: {type(found).__name__} instead of {type(wanted).__name__}"
        here, there = np.ma.getmaskarray(found), np.ma.getmaskarray(wanted)
        if problem := self._arrays(here, there, f"{where} mask"):
            return problem
        return self._arrays(found.data[~here], wanted.data[~there], where)

    def _element_at(self, array: Any, index: tuple[int, ...], wanted: Any) -> Any:
        """An element; None for a vacant cell of a type without default, as in `Subject.empty`."""
        try:
            return array[index]
        except _runtime.VacantError:
            if wanted is None and "default" not in self._element.abilities:
                return None
            raise

    def _dtypes_of_objects(self, found: Any, wanted: Any, at: str) -> str | None:
        """Objects of the type's class belong into its dtype, truth values into bool."""
        if found.dtype == object:
            return None
        objects = list(wanted.flat)
        if all(self._is_element(value) for value in objects):
            if found.dtype != self._element.dtype:
                return f"{at}dtype {found.dtype} instead of {self._element.dtype}"
        elif all(isinstance(value, (bool, np.bool_)) for value in objects):
            if found.dtype != bool:
                return f"{at}dtype {found.dtype} instead of bool"
        return None

    def _truth_values(self, found: Any, wanted: Any, at: str) -> str | None:
        """A truth value is none of the type's, and the other way round."""
        if isinstance(found, (bool, np.bool_)) != isinstance(wanted, (bool, np.bool_)):
            return f"{at}{_short(found)} of {type(found).__name__}, not {type(wanted).__name__}"
        return None

    def _is_element(self, value: Any) -> bool:
        return isinstance(value, (self._element.scalar, ElementObject, ExactInteger))

    def _equal(self, found: Any, wanted: Any) -> bool:
        found = found.value if isinstance(found, ElementObject) else found
        wanted = wanted.value if isinstance(wanted, ElementObject) else wanted
        if found is wanted:
            return True
        if self._is_element(found) and self._is_element(wanted):
            return self._equal_plain(self._element.key(found), self._element.key(wanted))
        if isinstance(found, type) or isinstance(wanted, type):
            classes = (self._element.scalar, ElementObject, ExactInteger)
            return found is wanted or (found in classes and wanted in classes)
        if isinstance(found, np.dtype) or isinstance(wanted, np.dtype):
            return False
        return self._equal_plain(found, wanted)

    def _equal_plain(self, found: Any, wanted: Any) -> bool:
        try:
            if bool(found == wanted):
                return True
        except (TypeError, ValueError):
            pass
        return _is_nan(found) and _is_nan(wanted)


def _is_nan(value: Any) -> bool:
    """Whether a value is not equal to itself, as NaN and NaT are."""
    if isinstance(value, float):
        return math.isnan(value)
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"something whose repr raises {type(error).__name__}: {error}"
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def _arrays_in(result: Any) -> list[Any]:
    """The arrays in a result, in order."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, _SEQUENCES):
        return [array for item in result for array in _arrays_in(item)]
    return []


def shared(found: Any, subject: Subject, wanted: Any, oracle: Subject) -> str | None:
    """A result that shares memory with an array given to the operation, where objects do not."""
    for index, (one, other) in enumerate(zip(_arrays_in(found), _arrays_in(wanted), strict=False)):
        pairs = zip(subject.sources(), oracle.sources(), strict=False)
        for source, model in pairs:
            if source is None or model is None or not (one.size and source.size):
                continue
            if np.may_share_memory(one, source) and not np.may_share_memory(other, model):
                return f"result {index} shares memory with an operand; with objects it does not"
    return None


def known_values(found: Any, element: Element) -> tuple[int, str | None]:
    """Judge a result for which there is nothing to compare with: its elements must be known.

    Returns how many elements of the type are such as the operation was given (or the default), and
    the first that is not.
    """
    known = [element.key(value) for value in element.values()]
    if "default" in element.abilities:
        known.append(element.key(np.zeros(1, dtype=element.dtype)[0]))
    count = 0
    for value in _elements_in(found, element):
        if not any(_same(element.key(value), other) for other in known):
            return count, _short(value)
        count += 1
    return count, None


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _elements_in(result: Any, element: Element) -> list[Any]:
    if isinstance(result, np.ndarray):
        if result.dtype not in (element.dtype, np.dtype(object)):
            return []
        result = [result[index] for index in np.ndindex(result.shape)]
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, _SEQUENCES):
        return [value for item in result for value in _elements_in(item, element)]
    return [result] if isinstance(result, element.scalar) else []
