"""Reductions and accumulations of Integer and Rational against the same over Python's numbers: along
any axes, with start values, masks and targets, for every layout in memory."""

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import agree, outcome
from support.ufunc_table import ENTRIES, NO_IDENTITY, Entry

from denizen import Integer, Rational

REDUCING = [
    entry
    for entry in ENTRIES
    if entry.inputs == 2
    and len(entry.results) == 1
    and (entry.results != (bool,) or entry.name.startswith("logical_"))
]
#: Of functions that would grow out of hand.
SMALL = {
    "power": st.integers(-1, 3),
    "left_shift": st.integers(-1, 20),
    "right_shift": st.integers(-1, 100),
}


def reduced_values(entry: Entry) -> st.SearchStrategy[Any]:
    """What the arrays are filled with, which is on both sides of the function."""
    if entry.name in SMALL:
        return SMALL[entry.name]
    return st.one_of(*{id(one): one for domain in entry.domains for one in domain}.values())


@st.composite
def axes(pick: Any, shape: tuple[int, ...]) -> Any:
    """None, one axis or several, counted from either end."""
    dimensions = len(shape)
    choices = [st.none()]
    if dimensions:
        one = st.integers(-dimensions, dimensions - 1)
        choices += [one, st.lists(one, unique_by=lambda axis: axis % dimensions).map(tuple)]
    return pick(st.one_of(choices))


def each(entries: list[Entry]) -> Any:
    return pytest.mark.parametrize("entry", entries, ids=str)


def starts(element: type, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Start values: Python's numbers, the type's own, NumPy's."""
    return st.one_of(
        values, values.map(element), st.integers(-5, 5).map(np.int64), st.just(NO_IDENTITY)
    )


@each(REDUCING)
@given(data=st.data())
def test_reductions_are_those_of_python(entry: Entry, data: Any) -> None:
    values = reduced_values(entry)
    shape = data.draw(draw.shapes)
    array = data.draw(draw.filled(shape, values))
    axis = data.draw(axes(shape))
    keepdims = data.draw(st.booleans())
    start = data.draw(starts(entry.element, values))
    mask = data.draw(st.none() | draw.masks(shape))
    given_axes = range(len(shape)) if axis is None else np.atleast_1d(axis).astype(int).tolist()
    gone = {one % len(shape) for one in given_axes} if shape else set()
    left = tuple(
        1 if index in gone else size
        for index, size in enumerate(shape)
        if keepdims or index not in gone
    )
    target = data.draw(st.none() | draw.filled(left, draw.small_integers, readonly=False))

    def run(ufunc: np.ufunc, dtype: Any, result: Any) -> tuple[Any, Any]:
        keywords: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        if mask:
            keywords["where"] = mask.build(bool)
        if start is not NO_IDENTITY:
            keywords["initial"] = plain_start(start) if dtype is object else start
        elif dtype is object and entry.identity not in (None, NO_IDENTITY):
            # Reductions of object arrays start from their first element, all others from here.
            keywords["initial"] = entry.identity
        out = target and target.build(result)
        return outcome(ufunc.reduce, array.build(dtype), out=out, **keywords), out

    result, out = run(entry.ufunc, entry.element, entry.results[0])
    expected, plain = run(entry.oracle, object, object)
    agree(result, expected, *entry.results)
    if target and not isinstance(result, type):
        agree(out, plain, *entry.results)


def plain_start(start: Any) -> Any:
    if isinstance(start, np.generic):
        return start.item()
    return Fraction(start) if isinstance(start, Fraction) else int(start)


@each(REDUCING)
@given(data=st.data())
def test_accumulations_are_those_of_python(entry: Entry, data: Any) -> None:
    shape = data.draw(draw.shapes)
    array = data.draw(draw.filled(shape, reduced_values(entry)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1)) if shape else 0
    target = data.draw(st.none() | draw.filled(shape, draw.small_integers, readonly=False))

    def run(ufunc: np.ufunc, dtype: Any, result: Any) -> Any:
        out = target and target.build(result)
        return outcome(ufunc.accumulate, array.build(dtype), axis=axis, out=out)

    agree(
        run(entry.ufunc, entry.element, entry.results[0]),
        run(entry.oracle, object, object),
        *entry.results,
    )


BOTH = pytest.mark.parametrize("element", [Integer, Rational])
VALUES = {Integer: draw.integers, Rational: draw.fractions}
METHODS = ["sum", "prod", "min", "max", "any", "all", "cumsum", "cumprod", "argmin", "argmax"]


@BOTH
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_methods_are_those_of_object_arrays(element: type, method: str, data: Any) -> None:
    shape = data.draw(draw.shapes)
    array = data.draw(draw.filled(shape, VALUES[element]))
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None

    def run(dtype: Any) -> Any:
        return outcome(getattr(array.build(dtype), method), axis=axis)

    dtype = {"any": bool, "all": bool, "argmin": np.intp, "argmax": np.intp}.get(method, element)
    agree(run(element), run(object), dtype)


def test_a_reduction_into_truths_may_come_first() -> None:
    # NumPy keeps what it resolved, so in a process of its own.
    program = """
import numpy as np, denizen
for element in (denizen.Integer, denizen.Rational):
    a, truth = np.array([1, 0, 2], dtype=element), np.zeros((), dtype=bool)
    for ufunc, expected in ((np.logical_and, 0), (np.logical_or, 1), (np.logical_xor, 0)):
        assert ufunc.reduce(a, out=truth) == ufunc.reduce(a) == expected
"""
    subprocess.run([sys.executable, "-c", program], check=True)
