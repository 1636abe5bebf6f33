"""Correct digits of a result against a certified value, and exact numbers as decimals."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import floor, inf, isqrt

#: The certificates give 15 significant digits; no score is better than that.
CERTIFIED_DIGITS = 15


def log_relative_error(value: Fraction | float, certified: Fraction) -> float:
    """The LRE of NIST's data sets: -log10 of the relative error; of the absolute one for zero.

    It is about the number of correct digits; infinite for equal values, never negative.
    """
    if value != value or value in (inf, -inf):
        return 0.0
    error = abs(Fraction(value) - certified)
    if certified:
        error /= abs(certified)
    if not error:
        return inf
    # A quotient of big integers may be out of float's range, its logarithm is not.
    logarithm = Context(prec=20).divide(error.numerator, error.denominator).log10()
    return max(0.0, -float(logarithm))


def score(value: Fraction | float, certified: Fraction) -> str:
    """The correct digits for a table: "exact", "all 15" or a number with one decimal."""
    if value == certified:
        return "exact"
    if _rounded(value, CERTIFIED_DIGITS) == _rounded(certified, CERTIFIED_DIGITS):
        return f"all {CERTIFIED_DIGITS}"
    error = min(log_relative_error(value, certified), CERTIFIED_DIGITS)
    return f"{floor(error * 10) / 10:.1f}"


def is_right(value: Fraction | float, certified: Fraction) -> bool:
    """Whether every certified digit is right."""
    return score(value, certified) in ("exact", f"all {CERTIFIED_DIGITS}")


def to_decimal(value: Fraction, digits: int = CERTIFIED_DIGITS) -> str:
    """The value rounded to that many significant digits."""
    rounded = _rounded(value, digits).normalize()
    if rounded == 0:
        return "0"
    return f"{rounded:f}" if -6 <= rounded.adjusted() < digits else f"{rounded:e}"


def square_root(value: Fraction, digits: int = 40) -> Fraction:
    """The square root: exact where it is rational, else rounded down to `digits` digits."""
    if value < 0:
        raise ValueError(f"the square root of {value} is not real")
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    size = (value.numerator.bit_length() - value.denominator.bit_length()) // 6
    scale = Fraction(10) ** max(digits - size, digits)
    return Fraction(isqrt(floor(value * scale * scale))) / scale


def _rounded(value: Fraction | float, digits: int) -> Decimal:
    """The nearest decimal with that many significant digits."""
    if isinstance(value, Fraction):
        return Context(prec=digits).divide(value.numerator, value.denominator)
    return Context(prec=digits).create_decimal(value)
