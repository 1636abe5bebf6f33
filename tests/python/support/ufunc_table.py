"""Every ufunc that works on `Integer` or `Rational`, and the function of Python's numbers that each
must agree with.

An `Entry` knows the ufunc, the function, and what its operands are drawn from. Its `oracle` is a
ufunc over object arrays that applies the function element by element, so that a test runs the same
NumPy operation twice and compares.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy._core import umath

from denizen import Integer, Rational
from support import strategies as draw

#: Of a ufunc that no reduction may reorder, and one that has no start value.
NO_IDENTITY = object()


@dataclass(frozen=True, repr=False)
class Entry:
    """One ufunc for one element type."""

    name: str
    element: type
    plain: Callable[..., Any]
    #: What the operands are drawn from: one choice of several, each with a strategy an operand.
    domains: tuple[tuple[st.SearchStrategy[Any], ...], ...]
    #: Types of the results.
    results: tuple[Any, ...]
    #: The start value of reductions; None: none, in any order.
    identity: Any = NO_IDENTITY

    @cached_property
    def ufunc(self) -> np.ufunc:
        return find(self.name)

    @cached_property
    def oracle(self) -> np.ufunc:
        start = {} if self.identity is NO_IDENTITY else {"identity": self.identity}
        return np.frompyfunc(self.plain, self.inputs, len(self.results), **start)

    @property
    def inputs(self) -> int:
        return len(self.domains[0])

    @property
    def operands(self) -> st.SearchStrategy[tuple[list[Any], ...]]:
        """The values of each operand."""
        return st.one_of(*(st.tuples(*map(draw.pools, domain)) for domain in self.domains))

    @property
    def corners(self) -> list[list[Any]]:
        """For each operand values of every size, of which none fails with any of the others."""
        values = draw.INTEGER_CORNERS if self.element is Integer else draw.FRACTION_CORNERS
        nonzero = [value for value in values if value]
        counts = [0, 1, 2, 31, 61, 62, 63, 64, 65, 127, 200]
        some = values[:: len(values) // 9]
        if self.name in DIVISION or self.name == "divide":
            return [values, nonzero]
        return {
            "left_shift": [values, counts],
            "right_shift": [values, [*counts, 3000, 2**62, 2**63, 2**64]],
            "power": [values, [*range(6)]]
            if self.element is Integer
            else [nonzero, [*range(-3, 4)]],
            "clip": [values, some, some],
            "reciprocal": [nonzero],
        }.get(self.name, [values] * self.inputs)

    def __repr__(self) -> str:
        return f"{self.element.__name__}-{self.name}"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        # hypothesis would print the fields.
        printer.text(repr(self))


def find(name: str) -> np.ufunc:
    """A ufunc of NumPy by its name."""
    return (
        getattr(np, name) if isinstance(getattr(np, name, None), np.ufunc) else getattr(umath, name)
    )


# ---- functions of Python's numbers -------------------------------------------------------------


def fmod(a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend."""
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def sign(a: Any) -> int:
    return (a > 0) - (a < 0)


def integer_power(a: int, b: int) -> int:
    if b < 0:
        raise ValueError("integers to negative integer powers are not allowed")
    return a**b


def rational_power(a: Fraction, b: Fraction) -> Fraction:
    b = Fraction(b)
    if b.denominator != 1:
        raise ValueError("a rational to a fractional power is not rational")
    return Fraction(a) ** b.numerator


def clip(a: Any, low: Any, high: Any) -> Any:
    return min(max(a, low), high)


def same(a: Any) -> Any:
    return a


ORDER = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
LOGIC: dict[str, tuple[Callable[..., bool], Any]] = {
    "logical_and": (lambda a, b: bool(a) and bool(b), True),
    "logical_or": (lambda a, b: bool(a) or bool(b), False),
    "logical_xor": (lambda a, b: bool(a) != bool(b), False),
}
KINDS: dict[str, Callable[[Any], bool]] = {
    "logical_not": operator.not_,
    "isnan": lambda a: False,
    "isinf": lambda a: False,
    "isfinite": lambda a: True,
    "signbit": lambda a: a < 0,
}
ARITHMETIC: dict[str, tuple[Callable[..., Any], Any]] = {
    "add": (operator.add, 0),
    "subtract": (operator.sub, NO_IDENTITY),
    "multiply": (operator.mul, 1),
    "minimum": (min, None),
    "maximum": (max, None),
    "fmin": (min, None),
    "fmax": (max, None),
}
DIVISION: dict[str, Callable[..., Any]] = {
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "fmod": fmod,
    "divmod": divmod,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "square": lambda a: a * a,
    "negative": operator.neg,
    "absolute": abs,
    "sign": sign,
    "positive": same,
    "conjugate": same,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "rint": round,
}
BITS: dict[str, tuple[Callable[..., int], Any]] = {
    "bitwise_and": (operator.and_, -1),
    "bitwise_or": (operator.or_, 0),
    "bitwise_xor": (operator.xor, 0),
    "gcd": (math.gcd, 0),
    "lcm": (math.lcm, 1),
}
#: Functions of several elements, tested apart.
PRODUCTS = {
    "matmul": "(m?,n),(n,p?)->(m?,p?)",
    "vecdot": "(n),(n)->()",
    "matvec": "(m,n),(n)->(m)",
    "vecmat": "(n),(n,p)->(p)",
}


