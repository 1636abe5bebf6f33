"""What the tests against Python's own numbers draw: values, shapes, layouts in memory.

Nothing here makes arrays while it draws: a strategy gives plain values and a `Layout`, and the test
builds the arrays, so that no example which hypothesis keeps holds an element.

`HYPOTHESIS_PROFILE` picks how many examples a test tries: `quick` (the same few each time, the
default) or `long` (many, other ones each time).
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=15, derandomize=True, **COMMON)
settings.register_profile("long", max_examples=1000, print_blob=True, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# ---- values ------------------------------------------------------------------------------------

EDGES = [1 << bits for bits in (7, 8, 15, 16, 31, 32, 53, 61, 62, 63, 64, 127, 128)]

near_edges = st.builds(
    lambda edge, near, sign: sign * (edge + near),
    st.sampled_from(EDGES),
    st.integers(-2, 2),
    st.sampled_from([1, -1]),
)

#: Integers of every size that a representation could treat differently.
integers = st.one_of(
    st.integers(-20, 20),
    near_edges,
    st.integers(-(2**63), 2**63),
    st.integers(-(2**200), 2**200),
    st.integers(-(2**3000), 2**3000),
)
naturals = integers.map(abs)
small_integers = st.integers(-9, 9)

denominators = st.one_of(st.integers(1, 12), near_edges.map(abs), st.integers(1, 2**600))
fractions = st.builds(Fraction, integers, denominators)
#: With signs, sizes and denominators of everyday work, so that powers stay small.
small_fractions = st.builds(Fraction, st.integers(-30, 30), st.integers(1, 12))

#: Of every width, also those that are no number.
floats = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -1.5, 2.0**53, 2.0**63, 5e-324, 1e308, math.inf, math.nan]),
    st.floats(),
    st.floats(width=16),
    st.integers(-50, 50).map(float),
)


#: Where a representation changes, and on either side of that: every pair of them is tried, always.
INTEGER_CORNERS = sorted(
    {sign * (edge + near) for edge in EDGES for near in (-1, 0, 1) for sign in (1, -1)}
    | {*range(-3, 4), 10, -10, 3**126, -(3**126), 2**3000 + 1, 1 - 2**3000}
)
FRACTION_CORNERS = sorted(
    {Fraction(n, d) for n in range(-7, 8) for d in (1, 2, 3, 4)}
    | {
        Fraction(sign * numerator, denominator)
        for numerator in (2**31 - 1, 2**62 + 1, 2**63 - 1, 2**63, 2**64 + 1, 3**126)
        for denominator in (1, 2, 2**32 + 1, 2**62 - 1, 2**63 - 1, 2**64, 5**90)
        for sign in (1, -1)
    }
    | {Fraction(sign, denominator) for denominator in (2**63, 2**64 - 1, 7**80) for sign in (1, -1)}
)


def pools(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """The few values that an array is filled with, again and again."""
    return st.lists(values, min_size=1, max_size=6)


# ---- shapes and layouts ------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How an array lies in memory: its shape, an element step an axis (negative: backwards, 0: one
    element for the whole axis), the order of the axes (last is densest), and whether it is a field
    of a packed structure (unaligned, and in memory that is not managed)."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    packed: bool = False

    def build(self, values: Sequence[Any], dtype: Any) -> np.ndarray:
        """An array of that layout, filled with `values` over and over; between the elements that
        it shows lie others."""
        stored = [
            min(size, 1) if step == 0 else size * abs(step)
            for size, step in zip(self.shape, self.steps, strict=True)
        ]
        count = math.prod(stored)
        # Not in turn: a step would see the same few values.
        flat = allocate(
            [values[i * (i + 3) // 2 % len(values)] for i in range(count)], dtype, self.packed
        )
        array = flat.reshape([stored[axis] for axis in self.order])
        array = array.transpose(np.argsort(self.order) if self.order else ())
        # The ellipsis keeps an array without dimensions from becoming a scalar.
        array = array[(..., *(slice(None, None, step or 1) for step in self.steps))]
        return np.broadcast_to(array, self.shape) if 0 in self.steps else array


def allocate(values: list[Any], dtype: Any, packed: bool = False) -> np.ndarray:
    """The values as a new array of one dimension."""
    if not packed:
        return objects(values) if dtype is object else np.array(values, dtype=dtype)
    table = np.zeros(len(values), dtype=[("tag", "i1"), ("cell", np.dtype(dtype))])
    table["cell"] = allocate(values, dtype)
    return table["cell"]


def objects(values: Sequence[Any]) -> np.ndarray:
    """The values as an object array of one dimension."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@st.composite
def layouts(draw: Any, shape: tuple[int, ...], readonly: bool = True) -> Layout:
    """Ways to lay out an array of a shape; only an array that is not written to repeats elements."""
    if draw(st.integers(0, 3)) == 0:
        return Layout(shape, (1,) * len(shape), tuple(range(len(shape))))
    steps = st.sampled_from([1, 2, -1, -3, 0] if readonly else [1, 2, -1, -3])
    return Layout(
        shape,
        tuple(draw(steps) for _ in shape),
        tuple(draw(st.permutations(range(len(shape))))),
        draw(st.sampled_from([False, False, False, True])),
    )


#: None, empty, of one to three dimensions.
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)

#: Longer than what loops and buffers take at once.
LONG = [(600,), (4097,), (8200,)]


def broadcastable(count: int) -> st.SearchStrategy[tuple[list[tuple[int, ...]], tuple[int, ...]]]:
    """Shapes that broadcast together, and what they become."""
    drawn = hnp.mutually_broadcastable_shapes(
        num_shapes=count, min_dims=0, max_dims=3, min_side=0, max_side=4
    ).map(lambda shapes: (list(shapes.input_shapes), shapes.result_shape))
    return st.one_of(drawn, shapes.map(lambda shape: ([shape] * count, shape)))


@dataclass(frozen=True)
class Filled:
    """An array to be: a layout, and values for it; without values it gets zeros."""

    layout: Layout
    values: list[Any] | None

    def build(self, dtype: Any) -> np.ndarray:
        return self.layout.build([0] if self.values is None else self.values, dtype)


def filled(
    shape: tuple[int, ...], values: st.SearchStrategy[Any], readonly: bool = True
) -> st.SearchStrategy[Filled]:
    return st.builds(Filled, layouts(shape, readonly), pools(values))


def masks(shape: tuple[int, ...]) -> st.SearchStrategy[Filled]:
    return filled(shape, st.booleans())
