"""Sorting and searching of Integer and Rational against the same over Python's numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import agree, outcome

from denizen import Integer, Rational

BOTH = pytest.mark.parametrize("element", [Integer, Rational])
#: With many that are equal.
VALUES = {
    Integer: st.one_of(draw.integers, st.integers(-2, 2), st.sampled_from([2**62, 2**62 - 1])),
    Rational: st.one_of(draw.fractions, draw.small_fractions, st.integers(-2, 2)),
}
KINDS = ["quicksort", "heapsort", "mergesort", "stable"]
needs_descending = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


@st.composite
def arrays(pick: Any, element: type, dimensions: int = 3, readonly: bool = True) -> draw.Filled:
    """Of at least one dimension; some are longer than what sorts treat as short."""
    if pick(st.integers(0, 4)) == 0:
        shape = (pick(st.sampled_from([17, 40, 300])),)
    else:
        sizes = st.lists(st.integers(0, 5), min_size=1, max_size=dimensions)
        shape = tuple(pick(sizes))
    layout = pick(draw.layouts(shape, readonly))
    return draw.Filled(layout, pick(st.lists(VALUES[element], min_size=1, max_size=20)))


def axis_of(data: Any, array: draw.Filled) -> int:
    dimensions = len(array.layout.shape)
    return data.draw(st.integers(-dimensions, dimensions - 1))


@BOTH
@given(data=st.data())
def test_sorts_give_the_same_order(element: type, data: Any) -> None:
    array = data.draw(arrays(element, readonly=False))
    axis = axis_of(data, array)
    kind = data.draw(st.sampled_from(KINDS))
    plain = np.sort(array.build(object), axis=axis)
    agree(np.sort(array.build(element), axis=axis, kind=kind), plain, element)
    in_place = array.build(element)
    in_place.sort(axis=axis, kind=kind)
    agree(in_place, plain, element)
    agree(
        np.sort(array.build(element), axis=None), np.sort(array.build(object), axis=None), element
    )


@pytest.mark.skipif(not needs_descending, reason="NumPy 2.5 brought descending=")
@BOTH
@given(data=st.data())
def test_descending_sorts_keep_equal_elements_in_their_order(element: type, data: Any) -> None:
    values = data.draw(arrays(element, dimensions=1))
    array, plain = values.build(element), values.build(object).tolist()
    assert np.sort(array, descending=True).tolist() == sorted(plain, reverse=True)
    indices = np.argsort(array, descending=True, stable=True)
    assert indices.tolist() == sorted(range(len(plain)), key=plain.__getitem__, reverse=True)


@BOTH
@given(data=st.data())
def test_indices_of_sorts_are_stable(element: type, data: Any) -> None:
    array = data.draw(arrays(element))
    axis = axis_of(data, array)
    kind = data.draw(st.sampled_from(KINDS))
    plain = np.argsort(array.build(object), axis=axis, kind="stable")
    agree(np.argsort(array.build(element), axis=axis, kind=kind), plain, np.intp)


@BOTH
@given(data=st.data())
def test_lexsort_takes_the_last_key_first(element: type, data: Any) -> None:
    size = data.draw(st.integers(0, 12))
    few = st.sampled_from([-(2**63), -1, 0, 2**62, 2**70])
    keys = [data.draw(draw.filled((size,), few)) for _ in range(data.draw(st.integers(1, 3)))]
    # lexsort copies keys byte by byte into a buffer of its own where they are not in one piece.
    result = np.lexsort([key.build(element) for key in keys])
    rows = list(zip(*(key.build(object).tolist() for key in reversed(keys)), strict=True))
    assert result.tolist() == sorted(range(size), key=rows.__getitem__)


@BOTH
@given(data=st.data())
def test_partitions_put_the_element_in_its_place(element: type, data: Any) -> None:
    values = data.draw(arrays(element, dimensions=1, readonly=False))
    size = values.layout.shape[0]
    if size == 0:
        return
    kth = data.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=3))
    plain = values.build(object).tolist()
    ordered = sorted(plain)
    array = values.build(element)
    by_index = array[np.argpartition(array, kth)].tolist()
    for result in (np.partition(array, kth).tolist(), by_index):
        assert sorted(result) == ordered
        for place in kth:
            place %= size
            assert result[place] == ordered[place]
            assert all(one <= result[place] for one in result[:place])
            assert all(one >= result[place] for one in result[place:])


@BOTH
@given(data=st.data())
def test_searchsorted_finds_the_same_places(element: type, data: Any) -> None:
    haystack = data.draw(arrays(element, dimensions=1))
    needles = data.draw(
        arrays(element)
        | st.builds(
            draw.Filled, st.just(draw.Layout((), (), ())), st.lists(VALUES[element], min_size=1)
        )
    )
    side = data.draw(st.sampled_from(["left", "right"]))

    def run(dtype: Any, sorter: bool) -> Any:
        array = haystack.build(dtype)
        order = np.argsort(array, kind="stable")
        if sorter:
            return np.searchsorted(array, needles.build(dtype), side=side, sorter=order)
        return np.searchsorted(array[order], needles.build(dtype), side=side)

    sorter = data.draw(st.booleans())
    agree(run(element, sorter), run(object, sorter), np.intp)


@BOTH
@given(data=st.data())
def test_unique_and_sets_find_the_same_values(element: type, data: Any) -> None:
    first, second = (data.draw(arrays(element)) for _ in range(2))

    def found(dtype: Any) -> Any:
        return np.unique(
            first.build(dtype), return_index=True, return_inverse=True, return_counts=True
        )

    agree(found(element), found(object), element, np.intp, np.intp, np.intp)
    for function in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d):
        agree(
            function(first.build(element), second.build(element)),
            function(first.build(object), second.build(object)),
            element,
        )
    agree(
        np.isin(first.build(element), second.build(element)),
        np.isin(first.build(object), second.build(object)),
        bool,
    )


def peak_to_peak(array: np.ndarray, **keywords: Any) -> Any:
    """np.ptp, which makes NumPy's numbers of Python's ints where it finds one value alone."""
    high, low = np.max(array, **keywords), np.min(array, **keywords)
    return np.subtract(np.asarray(high, dtype=object), np.asarray(low, dtype=object))


@BOTH
@pytest.mark.parametrize("function", [np.argmin, np.argmax, np.min, np.max, np.ptp])
@given(data=st.data())
def test_extremes_are_the_first_of_the_equal_ones(element: type, function: Any, data: Any) -> None:
    array = data.draw(arrays(element))
    axis = data.draw(st.none() | st.just(axis_of(data, array)))
    keepdims = data.draw(st.booleans())

    def run(dtype: Any) -> Any:
        oracle = peak_to_peak if function is np.ptp and dtype is object else function
        return outcome(oracle, array.build(dtype), axis=axis, keepdims=keepdims)

    index = function in (np.argmin, np.argmax)
    agree(run(element), run(object), np.intp if index else element)


@BOTH
@given(data=st.data())
def test_truth_is_found_in_the_same_places(element: type, data: Any) -> None:
    values = st.one_of(st.just(0), st.integers(-1, 1), VALUES[element])
    array = data.draw(draw.shapes.flatmap(lambda shape: draw.filled(shape, values)))
    ours, plain = array.build(element), array.build(object)
    assert np.count_nonzero(ours) == np.count_nonzero(plain)
    if ours.ndim:
        for one, other in zip(np.nonzero(ours), np.nonzero(plain), strict=True):
            agree(one, other, np.intp)
        agree(np.argwhere(ours), np.argwhere(plain), np.intp)
    agree(ours[plain.astype(bool)], plain[plain.astype(bool)], element)