def nonzero(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values.filter(bool)


def common(element: type, values: st.SearchStrategy[Any]) -> list[Entry]:
    """What both types can do."""
    one, two = (values,), (values, values)
    entries = []

    def add(
        name: str, plain: Any, domains: Any, results: Any = (element,), identity: Any = NO_IDENTITY
    ) -> None:
        entries.append(Entry(name, element, plain, tuple(domains), results, identity))

    for name, (plain, identity) in ARITHMETIC.items():
        add(name, plain, [two], identity=identity)
    for name, plain in DIVISION.items():
        results = (element, element) if name == "divmod" else (element,)
        add(name, plain, [(values, nonzero(values)), (values, nonzero(values)), two], results)
    for name, plain in UNARY.items():
        add(name, plain, [one])
    # The part behind the point, and the whole before it.
    add("modf", lambda a: (a - math.trunc(a), math.trunc(a)), [one], (element, element))
    for name, plain in ORDER.items():
        # Equal ones, too.
        few = st.sampled_from([-(2**63), -1, 0, 1, 2**62 - 1, 2**62, 2**64])
        add(name, plain, [two, (few, few)], (bool,))
    for name, (plain, identity) in LOGIC.items():
        add(name, plain, [two, (st.integers(-1, 1), st.integers(-1, 1))], (bool,), identity)
    for name, plain in KINDS.items():
        add(name, plain, [one], (bool,))
    add("clip", clip, [(values, values, values), (values, small_numbers, small_numbers)])
    return entries


small_numbers = draw.small_integers


def integer_entries() -> list[Entry]:
    values, counts = draw.integers, st.integers(0, 300)
    units, naturals = st.integers(-1, 1), draw.naturals
    entries = common(Integer, values)

    def add(
        name: str, plain: Any, domains: Any, results: Any = (Integer,), identity: Any = NO_IDENTITY
    ) -> None:
        entries.append(Entry(name, Integer, plain, tuple(domains), results, identity))

    for name, (plain, identity) in BITS.items():
        add(name, plain, [(values, values)], identity=identity)
    add("invert", operator.invert, [(values,)])
    add("bitwise_count", int.bit_count, [(values,)])
    add(
        "left_shift",
        operator.lshift,
        [(values, counts), (values, counts), (st.just(0), naturals), (values, st.integers(-2, 70))],
    )
    add(
        "right_shift",
        operator.rshift,
        [(values, counts), (values, naturals), (values, st.integers(-2, 70))],
    )
    add(
        "power",
        integer_power,
        [
            (values, st.integers(0, 5)),
            (small_numbers, st.integers(0, 200)),
            (units, naturals),
            (values, st.integers(-2, 4)),
        ],
    )
    add(
        "divide",
        Fraction,
        [(values, nonzero(values)), (values, nonzero(values)), (values, values)],
        (Rational,),
    )
    add("reciprocal", lambda a: Fraction(1, a), [(nonzero(values),), (values,)], (Rational,))
    return entries


def rational_entries() -> list[Entry]:
    values = draw.fractions
    entries = common(Rational, values)

    def add(name: str, plain: Any, domains: Any) -> None:
        entries.append(Entry(name, Rational, plain, tuple(domains), (Rational,)))

    add(
        "divide",
        operator.truediv,
        [(values, nonzero(values)), (values, nonzero(values)), (values, values)],
    )
    add("reciprocal", lambda a: 1 / a, [(nonzero(values),), (values,)])
    add(
        "power",
        rational_power,
        [
            (nonzero(values), st.integers(-4, 4)),
            (draw.small_fractions, st.integers(-20, 20)),
            (st.integers(-1, 1), draw.integers),
            (draw.small_fractions, st.one_of(st.integers(-3, 3), draw.small_fractions)),
        ],
    )
    return entries


ENTRIES = integer_entries() + rational_entries()

#: Functions whose results are no fractions: NumPy's own, of the nearest float64.
FLOATING_UNARY = [
    *("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    *("degrees", "radians", "deg2rad", "rad2deg", "fabs", "spacing"),
]
FLOATING_BINARY = [
    *("arctan2", "hypot", "logaddexp", "logaddexp2", "float_power"),
    *("copysign", "heaviside", "nextafter"),
]
FLOATING = [*FLOATING_UNARY, *FLOATING_BINARY, "frexp", "ldexp"]
