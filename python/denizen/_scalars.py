"""The scalar classes of the bundled element types, and what converts to them.

`Integer` is a subclass of `int` and `Rational` one of `fractions.Fraction`, so that every library
that knows those knows these. Arithmetic of `Integer` scalars gives plain ints, which NumPy takes
beside arrays of any type. It takes no plain `Fraction` beside an array of `Rational` (the result
would be an object array), so arithmetic of `Rational` scalars gives `Rational`.
"""

import functools
import importlib
import numbers
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeVar, cast

import numpy as np

from ._runtime import _Indexed

if TYPE_CHECKING:
    from ._runtime import IntegerDType, RationalDType

__all__ = ["Integer", "Rational"]

_Number = TypeVar("_Number", int, Fraction)


def as_int(value: Any) -> int:
    """The integer that is exactly `value`: a number of any type, decimal text, or a 0-d array."""
    if isinstance(value, np.ndarray):
        return as_int(_only_element(value, "Integer"))
    if isinstance(value, (str, bytes, bytearray)):
        return _read(int, value, "Integer")
    if isinstance(value, np.bool_):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        pass
    numerator, denominator = _integer_ratio(value, "Integer")
    if denominator != 1:
        raise ValueError(f"{value!r} is not an integer")
    return int(numerator)


def as_fraction(value: Any) -> Fraction:
    """The fraction that is exactly `value`: a number of any type, text as `Fraction` reads it, or
    a 0-d array."""
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, np.ndarray):
        return as_fraction(_only_element(value, "Rational"))
    if isinstance(value, (str, bytes, bytearray)):
        return _read(Fraction, value if isinstance(value, str) else value.decode(), "Rational")
    if isinstance(value, np.bool_):
        return Fraction(int(value))
    try:
        return Fraction(operator.index(value))
    except TypeError:
        return Fraction(*_integer_ratio(value, "Rational"))


def _only_element(array: np.ndarray[Any, Any], name: str) -> Any:
    """What a 0-d array holds."""
    if array.ndim != 0:
        raise TypeError(f"cannot convert an array of shape {array.shape} to {name}, only a 0-d one")
    element = array[()]
    if isinstance(element, np.ndarray):
        raise TypeError(f"cannot convert a masked element to {name}")
    return element


def _read(number: Callable[[Any], _Number], text: Any, name: str) -> _Number:
    """A number from text."""
    try:
        return number(text)
    except ValueError as error:
        if "nvalid literal" not in str(error):
            raise
        raise ValueError(f"invalid literal for {name}: {text!r}") from None


def _integer_ratio(value: Any, name: str) -> tuple[int, int]:
    """Numerator and denominator of a number that has them."""
    # Of numbers that have both: `as_integer_ratio` of gmpy2's fractions loses references (2.3.2).
    denominator = getattr(value, "denominator", None)
    try:
        if denominator is not None:
            numerator = value.numerator
        else:
            numerator, denominator = value.as_integer_ratio()
        return operator.index(numerator), operator.index(denominator)
    except (AttributeError, TypeError):
        hint = "; take its real part" if isinstance(value, (complex, np.complexfloating)) else ""
        raise TypeError(f"cannot convert {type(value).__name__} to {name}{hint}") from None
    except (ValueError, OverflowError) as error:
        # Neither a NaN nor an infinity has them.
        raise type(error)(f"cannot convert {value} to {name}") from None


class Integer(int, _Indexed):
    """An exact integer of any size, as an element of NumPy arrays.

    >>> np.array([2**70, -1], dtype=Integer)

    Made from integers, floats and fractions with an integral value, text, and 0-d arrays of these;
    with `base`, from text in that base. Arithmetic gives plain ints.
    """

    __slots__ = ()

    #: The dtype of its arrays, which makes `dtype=denizen.Integer` work.
    dtype: ClassVar["IntegerDType"]

    def __new__(cls, value: Any = 0, /, base: SupportsIndex | None = None) -> Self:
        if base is not None:
            return super().__new__(cls, value, base)
        return super().__new__(cls, value if type(value) is int else as_int(value))

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (int(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class Rational(Fraction, _Indexed):
    """An exact fraction of any size, as an element of NumPy arrays.

    >>> np.array(["1/3", 2], dtype=Rational)

    Made from one number, text or 0-d array, or from a numerator and a denominator. Floats convert
    exactly. Arithmetic gives `Rational`.
    """

    __slots__ = ()

    #: The dtype of its arrays, which makes `dtype=denizen.Rational` work.
    dtype: ClassVar["RationalDType"]

    def __new__(cls, numerator: Any = 0, denominator: Any = None) -> Self:
        top = as_fraction(numerator)
        if denominator is not None:
            top = top / as_fraction(denominator)
        # Reduced already, which Fraction's own constructor would do again.
        self: Any = object.__new__(cls)
        self._numerator = top.numerator
        self._denominator = top.denominator
        return cast("Self", self)

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        return type(self), (self.numerator, self.denominator)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __mpq__(self) -> Any:
        # What gmpy2 asks of numbers that it does not know; no others call this.
        return importlib.import_module("gmpy2").mpq(self.numerator, self.denominator)


for _class in (Integer, Rational):
    # Where users find them.
    _class.__module__ = "denizen"


def _closed(name: str) -> Callable[..., Any]:
    """A method of `Fraction` whose fractions are made `Rational`; anything else passes through."""
    method = getattr(Fraction, name)

    @functools.wraps(method)
    def closed(*operands: Any, **keywords: Any) -> Any:
        result = method(*operands, **keywords)
        if type(result) is Fraction:
            return rational_from_parts(result.numerator, result.denominator)
        if type(result) is tuple:
            quotient, remainder = result
            if type(remainder) is Fraction:
                remainder = rational_from_parts(remainder.numerator, remainder.denominator)
            return quotient, remainder
        return result

    return closed


_CLOSED = (
    "pos neg abs round add radd sub rsub mul rmul truediv rtruediv mod rmod divmod rdivmod pow rpow"
)
for _name in (*(f"__{name}__" for name in _CLOSED.split()), "limit_denominator"):
    setattr(Rational, _name, _closed(_name))

_rpow = Rational.__rpow__


def _reflected_power(exponent: Rational, base: Any, modulus: None = None) -> Any:
    """`base ** exponent`. `Fraction` asks the exponent again for a base that it makes a fraction,
    and Python prefers the method of a subclass: without end."""
    if isinstance(base, numbers.Rational):
        return Rational(base.numerator, base.denominator) ** exponent
    return _rpow(exponent, base)


setattr(Rational, "__rpow__", _reflected_power)  # noqa: B010


# What the conversions of the element types call.

int_new = int.__new__


def int_from_bytes(data: bytes) -> int:
    """An integer from two's complement, least byte first."""
    return int.from_bytes(data, "little", signed=True)


def int_to_bytes(value: int) -> bytes:
    """Two's complement, least byte first."""
    return int.to_bytes(value, value.bit_length() // 8 + 1, "little", signed=True)


def rational_from_parts(numerator: int, denominator: int) -> Any:
    """A rational from parts that are reduced already."""
    self: Any = object.__new__(Rational)
    self._numerator = numerator
    self._denominator = denominator
    return self
