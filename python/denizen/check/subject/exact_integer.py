"""Scalars of the object arrays that an exact integer type is compared with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

__all__ = ["ExactInteger"]


class ExactInteger(int):
    """An int that stays one of these, and divides exactly: to a `Fraction`.

    Python's own int divides to a float, which arrays of exact integers do not.
    """

    __slots__ = ()

    def __truediv__(self, other: Any) -> Any:
        return _divided(self, other) if isinstance(other, int) else int.__truediv__(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _divided(other, self) if isinstance(other, int) else int.__rtruediv__(self, other)

    def __copy__(self) -> ExactInteger:
        return self

    def __deepcopy__(self, memo: Any) -> ExactInteger:
        return self


def _divided(numerator: int, denominator: int) -> Fraction:
    return Fraction(int(numerator), int(denominator))


def _closed(name: str) -> Callable[..., Any]:
    """A method of `int` whose integers are exact ones."""
    method = getattr(int, name)

    @functools.wraps(method)
    def closed(*operands: Any) -> Any:
        result = method(*operands)
        if type(result) is int:
            return ExactInteger(result)
        if type(result) is tuple:
            return tuple(map(ExactInteger, result))
        return result

    return closed


_BINARY = "add sub mul floordiv mod divmod pow lshift rshift and or xor".split()
_CLOSED = [*_BINARY, *(f"r{name}" for name in _BINARY), "neg", "pos", "abs", "invert"]
for _name in [*_CLOSED, "floor", "ceil", "trunc"]:
    setattr(ExactInteger, f"__{_name}__", _closed(f"__{_name}__"))
for _name in ["bit_count", "conjugate"]:
    setattr(ExactInteger, _name, _closed(_name))
