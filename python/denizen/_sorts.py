"""Sorts of arrays that hold elements in structures, and partitions of elements: what stands in the
place of NumPy's quicksort, which leaves the array where a comparison contradicts itself.

`method` is NumPy's own method of the same name. A sorted array is partitioned by every index."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

__all__ = ["argpartition", "argsort", "partition", "sort"]

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
    """Sorts in place, by NumPy's merge sort whatever `kind` says."""
    _check_kind(kind, stable)
    method(array, axis, "stable", order, **others)


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
    return method(array, axis, "stable", order, **others)


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
