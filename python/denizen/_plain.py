"""`to_python`: the values of an array as objects that know nothing of denizen."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._runtime import Integer, Rational

__all__ = ["to_python"]


def to_python(a: ArrayLike, /) -> Any:
    """The values of an array in nested lists, as `a.tolist()` gives them, but plain.

    Integers are `int` and not `denizen.Integer`, rationals `fractions.Fraction` and not
    `denizen.Rational`; elements of other types are Python objects of their scalar class. One
    value for a 0-d array or a scalar, a tuple for each record of a structured array, `None` for
    each masked element.

    >>> denizen.to_python(np.array([["1/3", 2]], dtype=denizen.Rational))
    [[Fraction(1, 3), Fraction(2, 1)]]

    An array of plain objects is `np.array(denizen.to_python(a), dtype=object)`.
    """
    return _plain(np.asanyarray(a).tolist())


def _plain(value: Any) -> Any:
    """The value without our classes, in the lists and tuples that it is in."""
    if type(value) is list:
        return [_plain(item) for item in value]
    if type(value) is tuple:
        return tuple(_plain(item) for item in value)
    if isinstance(value, Integer):
        return int(value)
    if isinstance(value, Rational):
        return Fraction(value)
    return value
