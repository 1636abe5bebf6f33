"""Scalars of Integer and Rational against Python's int and Fraction: operators, functions, text."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import outcome, refused

from denizen import Integer, Rational

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor"),
        *("eq", "ne", "lt", "le", "gt", "ge"),
    )
} | {"divmod": divmod, "gcd": math.gcd, "max": max}
UNARY: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert", "not_", "index")},
    **{"int": int, "bool": bool, "float": float, "complex": complex, "hash": hash, "str": str},
    **{"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round},
    "round to tens": lambda value: round(value, -1),
    "ratio": lambda value: value.as_integer_ratio(),
    "parts": lambda value: (value.numerator, value.denominator, value.real, value.imag),
    "conjugate": lambda value: value.conjugate(),
    "format": lambda value: f"{value:>40}",
    "fixed": lambda value: format(value, ".3f"),
    "bits": lambda value: (value.bit_length(), value.bit_count()),
    "square root": lambda value: math.isqrt(abs(value)),
    "sine": lambda value: math.sin(value),
}
ELEMENTS = {int: Integer, Fraction: Rational}
numbers = st.one_of(draw.integers, draw.fractions, draw.small_integers, draw.small_fractions)
others = st.one_of(numbers, draw.floats, st.booleans())


def ours(value: Any) -> Any:
    """The value as a scalar of the element type, if there is one for its type."""
    return ELEMENTS.get(type(value), lambda same: same)(value)


def agree(result: Any, expected: Any, power: bool = False) -> None:
    """Same value and type; where Python gives a Fraction, Rational may stand in."""
    if isinstance(expected, tuple):
        for one, other in zip(result, expected, strict=True):
            agree(one, other)
        return
    if refused(expected) or refused(result):
        assert result is expected
        return
    if isinstance(expected, float):
        assert repr(result) == repr(expected)
    else:
        assert result == expected
    if power and isinstance(result, Rational) and isinstance(expected, int):
        # An int to the power of a Fraction that is whole is an int to Python, to us a Rational.
        return
    # `abs`, `+`, `round` and others may return their operand as it is.
    plain = {Integer: int, Rational: Fraction}
    assert plain.get(type(result), type(result)) is type(expected)


@pytest.mark.parametrize("name", BINARY)
@given(a=numbers, b=others)
def test_operators_are_those_of_python(name: str, a: Any, b: Any) -> None:
    function = BINARY[name]
    agree(outcome(function, ours(a), b), outcome(function, a, b))
    agree(outcome(function, b, ours(a)), outcome(function, b, a))
    agree(outcome(function, ours(a), ours(b)), outcome(function, a, b))


@pytest.mark.parametrize("name", UNARY)
@given(a=numbers)
def test_functions_are_those_of_python(name: str, a: Any) -> None:
    def run(value: Any) -> Any:
        try:
            return outcome(UNARY[name], value)
        except AttributeError:
            return AttributeError

    agree(run(ours(a)), run(a))


@given(a=numbers, b=st.one_of(st.integers(-4, 5), draw.small_fractions, st.floats(-2, 2)))
def test_powers_are_those_of_python(a: Any, b: Any) -> None:
    for one, other in ((a, b), (b, draw_small(a))):
        expected = outcome(operator.pow, one, other)
        agree(outcome(operator.pow, ours(one), other), expected, power=True)
        agree(outcome(operator.pow, one, ours(other)), expected, power=True)
        agree(outcome(operator.pow, ours(one), ours(other)), expected, power=True)


def draw_small(value: Any) -> Any:
    """An exponent of the same type that is not too large."""
    return type(value)(value.numerator % 5)


@given(a=draw.integers, b=st.integers(-2, 200), modulus=st.integers(-100, 100))
def test_shifts_and_modular_powers_are_those_of_python(a: int, b: int, modulus: int) -> None:
    for function in (operator.lshift, operator.rshift):
        for left, right in ((Integer(a), b), (a, Integer(b)), (Integer(a), Integer(b))):
            agree(outcome(function, left, right), outcome(function, a, b))
    agree(outcome(pow, Integer(a), abs(b), modulus), outcome(pow, a, abs(b), modulus))
