"""Means, variances and other sums of Integer and Rational: exact, as of Python's fractions."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import agree, outcome, refused

from denizen import Integer, Rational

BOTH = pytest.mark.parametrize("element", [Integer, Rational])
VALUES = {Integer: draw.integers, Rational: draw.fractions}
#: Of the type of the elements, and of their quotients.
SUMS: dict[str, Callable[..., Any]] = {
    "diff": np.diff,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "nansum": np.nansum,
    "nanprod": np.nanprod,
    "nanmax": np.nanmax,
    "nancumsum": np.nancumsum,
}
QUOTIENTS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "nanmean": np.nanmean,
    "median": np.median,
    "nanmedian": np.nanmedian,
    "var": np.var,
    "nanvar": np.nanvar,
    "sample variance": lambda a, axis: np.var(a, axis=axis, ddof=1),
    "average": lambda a, axis: np.average(a, axis=axis),
}


@st.composite
def arrays(pick: Any, element: type) -> draw.Filled:
    """Not empty, of at least one dimension."""
    shape = tuple(pick(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    return draw.Filled(pick(draw.layouts(shape)), pick(draw.pools(VALUES[element])))


def fractions_of(array: np.ndarray) -> np.ndarray:
    """With Fraction for int, whose quotients would be floats."""
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(array), dtype=object)


@BOTH
@pytest.mark.parametrize("name", [*SUMS, *QUOTIENTS])
@given(data=st.data())
def test_statistics_are_exact(element: type, name: str, data: Any) -> None:
    source = data.draw(arrays(element))
    dimensions = len(source.layout.shape)
    axis = data.draw(st.integers(-dimensions, dimensions - 1))
    function = SUMS.get(name) or QUOTIENTS[name]
    with np.errstate(all="ignore"):
        result = outcome(function, source.build(element), axis=axis)
        expected = outcome(function, fractions_of(source.build(object)), axis=axis)
    agree(result, expected, element if name in SUMS else Rational)


@BOTH
@given(data=st.data())
def test_deviations_are_roots_of_variances(element: type, data: Any) -> None:
    source = data.draw(arrays(element))
    axis = data.draw(st.sampled_from([None, 0, -1]))
    plain = np.asarray(np.var(fractions_of(source.build(object)), axis=axis), dtype=object)
    expected = outcome(np.frompyfunc(lambda value: math.sqrt(float(value)), 1, 1), plain)
    result = outcome(np.std, source.build(element), axis=axis)
    if refused(result) or refused(expected):
        assert result is expected
    else:
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, np.asarray(expected).astype(float), rtol=1e-14)
