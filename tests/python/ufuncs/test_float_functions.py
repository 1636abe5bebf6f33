"""Functions of NumPy's that bring floats of their own or are irrational give float64 of the bundled
numbers, as docs/using.md says; those with a float64 interface refuse them. No third way."""

from fractions import Fraction

import numpy as np
import pytest

from denizen import Integer, Rational

X = [3, 1, 2, 7]
Y = [2, 5, 4, 1]

#: float64, because a float comes in or the result is irrational.
FLOAT64 = {
    "np.linalg.norm": lambda x, y: np.linalg.norm(x),
    "np.cov": lambda x, y: np.cov(x, y),
    "np.corrcoef": lambda x, y: np.corrcoef(x, y),
    "np.polyfit": lambda x, y: np.polyfit(x, y, 2),
    "np.poly": lambda x, y: np.poly(x),
    "np.polyint": lambda x, y: np.polyint(x),
    "np.polydiv": lambda x, y: np.polydiv(x, y[2:])[1],
    "np.roots": lambda x, y: np.sort_complex(np.roots(x)).real,
    "np.trapezoid": lambda x, y: np.trapezoid(x, y),
    "np.gradient": lambda x, y: np.gradient(x),
    "np.percentile": lambda x, y: np.percentile(x, 30),
    "np.quantile": lambda x, y: np.quantile(x, 0.3),
    "np.average with float weights": lambda x, y: np.average(x, weights=[0.5, 1, 2, 3]),
    "np.geomspace": lambda x, y: np.geomspace(x[0], y[1], 5),
    "np.sinc": lambda x, y: np.sinc(x),
    "np.i0": lambda x, y: np.i0(x),
    "mean of a masked array": lambda x, y: np.ma.array(x, mask=[0, 0, 1, 0]).mean(),
    "var of a masked array": lambda x, y: np.ma.array(x, mask=[0, 0, 1, 0]).var(),
    "np.ma.average": lambda x, y: np.ma.average(np.ma.array(x, mask=[0, 0, 1, 0])),
}

#: Made for float64 alone, with safe casts; or for the kinds of NumPy's own types.
REFUSED = {
    "np.unwrap": lambda x, y: np.unwrap(x),
    "np.unwrap with a period": lambda x, y: np.unwrap(p=x, period=5),
    "np.interp": lambda x, y: np.interp(x, np.sort(y), y),
    "np.interp of values": lambda x, y: np.interp([1.5], [1.0, 2.0], y[:2]),
    "np.digitize": lambda x, y: np.digitize(x, np.sort(y)),
    "np.digitize with float edges": lambda x, y: np.digitize(x, [1.0, 2.0]),
    "np.searchsorted of floats": lambda x, y: np.searchsorted(np.sort(x), 0.5),
    "np.searchsorted in floats": lambda x, y: np.searchsorted([0.5, 2.5], x),
    "np.dot with floats": lambda x, y: np.dot(x, [0.5, 1, 2, 3]),
    "np.inner with floats": lambda x, y: np.inner(x, [0.5, 1, 2, 3]),
    "np.vdot with floats": lambda x, y: np.vdot(x, [0.5, 1, 2, 3]),
    "np.tensordot with floats": lambda x, y: np.tensordot(x, [0.5, 1, 2, 3], 1),
    "np.convolve with floats": lambda x, y: np.convolve(x, [1, 0.5]),
    "np.correlate with floats": lambda x, y: np.correlate(x, [1, 0.5]),
    "np.bincount": lambda x, y: np.bincount(x),
    "np.bincount with weights": lambda x, y: np.bincount([1, 2, 3, 4], weights=x),
    "np.fft.fft": lambda x, y: np.fft.fft(x),
    "np.fft.rfft": lambda x, y: np.fft.rfft(x),
    "np.fft.irfft": lambda x, y: np.fft.irfft(x),
    "np.fft.fft2": lambda x, y: np.fft.fft2(x.reshape(2, 2)),
    "np.random.normal": lambda x, y: np.random.default_rng(0).normal(x),
    "np.random.choice with p": lambda x, y: np.random.default_rng(0).choice(4, p=x / x.sum()),
}


def test_masked_arrays_are_exact_once_they_are_compressed():
    masked = np.ma.array(np.array(X, dtype=Integer), mask=[0, 0, 1, 0])
    assert masked.sum() == 11 and masked.compressed().mean() == Fraction(11, 3)
    assert masked.compressed().var() == Fraction(56, 9)


@pytest.mark.parametrize("element", [Integer, Rational])
def test_masked_arrays_are_as_the_page_says(element):
    masked = np.ma.array(np.array(X, dtype=element), mask=[0, 0, 1, 0])
    for result, values in (
        (masked + 1, [4, 2, None, 8]),
        (masked.cumsum(), [3, 4, None, 11]),
        (np.ma.masked_equal(masked.data, 1), [3, None, 2, 7]),
        (np.ma.where(masked > 1, masked, 0), [3, 0, None, 7]),
        (np.ma.concatenate([masked, masked[:1]]), [3, 1, None, 7, 3]),
        (np.ma.array(masked, fill_value=0), [3, 1, None, 7]),
    ):
        assert result.dtype == np.dtype(element) and result.tolist() == values
        assert result.filled(0).dtype == np.dtype(element)
    assert masked.sum() == 11 and masked.prod() == 21
    assert np.ma.array(masked, fill_value=0).filled().tolist() == [3, 1, 0, 7]
    assert masked.anom().dtype == np.float64
    for refused in (
        masked.min,
        masked.max,
        masked.ptp,
        masked.argmax,
        masked.sort,
        masked.argsort,
        lambda: np.ma.median(masked),
        lambda: np.ma.isin(masked, [3]),
    ):
        with pytest.raises(TypeError):
            refused()
    assert masked.compressed().max() == 7


@pytest.mark.parametrize("name", sorted(FLOAT64))
@pytest.mark.parametrize("element", [Integer, Rational])
def test_what_brings_floats_gives_float64(element, name):
    x, y = np.array(X, dtype=element), np.array(Y, dtype=element)
    result = FLOAT64[name](x, y)
    assert np.asarray(result).dtype == np.float64
    assert np.allclose(result, FLOAT64[name](np.array(X, float), np.array(Y, float)))


#: They take the elements apart before a float comes in.
SELECTING = {"np.percentile", "np.quantile"}


@pytest.mark.parametrize("name", sorted(set(FLOAT64) - SELECTING))
def test_what_float64_cannot_hold_is_an_overflow_there(name):
    x, y = np.array([10**400, *X[1:]], dtype=Integer), np.array(Y, dtype=Integer)
    with pytest.raises(OverflowError):
        FLOAT64[name](x, y)


@pytest.mark.parametrize("name", sorted(REFUSED))
@pytest.mark.parametrize("element", [Integer, Rational])
def test_what_is_made_for_float64_alone_refuses(element, name):
    x, y = np.array(X, dtype=element), np.array(Y, dtype=element)
    with pytest.raises(TypeError):
        REFUSED[name](x, y)
