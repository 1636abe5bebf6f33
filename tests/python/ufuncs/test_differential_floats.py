"""Functions whose results are no fractions: NumPy's own of the nearest float64, or the error of a
value that has none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import outcome, refused
from support.ufunc_table import FLOATING_BINARY, FLOATING_UNARY, find

from denizen import Integer, Rational

BOTH = pytest.mark.parametrize("element", [Integer, Rational])
#: Most with a float64, some without.
VALUES = {
    Integer: draw.pools(draw.small_integers)
    | draw.pools(draw.near_edges)
    | draw.pools(draw.integers),
    Rational: draw.pools(draw.small_fractions) | draw.pools(draw.fractions),
}


def nearest(array: np.ndarray) -> np.ndarray:
    """An object array of Python's numbers as float64."""
    return np.asarray(np.frompyfunc(float, 1, 1)(array)).astype(np.float64)


def close(result: Any, expected: Any, *dtypes: Any) -> None:
    """Equal but for the last digits, which NumPy's loops compute one way or another."""
    if refused(result) or refused(expected):
        assert result is expected
        return
    results = result if isinstance(result, tuple) else (result,)
    expectations = expected if isinstance(expected, tuple) else (expected,)
    for one, other, dtype in zip(results, expectations, dtypes, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=1e-14)
        assert np.signbit(one).tolist() == np.signbit(other).tolist()


@BOTH
@pytest.mark.parametrize("name", [*FLOATING_UNARY, "frexp"])
@given(data=st.data())
def test_functions_of_one_number(element: type, name: str, data: Any) -> None:
    shape = data.draw(draw.shapes)
    source = draw.Filled(data.draw(draw.layouts(shape)), data.draw(VALUES[element]))
    function = find(name)
    with np.errstate(all="ignore"):
        result = outcome(function, source.build(element))
        expected = outcome(lambda: function(nearest(source.build(object))))
    close(result, expected, *(np.float64, np.int32)[: function.nout])
    if name != "frexp" and not refused(result):
        out = data.draw(draw.layouts(shape, readonly=False)).build([1.5], ">f8")
        mask = data.draw(draw.masks(shape)).build(bool)
        with np.errstate(all="ignore"):
            assert function(source.build(element), out=out, where=mask) is out
        close(out, np.where(mask, expected, 1.5), np.dtype(">f8"))


@BOTH
@pytest.mark.parametrize("name", FLOATING_BINARY)
@given(data=st.data())
def test_functions_of_two_numbers(element: type, name: str, data: Any) -> None:
    shapes, shape = data.draw(draw.broadcastable(2))
    function = find(name)
    kinds = data.draw(
        st.permutations(
            [element, data.draw(st.sampled_from([Integer, Rational, "<i8", "u1", ">f8", "f4"]))]
        )
    )
    sources = []
    for one, kind in zip(shapes, kinds, strict=True):
        pool = data.draw(VALUES.get(kind, draw.pools(st.integers(0, 9))))
        sources.append(draw.Filled(data.draw(draw.layouts(one)), pool))

    def run() -> Any:
        shown = (np.broadcast_to(nearest(one.build(object)), shape) for one in sources)
        return function(*shown)

    with np.errstate(all="ignore"):
        result = outcome(
            function, *(one.build(kind) for one, kind in zip(sources, kinds, strict=True))
        )
        expected = outcome(run)
    if 0 in shape and (refused(result) or refused(expected)):
        # Whether operands are cast of which no element is needed.
        return
    close(result, expected, np.float64)


@BOTH
@given(data=st.data())
def test_exponents_of_two(element: type, data: Any) -> None:
    shapes, _ = data.draw(draw.broadcastable(2))
    mantissas = draw.Filled(data.draw(draw.layouts(shapes[0])), data.draw(VALUES[element]))
    exponents = data.draw(draw.filled(shapes[1], st.integers(-40, 40)))
    kind = data.draw(st.sampled_from([Integer, "i8", "i2"]))
    with np.errstate(all="ignore"):
        result = outcome(np.ldexp, mantissas.build(element), exponents.build(kind))
        expected = outcome(
            lambda: np.ldexp(nearest(mantissas.build(object)), exponents.build(np.int64))
        )
    if not (0 in shapes[1] or 0 in shapes[0]):
        close(result, expected, np.float64)
