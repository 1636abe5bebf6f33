"""Sorts of arrays that hold elements in structures, and partitions of elements: what stands in the
place of NumPy's quicksort, which leaves the array where a comparison contradicts itself.

`method` is NumPy's own method of the same name. A sorted array is partitioned by every index.

NumPy compares copies of an item's bytes. So the memory is locked for reading as long as it does:
what an order may do by way of Python ends none of the objects that are compared."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import _runtime

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort"]

_Order = str | Sequence[str] | None


def sort(
    method: Any,
    array: Any,
    axis: SupportsIndex = -1,
    kind: str | None = None,
    order: _Order = None,
    *,
    stable: bool | None = None,
    **others: Any,
) -> None:
    """Sorts in place, stably whatever `kind` says: finds the order, then moves the items."""
    place = normalize_axis_index(axis.__index__(), array.ndim)
    if not array.flags.writeable:
        raise ValueError("sort array is read-only")
    indices = array.argsort(axis=place, kind=kind, order=order, stable=stable, **others)
    _runtime._reorder(array, indices, place)


def argsort(
    method: Any,
    array: Any,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    order: _Order = None,
    *,
    stable: bool | None = None,
    **others: Any,
) -> Any:
    """The indices that sort, by NumPy's merge sort whatever `kind` says."""
    _check_kind(kind, stable)
    return _runtime._while_read([array], method, array, axis, "stable", order, **others)


def partition(
    method: Any,
    array: Any,
    kth: Any,
    axis: SupportsIndex = -1,
    kind: str = "introselect",
    order: _Order = None,
) -> None:
    """Sorts in place."""
    _check_kth(array, kth, axis, kind)
    array.sort(axis=axis, kind="stable", order=order)


def argpartition(
    method: Any,
    array: Any,
    kth: Any,
    axis: SupportsIndex | None = -1,
    kind: str = "introselect",
    order: _Order = None,
) -> Any:
    """The indices that sort."""
    _check_kth(array, kth, axis, kind)
    return array.argsort(axis=axis, kind="stable", order=order)


def lexsort(function: Any, keys: Any, axis: SupportsIndex = -1) -> Any:
    """The indices that sort by several keys, the last one first."""
    # What NumPy reads cannot change meanwhile.
    keys = keys if isinstance(keys, np.ndarray) else tuple(keys)
    arrays = [keys] if isinstance(keys, np.ndarray) else list(keys)
    return _runtime._while_read(arrays, function, keys, axis)


def _check_kind(kind: str | None, stable: bool | None) -> None:
    """Lets NumPy refuse what it would."""
    if kind is not None or stable is not None:
        check: Any = np.zeros(1)
        check.argsort(kind=kind, stable=stable)


def _check_kth(array: Any, kth: Any, axis: SupportsIndex | None, kind: str) -> None:
    """Lets NumPy refuse what it would."""
    if axis is None or array.ndim == 0:
        length = array.size
    else:
        length = array.shape[axis]
    check: Any = np.zeros(length, "i1")
    check.argpartition(kth, kind=kind)
