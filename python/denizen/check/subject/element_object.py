"""A scalar whose operators are the element type's own loops, on arrays of one element."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ElementObject", "one_by_one"]


def _single(dtype: np.dtype[Any], value: Any) -> Any:
    array = np.empty(1, dtype=dtype)
    array[0] = value
    return array


class ElementObject:
    """One value of an element type, alone.

    Object arrays of these do with NumPy's machinery for objects what arrays of the type do with
    loops over many elements, strides and buffers. They serve where the scalar class has no
    operators of its own.
    """

    __slots__ = ("dtype", "value")
    # Results are scalars, not arrays, beside arrays too.
    __array_ufunc__ = None

    def __init__(self, dtype: np.dtype[Any], value: Any) -> None:
        self.dtype = dtype
        self.value = value

    def _apply(self, ufunc: Any, *operands: Any) -> Any:
        if any(isinstance(operand, np.ndarray) for operand in operands):
            return NotImplemented
        arrays = [
            _single(self.dtype, operand.value) if isinstance(operand, ElementObject) else operand
            for operand in operands
        ]
        results = ufunc(*arrays)
        if isinstance(results, tuple):
            return tuple(self._scalar(result) for result in results)
        return self._scalar(results)

    def _scalar(self, result: Any) -> Any:
        if result.dtype == self.dtype:
            return ElementObject(self.dtype, result[0])
        return result[0].item() if isinstance(result[0], np.generic) else result[0]

    def __getattr__(self, name: str) -> Any:
        # `np.sqrt` of an object array asks its elements for a method `sqrt`.
        ufunc = getattr(np, name, None)
        if not isinstance(ufunc, np.ufunc) or name.startswith("_"):
            raise AttributeError(f"ElementObject has no {name}")
        return lambda *operands: self._apply(ufunc, self, *operands)

    def __bool__(self) -> bool:
        return bool(_single(self.dtype, self.value).astype(bool)[0])

    def __int__(self) -> int:
        return int(_single(self.dtype, self.value).astype(np.int64)[0])

    def __float__(self) -> float:
        return float(_single(self.dtype, self.value).astype(np.float64)[0])

    def __complex__(self) -> complex:
        return complex(_single(self.dtype, self.value).astype(np.complex128)[0])

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __copy__(self) -> ElementObject:
        return ElementObject(self.dtype, copy.copy(self.value))

    def __deepcopy__(self, memo: Any) -> ElementObject:
        return ElementObject(self.dtype, copy.deepcopy(self.value, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return ElementObject, (self.dtype, self.value)


_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "divmod": np.divmod,
    "pow": np.power,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "matmul": np.matmul,
}
_COMPARED = {
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNARY = {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}


def _operator(ufunc: Any) -> Callable[..., Any]:
    return lambda self, *operands: self._apply(ufunc, self, *operands)


def _reflected(ufunc: Any) -> Callable[..., Any]:
    return lambda self, other: self._apply(ufunc, other, self)


for _name, _ufunc in {**_BINARY, **_COMPARED, **_UNARY}.items():
    setattr(ElementObject, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _BINARY.items():
    setattr(ElementObject, f"__r{_name}__", _reflected(_ufunc))


def one_by_one(ufunc: Any, dtype: np.dtype[Any], *operands: Any) -> Any:
    """What `ufunc` gives for each element alone, as an object array (or a tuple of them).

    Elements of object arrays that are no plain numbers are taken for scalars of `dtype`.
    """
    broadcast = np.broadcast_arrays(*(np.asarray(operand) for operand in operands))
    shape = broadcast[0].shape
    outputs = [np.empty(shape, dtype=object) for _ in range(ufunc.nout)]
    for index in np.ndindex(shape):
        singles = [
            _single(dtype, array[index]) if array.dtype == object else array[index]
            for array in broadcast
        ]
        results = ufunc(*singles)
        for output, result in zip(outputs, results if ufunc.nout > 1 else (results,), strict=True):
            output[index] = operator.getitem(np.atleast_1d(result), 0)
    return outputs[0] if ufunc.nout == 1 else tuple(outputs)
