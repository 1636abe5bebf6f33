"""Histograms of Integer and Rational: edges and counts are exact, as of Fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from denizen import Integer, Rational

BIG = 10**30
VALUES = [BIG + 3, BIG + 1, BIG + 2, BIG + 5, BIG + 5, BIG + 2, BIG + 3]


def of_fractions(values, bins, low, high):
    """Edges and counts; the last bin holds its upper edge."""
    edges = [low + Fraction(high - low) * i / bins for i in range(bins + 1)]
    counts = [
        sum(start <= v and (v < end or (v == end == edges[-1])) for v in values)
        for start, end in pairwise(edges)
    ]
    return counts, edges


@pytest.mark.parametrize("element", [Integer, Rational])
@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("limits", [None, (BIG + 2, BIG + 4), (BIG - 10, BIG + 90)])
def test_edges_and_counts_are_exact(element, bins, limits):
    a = np.array(VALUES, dtype=element)
    low, high = limits or (min(VALUES), max(VALUES))
    counts, edges = of_fractions(VALUES, bins, low, high)
    # Plain ints beyond 64 bits would be objects.
    given = limits and (element(low), element(high))
    found = np.histogram(a, bins, given)
    assert found[0].dtype == np.intp and found[0].tolist() == counts
    assert found[1].dtype == Rational and found[1].tolist() == edges
    assert np.histogram_bin_edges(a, bins, given).tolist() == edges
    weights = np.arange(len(VALUES)).astype(element)
    summed, _ = np.histogram(a, bins, given, weights=weights)
    assert summed.dtype == element
    inside = [i for i, v in enumerate(VALUES) if low <= v <= high]
    assert summed.sum() == sum(inside)


@pytest.mark.parametrize("element", [Integer, Rational])
def test_other_ways_to_ask(element):
    numbers = [3, 1, 2, 5, 5, 2, 3, 9]
    a = np.array(numbers, dtype=element)
    # Nothing is rounded in these.
    for bins in ("sturges", "sqrt", "rice"):
        counts, edges = np.histogram(numbers, bins)
        found = np.histogram(a, bins)
        assert found[0].tolist() == counts.tolist()
        assert found[1].dtype == Rational and found[1].astype(float) == pytest.approx(edges)
    for bins in ([0, 2, 6], np.array([0, 2, 6], dtype=element)):
        assert np.histogram(a, bins)[0].tolist() == [1, 6]
    density, _ = np.histogram(a, 4, density=True)
    assert density.tolist() == np.histogram(numbers, 4, density=True)[0].tolist()
    # Limits that are floats make edges of floats, as of ints.
    counts, edges = np.histogram(a, 3, range=(0.5, 9.5))
    assert edges.dtype == float and counts.tolist() == [5, 2, 1]
    # Limits of ours make edges of ours.
    counts, edges = np.histogram(numbers, 3, range=(element(0), element(10)))
    assert edges.tolist() == [0, Fraction(10, 3), Fraction(20, 3), 10]
    assert counts.tolist() == [5, 2, 1]
    empty = np.histogram(np.array([], dtype=element), 2)
    assert empty[0].tolist() == [0, 0] and empty[1].tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("element", [Integer, Rational])
def test_what_makes_no_bins_says_so(element):
    with pytest.raises(ValueError, match="Too many bins"):
        np.histogram(np.array([BIG, BIG], dtype=element), 2)
    a = np.array([1, 2], dtype=element)
    with pytest.raises(ValueError, match="max must be larger than min"):
        np.histogram(a, 2, range=(5, 1))
    with pytest.raises(ValueError, match="must be positive"):
        np.histogram(a, 0)


@pytest.mark.parametrize("element", [Integer, Rational])
def test_histograms_of_two_dimensions(element):
    a, b = np.array([[3, 1, 2, 5], VALUES[:4]], dtype=element)
    counts, *edges = np.histogram2d(a, b, 3)
    for found, values in zip(edges, (a, b), strict=True):
        low, high = min(values), max(values)
        assert found.tolist() == of_fractions(values.tolist(), 3, low, high)[1]
    assert counts.tolist() == [[2, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_histograms_of_other_dtypes_are_numpys_own():
    counts, edges = np.histogram([1, 2, 3, 4], 3)
    assert counts.tolist() == [1, 1, 2] and edges.tolist() == [1.0, 2.0, 3.0, 4.0]
    counts, edges = np.histogram(np.array([1.5, 2, 3]), "auto", range=(0, 4))
    assert counts.sum() == 3 and edges.dtype == float
