"""Ufuncs of Integer and Rational against the same ufuncs over Python's int and Fraction: values,
dtypes and exceptions, for every layout in memory, with `out=`, `where=`, in place, over operands
that overlap, and through `at` and `outer`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy._core import umath
from support import strategies as draw
from support.outcomes import agree, outcome, refused, values
from support.ufunc_table import ENTRIES, FLOATING, PRODUCTS, Entry

from denizen import Integer, Rational


def each(entries: list[Entry]) -> Any:
    return pytest.mark.parametrize("entry", entries, ids=str)


#: Whose results can be stored where their operands lie.
CLOSED = [entry for entry in ENTRIES if entry.results == (entry.element,)]


@pytest.mark.parametrize("element", [Integer, Rational])
def test_the_table_names_every_ufunc_that_has_a_loop(element: type) -> None:
    named = {entry.name for entry in ENTRIES if entry.element is element}
    named |= {*PRODUCTS, *FLOATING}
    if element is Rational:
        # Its exponents are integers.
        named -= {"ldexp"}
    ufuncs = {
        thing
        for module in (np, umath)
        for thing in vars(module).values()
        if isinstance(thing, np.ufunc)
    }
    for ufunc in ufuncs:
        operands = (np.dtype(element),) * ufunc.nin + (None,) * ufunc.nout
        works = not refused(outcome(ufunc.resolve_dtypes, operands))
        assert works == (ufunc.__name__ in named), ufunc.__name__


@dataclass(frozen=True)
class Call:
    """One call of a ufunc: operands, targets, mask."""

    operands: list[draw.Filled]
    targets: list[draw.Filled | None]
    mask: draw.Filled | None

    def run(self, ufunc: np.ufunc, element: Any, *results: Any) -> tuple[Any, list[Any]]:
        """What comes of it with operands of `element`, and the targets afterwards."""
        operands = [operand.build(element) for operand in self.operands]
        targets = [
            target and target.build(dtype)
            for target, dtype in zip(self.targets, results, strict=True)
        ]
        keywords: dict[str, Any] = {"where": self.mask.build(bool)} if self.mask else {}
        if any(target is not None for target in targets):
            keywords["out"] = tuple(targets)
        return outcome(ufunc, *operands, **keywords), targets

    def each(self, plain: Callable[..., Any], shape: tuple[int, ...]) -> list[Any]:
        """What comes of each element on its own."""
        operands = (operand.build(object) for operand in self.operands)
        columns = (np.broadcast_to(operand, shape).ravel().tolist() for operand in operands)
        return [outcome(plain, *row) for row in zip(*columns, strict=True)]


@st.composite
def calls(pick: Any, entry: Entry, targets: bool = False) -> Call:
    if pick(st.integers(0, 29)) == 0:
        shape = pick(st.sampled_from(draw.LONG))
        shapes = [shape] * entry.inputs
    else:
        shapes, shape = pick(draw.broadcastable(entry.inputs))
    operands = [
        draw.Filled(pick(draw.layouts(one)), values)
        for one, values in zip(shapes, pick(entry.operands), strict=True)
    ]
    mask = pick(draw.masks(shape)) if targets and pick(st.booleans()) else None
    chosen: list[draw.Filled | None] = [None] * len(entry.results)
    for index in range(len(chosen)):
        # What a mask leaves out of a new array is not defined for objects.
        if targets and (mask or pick(st.booleans())):
            layout = pick(draw.layouts(shape, readonly=False))
            chosen[index] = draw.Filled(layout, pick(st.none() | draw.pools(draw.integers)))
    return Call(operands, chosen, mask)


@each(ENTRIES)
def test_values_of_every_size_meet_each_other(entry: Entry) -> None:
    def run(ufunc: np.ufunc, dtype: Any) -> Any:
        arrays = (draw.allocate(corners, dtype) for corners in entry.corners)
        return ufunc(*np.ix_(*arrays)) if entry.inputs > 1 else ufunc(*arrays)

    agree(run(entry.ufunc, entry.element), run(entry.oracle, object), *entry.results)


@each(ENTRIES)
@given(data=st.data())
def test_results_are_those_of_python(entry: Entry, data: Any) -> None:
    call = data.draw(calls(entry))
    result, _ = call.run(entry.ufunc, entry.element, *entry.results)
    expected, _ = call.run(entry.oracle, object, *[object] * len(entry.results))
    agree(result, expected, *entry.results)


@each(ENTRIES)
@given(data=st.data())
def test_results_go_where_the_caller_says(entry: Entry, data: Any) -> None:
    call = data.draw(calls(entry, targets=True))
    result, arrays = call.run(entry.ufunc, entry.element, *entry.results)
    expected, plain = call.run(entry.oracle, object, *[object] * len(entry.results))
    agree(result, expected, *entry.results)
    for index, (target, dtype) in enumerate(zip(call.targets, entry.results, strict=True)):
        if target is None:
            continue
        if not refused(result):
            agree(arrays[index], plain[index], dtype)
            continue
        # Some elements were reached, in whatever order; the others are as before.
        before, computed = target.build(dtype), call.each(entry.plain, target.layout.shape)
        for now, then, value in zip(values(arrays[index]), values(before), computed, strict=True):
            new = value[index] if isinstance(value, tuple) else value
            assert now == then or (not refused(value) and now == new)


#: Ways to see three by three elements of four by four.
VIEWS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda a: a[:3, :3],
    lambda a: a[1:, 1:],
    lambda a: a[1:, :3],
    lambda a: a[:3, :3].T,
    lambda a: a[:3, :3][::-1],
    lambda a: a[2::-1, 3:0:-1],
    lambda a: a.T[1:, :3],
]


@each(CLOSED)
@given(data=st.data())
def test_operands_may_overlap_the_result(entry: Entry, data: Any) -> None:
    pools = data.draw(entry.operands)
    shared = data.draw(st.integers(0, entry.inputs - 1))
    layout = data.draw(draw.layouts((4, 4), readonly=False))
    views = [data.draw(st.sampled_from(VIEWS)) for _ in range(entry.inputs)]
    # Most of all the same elements.
    into = data.draw(st.sampled_from([views[shared], *VIEWS]))

    def run(ufunc: np.ufunc, dtype: Any) -> Any:
        memory = layout.build(pools[shared], dtype)
        operands = [
            view(memory if pools[index] is pools[shared] else layout.build(pools[index], dtype))
            for index, view in enumerate(views)
        ]
        result = outcome(ufunc, *operands, out=into(memory))
        return result if refused(result) else memory

    agree(run(entry.ufunc, entry.element), run(entry.oracle, object), entry.element)


@each([entry for entry in CLOSED if entry.inputs <= 2])
@given(data=st.data())
def test_at_takes_indices_one_by_one(entry: Entry, data: Any) -> None:
    size = data.draw(st.integers(1, 6))
    # Powers of powers of powers have no end of digits: of those no element comes twice.
    once = (lambda index: index % size) if entry.name == "power" else None
    indices = data.draw(st.lists(st.integers(-size, size - 1), max_size=8, unique_by=once))
    pools = data.draw(entry.operands)
    layout = data.draw(draw.layouts((size,), readonly=False))
    other = data.draw(st.sampled_from([(), (1,), (len(indices),)]).flatmap(draw.layouts))

    def run(ufunc: np.ufunc, dtype: Any) -> Any:
        array = layout.build(pools[0], dtype)
        operands = [other.build(pool, dtype) for pool in pools[1:]]
        result = outcome(ufunc.at, array, indices, *operands)
        return result if refused(result) else array

    agree(run(entry.ufunc, entry.element), run(entry.oracle, object), entry.element)


@each([entry for entry in ENTRIES if entry.inputs == 2])
@given(data=st.data())
def test_outer_meets_each_with_each(entry: Entry, data: Any) -> None:
    pools = data.draw(entry.operands)
    layouts = [data.draw(draw.shapes.flatmap(draw.layouts)) for _ in pools]

    def run(ufunc: np.ufunc, dtype: Any) -> Any:
        operands = [layout.build(pool, dtype) for layout, pool in zip(layouts, pools, strict=True)]
        return outcome(ufunc.outer, *operands)

    agree(run(entry.ufunc, entry.element), run(entry.oracle, object), *entry.results)
