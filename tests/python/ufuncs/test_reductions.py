"""Reductions of Integer and Rational against object arrays of int and Fraction: exact or refused."""

import operator
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from denizen import Integer, IntegerDType, Rational, RationalDType

VALUES = {
    Integer: [5, -3, 2**62, 0, -(2**63), 7, 2**64 + 1, 1, -1, 12, -5, 9],
    Rational: [
        Fraction(n, d) for n, d in zip(range(-5, 7), [1, 2, 3, 4, 7, 2**65] * 2, strict=True)
    ],
}
EXACT = [Integer, Rational]


def matrices(element):
    values = VALUES[element]
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return np.array(values, dtype=element).reshape(3, 4), objects.reshape(3, 4)


def same(result, expected):
    """One value or an array of them, exactly."""
    if isinstance(expected, np.ndarray):
        assert result.shape == expected.shape
        assert result.tolist() == expected.tolist()
    else:
        assert not isinstance(result, np.ndarray)
        assert result == expected


AXES = [None, 0, 1, -1, (0, 1), ()]


@pytest.mark.parametrize("element", EXACT)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
def test_reductions_along_axes(element, name, axis, keepdims):
    if name in ("min", "max") and axis == ():
        pytest.skip("the same")
    a, objects = matrices(element)
    if name == "mean":
        # Python's division of ints would round.
        objects = objects * Fraction(1)
    for view in (np.s_[:], np.s_[::-1, ::2], np.s_[:, 1:2], (slice(None), np.array([2, 0]))):
        result = getattr(np, name)(a[view], axis=axis, keepdims=keepdims)
        expected = getattr(np, name)(objects[view], axis=axis, keepdims=keepdims)
        same(result, expected)
        same(getattr(a[view], name)(axis=axis, keepdims=keepdims), expected)
        if isinstance(result, np.ndarray):
            assert result.dtype == (Rational if name == "mean" else element)
            out = np.zeros_like(result)
            assert getattr(np, name)(a[view], axis=axis, keepdims=keepdims, out=out) is out
            same(out, expected)


@pytest.mark.parametrize("element", EXACT)
@pytest.mark.parametrize(
    ("ufunc", "start"),
    [(np.add, 100), (np.multiply, -2), (np.minimum, 2**70), (np.maximum, -(2**70))],
)
def test_where_and_initial(element, ufunc, start):
    a, objects = matrices(element)
    where = np.arange(12).reshape(3, 4) % 3 != 1
    for axis in (None, 0, 1):
        for initial in (start, element(start)):
            same(
                ufunc.reduce(a, axis=axis, where=where, initial=initial),
                ufunc.reduce(objects, axis=axis, where=where, initial=start),
            )
        same(
            ufunc.reduce(a, axis=axis, where=False, initial=start),
            ufunc.reduce(objects, axis=axis, where=False, initial=start),
        )
    if ufunc in (np.add, np.multiply):
        # The identity stands in for what is left out.
        same(
            ufunc.reduce(a, axis=0, where=where),
            ufunc.reduce(objects, axis=0, where=where, initial=ufunc.identity),
        )
    else:
        with pytest.raises(ValueError, match="identity"):
            ufunc.reduce(a, axis=0, where=where)
    with pytest.raises(ValueError, match="x y"):
        ufunc.reduce(a, initial="x y")


def test_reductions_over_bits_and_divisors():
    a, objects = matrices(Integer)
    for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
        for axis in (0, 1, (0, 1)):
            same(ufunc.reduce(a, axis=axis), ufunc.reduce(objects, axis=axis))
        same(ufunc.accumulate(a, axis=1), ufunc.accumulate(objects, axis=1))
    assert np.gcd.reduce(np.array([12, 18, 2**70 * 3], dtype=Integer)) == 6
    assert np.lcm.reduce(np.array([4, 6, 2**64], dtype=Integer)) == 3 * 2**64
    empty = np.array([], dtype=Integer)
    identities = {"bitwise_and": -1, "bitwise_or": 0, "bitwise_xor": 0, "gcd": 0, "lcm": 1}
    for name, identity in identities.items():
        assert getattr(np, name).reduce(empty) == identity


@pytest.mark.parametrize("element", EXACT)
def test_reductions_of_nothing(element):
    empty = np.zeros((0, 3), dtype=element)
    assert empty.sum() == 0 and type(empty.sum()) is element
    assert empty.prod() == 1
    same(empty.sum(axis=0), np.zeros(3, dtype=object))
    same(empty.prod(axis=0), np.ones(3, dtype=object))
    assert empty.sum(axis=1).shape == (0,)
    assert not empty.any() and empty.all()
    for name in ("min", "max", "argmin", "argmax", "ptp"):
        with pytest.raises(ValueError, match="empty|zero-size"):
            getattr(np, name)(empty)
    with pytest.warns(RuntimeWarning, match="empty"), pytest.raises(ZeroDivisionError):
        empty.mean()
    assert np.add.accumulate(empty).shape == (0, 3)


@pytest.mark.parametrize("element", EXACT)
def test_truth_and_places(element):
    a, objects = matrices(element)
    for axis in (None, 0, 1):
        for name in ("any", "all", "argmin", "argmax", "count_nonzero"):
            result = getattr(np, name)(a, axis=axis)
            expected = getattr(np, name)(
                (objects != 0) if name[0] == "a" and name[1] in "nl" else objects, axis=axis
            )
            assert np.array_equal(result, expected), (name, axis)
    assert np.all(a, axis=(0, 1)) == np.all(a) == (0 not in VALUES[element])
    assert np.any(a, where=a == 0) == np.False_


@pytest.mark.parametrize("element", EXACT)
def test_accumulations_and_outer_products(element):
    a, objects = matrices(element)
    for ufunc in (np.add, np.multiply, np.subtract, np.minimum, np.maximum):
        for axis in (0, 1):
            result = ufunc.accumulate(a, axis=axis)
            assert result.dtype == element
            same(result, ufunc.accumulate(objects, axis=axis))
    same(np.cumsum(a), np.cumsum(objects))
    same(np.cumprod(a, axis=1), np.cumprod(objects, axis=1))
    same(np.cumulative_sum(a[0], include_initial=True), np.cumsum([0, *objects[0]]))
    for ufunc in (np.add, np.multiply, np.maximum):
        same(ufunc.outer(a[0], a[1]), ufunc.outer(objects[0], objects[1]))
        same(ufunc.outer(a[0], [1, 2]), ufunc.outer(objects[0], [1, 2]))
    same(
        np.multiply.outer(a[0], np.array([2**64], dtype=Integer)),
        np.multiply.outer(objects[0], [2**64]),
    )


@pytest.mark.parametrize("element", EXACT)
def test_updates_at_places(element):
    a, objects = matrices(element)
    a, objects = a.ravel(), objects.ravel()
    places = [0, 3, 3, -1, 0]
    for ufunc, operand in (
        (np.add, 2**63),
        (np.multiply, 3),
        (np.subtract, np.int8(7)),
        (np.maximum, True),
    ):
        ufunc.at(a, places, operand)
        ufunc.at(objects, places, int(operand))
        same(a, objects)
    np.add.at(a, places, a[:5].copy())
    np.add.at(objects, places, objects[:5].copy())
    same(a, objects)
    np.negative.at(a, [0, 0, 1])
    np.negative.at(objects, [0, 0, 1])
    same(a, objects)
    floats = np.zeros(4)
    np.add.at(floats, [0, 0, 1], np.array([1, 2, 3], dtype=element))
    assert floats.tolist() == [3, 3, 0, 0]
    counts = np.zeros(4, dtype=element)
    np.add.at(counts, [0, 0, 1], 1)
    assert counts.tolist() == [2, 1, 0, 0]
    # NumPy would cast unsafely here: 1/3 + 0.5 as a float.
    for operand in (0.5, 1j, np.float32(2), floats[:1]):
        with pytest.raises(TypeError, match="Cannot cast"):
            np.add.at(counts, [0], operand)
    if element is Integer:
        with pytest.raises(TypeError, match="Cannot cast"):
            np.add.at(counts, [0], Rational(1, 2))
    with pytest.raises(TypeError):
        np.sqrt.at(counts, [0])
    with pytest.raises(TypeError, match="takes|expected|arguments"):
        np.add.at()
    assert counts.tolist() == [2, 1, 0, 0]


# ---- means ---------------------------------------------------------------------------------------


def exact_variance(values, ddof=0):
    values = [Fraction(v) for v in values]
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / (len(values) - ddof)


@pytest.mark.parametrize("element", EXACT)
@pytest.mark.parametrize("ddof", [0, 1])
def test_variances_are_exact_and_deviations_their_roots(element, ddof):
    a, objects = matrices(element)
    variance = exact_variance(objects.ravel(), ddof)
    for result in (a.var(ddof=ddof), np.var(a, ddof=ddof), np.nanvar(a, ddof=ddof)):
        assert result == variance and type(result) is Rational
    deviation = np.sqrt(float(variance))
    for result in (a.std(ddof=ddof), np.std(a, ddof=ddof), np.nanstd(a, ddof=ddof)):
        assert result == deviation and type(result) is np.float64
    by_column = [exact_variance(column, ddof) for column in objects.T]
    result = a.var(axis=0, ddof=ddof, keepdims=True)
    assert result.dtype == Rational and result.tolist() == [by_column]
    out = np.zeros(4)
    for result in (
        a.std(axis=0, ddof=ddof),
        a.std(0, None, out, ddof),
        np.nanstd(a, axis=0, ddof=ddof),
    ):
        assert result.dtype == np.float64
        assert result.tolist() == [np.sqrt(float(v)) for v in by_column]
    where = np.arange(12).reshape(3, 4) != 5
    kept = [v for k, v in enumerate(objects.ravel()) if k != 5]
    assert a.var(where=where, ddof=ddof) == exact_variance(kept, ddof)
    assert a.mean(where=where) == sum(map(Fraction, kept)) / 11
    assert a.var(mean=a.mean(keepdims=True), ddof=ddof) == variance


def test_means_round_nothing():
    # As a float the quotient would be an integer, and a wrong one.
    a = np.array([10**30, 1, 1], dtype=Integer)
    exact = Fraction(10**30 + 2, 3)
    for result in (
        a.mean(),
        np.mean(a),
        np.average(a),
        np.nanmean(a),
        np.mean([Integer(10**30), 1, 1]),
    ):
        assert result == exact and type(result) is Rational
    assert a.mean(keepdims=True).tolist() == [exact]
    assert np.mean(a, axis=0, dtype=RationalDType) == exact
    assert a.mean(dtype=float) == float(exact)
    # What a caller fixes is kept exactly, or refused.
    assert np.array([1, 3], dtype=Integer).mean(dtype=IntegerDType) == 2
    with pytest.raises(ValueError, match="integer"):
        np.array([1, 2], dtype=Integer).mean(dtype=IntegerDType)
    with pytest.raises(ValueError, match="integer"):
        np.array([[1], [2]], dtype=Integer).mean(axis=0, out=np.zeros(1, dtype=Integer))


@pytest.mark.parametrize("element", EXACT)
def test_means_are_never_cut_off_to_integers(element):
    a = np.array([3, 1, 2, 5], dtype=element)
    cut = pytest.raises(
        TypeError, match=rf"of {a.dtype} can be fractions, which \w+= of (u?int|bool)"
    )
    for function in (np.mean, np.nanmean, np.var, np.nanvar, np.std, np.nanstd):
        for dtype in (int, "u1", np.dtype(np.int16), np.dtypes.Int32DType, bool):
            with cut:
                function(a, dtype=dtype)
    for function in (np.mean, np.nanmean, np.median, np.var, np.nanvar):
        out = np.full((), 77)
        with cut:
            function(a, out=out)
        assert out == 77
    # It takes the median without `out`, and assigns it.
    with pytest.raises(ValueError, match="5/2 is not an integer"):
        np.nanmedian(a, out=np.zeros((), int))
    with cut:
        a.mean(None, int)
    with cut:
        np.mean(a.reshape(2, 2), axis=0, out=np.zeros(2, dtype=int))
    for given in ({"dtype": float}, {"out": np.zeros(())}, {"dtype": object}):
        assert np.mean(a, **given) == 2.75 and np.var(a, **given) == 2.1875
    assert np.median(a, out=np.zeros(())) == 2.5
    # NumPy's own are NumPy's.
    assert np.mean([3, 1, 2, 5], dtype=int) == np.mean([3, 1, 2, 5], out=np.zeros((), int)) == 2


def test_means_of_other_dtypes_are_numpy_s_own():
    for a in (
        np.arange(6),
        np.arange(6.0),
        np.arange(6, dtype="e"),
        np.array([1, 2], dtype=object),
    ):
        assert a.mean() == np.mean(a) == sum(a.tolist()) / len(a)
    assert np.arange(4, dtype="f").std().dtype == np.float32
    assert np.mean([1, 2]) == 1.5 and np.std([1, 3]) == 1 and np.var([1, 3], ddof=1) == 2
    masked = np.ma.masked_array([1, 2, 3], [0, 0, 1])
    assert masked.mean() == 1.5
    with pytest.raises(TypeError):
        np.arange(3).mean(axis="x")
    with pytest.raises(TypeError, match="positional arguments"):
        np.arange(3).mean(0, None, None, False, True)


def test_the_mean_is_exact_though_numpy_was_asked_for_one_before():
    """NumPy keeps the function that it called first."""
    script = """if True:
        import numpy as np
        for a in (np.arange(3), np.arange(3.0)):
            a.mean(), a.var(), a.std(), np.nanstd(a)
        import denizen
        a = np.array([10**30, 1, 1], dtype=denizen.Integer)
        assert 3 * a.mean() == 10**30 + 2, a.mean()
        assert a.var() == ((a - a.mean()) ** 2).sum() / 3
        assert type(a.std()) is np.float64
        assert np.arange(3).mean() == 1 and np.arange(3).std().dtype == np.float64
        import importlib, sys
        del sys.modules["denizen"]
        import denizen as again
        assert 3 * a.mean() == 10**30 + 2 and again.Integer is denizen.Integer
    """
    subprocess.run([sys.executable, "-c", script], check=True)


# ---- what is made of sums ------------------------------------------------------------------------


@pytest.mark.parametrize("element", EXACT)
def test_functions_that_are_exact_for_objects_are_exact(element):
    a, objects = matrices(element)
    # Of large objects NumPy's own fails here.
    assert np.ptp(a) == max(VALUES[element]) - min(VALUES[element])
    for function in (
        np.diff,
        np.ediff1d,
        np.nansum,
        np.nanprod,
        np.nanmax,
        np.nancumsum,
        np.trace,
        lambda m: np.diff(m, n=2, axis=0),
        lambda m: np.diff(m, prepend=0),
        lambda m: np.nansum(m, axis=0),
        lambda m: np.cross(m[0, :3], m[1, :3]),
        lambda m: np.kron(m[0], m[1]),
        lambda m: np.vander(m[0], 3),
        lambda m: np.outer(m[0], m[1]),
        lambda m: m @ m.T,
        lambda m: np.apply_along_axis(np.cumsum, 0, m),
        lambda m: np.percentile(m, 25, method="nearest"),
        lambda m: np.quantile(m, 0.3, axis=1, method="lower"),
        lambda m: np.quantile(m, 0.5, method="inverted_cdf"),
    ):
        result, expected = function(a), function(objects)
        same(result, expected)
        if isinstance(result, np.ndarray):
            assert result.dtype == element


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.5.0", reason="NumPy refuses dtypes")
@pytest.mark.parametrize("element", EXACT)
def test_convolutions_and_dot_products_are_exact(element):
    a, objects = matrices(element)
    axes = ([0, 1], [0, 1])
    same(np.tensordot(a, a, axes)[()], np.tensordot(objects, objects, axes)[()])
    same(np.convolve(a[0], a[1]), np.convolve(objects[0], objects[1]))
    same(np.correlate(a[0], a[1], "full"), np.correlate(objects[0], objects[1], "full"))


@pytest.mark.parametrize("element", EXACT)
def test_medians_are_exact(element):
    a, objects = matrices(element)
    middle = sorted(VALUES[element])[5:7]
    assert np.median(a) == np.nanmedian(a) == Fraction(sum(middle)) / 2
    assert type(np.median(a)) is Rational
    result = np.median(a, axis=0)
    assert result.dtype == Rational
    assert result.tolist() == [sorted(column)[1] for column in objects.T]
    # Of a scalar it makes an array by a subscript.
    for median in (np.median, np.nanmedian):
        kept = median(a.ravel(), keepdims=True)
        assert kept.dtype == Rational and kept.tolist() == [Fraction(sum(middle)) / 2]
    values = VALUES[element][:3]
    padded = np.pad(np.array(values, dtype=element), 1, mode="median")
    assert padded.dtype == element and padded.tolist() == [m := sorted(values)[1], *values, m]


def test_quantiles_between_elements_are_floats_as_of_objects():
    a = np.arange(12).astype(Integer).reshape(3, 4)
    assert np.percentile(a, 25) == 2.75
    assert np.quantile(a / 2, [0.5]).tolist() == [2.75]
    # Exact, where the place is: NumPy multiplies with it.
    assert np.quantile(a, Fraction(1, 2)) == Fraction(11, 2)


def test_averages_with_weights_are_refused_by_numpy():
    # It names the type of the sums by an instance, which its ufuncs refuse.
    a = np.arange(4).astype(Integer)
    with pytest.raises(TypeError, match="Pass the DType class"):
        np.average(a, weights=a)
    weights = np.array([1, 2, 3, 4], dtype=Integer)
    assert operator.truediv(*map(Rational, ((a * weights).sum(), weights.sum()))) == 2


@pytest.mark.parametrize("element", EXACT)
def test_reductions_that_fail_say_so_and_leave_the_output(element):
    a = np.array([1, 0, 2], dtype=element)
    for call in (
        lambda: np.floor_divide.reduce(a),
        lambda: np.remainder.accumulate(a),
        lambda: np.power.reduce(np.array([10, 10**10, 2], dtype=element)),
    ):
        with pytest.raises((ZeroDivisionError, OverflowError)):
            call()
    out = np.array([7], dtype=element)
    with pytest.raises(ValueError):
        np.add.reduce(a.reshape(1, 3), axis=0, out=out)
    assert out.tolist() == [7]
    with pytest.raises(ValueError, match="reorderable"):
        np.subtract.reduce(a.reshape(1, 3), axis=(0, 1))


def test_warnings_of_other_dtypes_point_where_they_did():
    empty = np.array([])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        empty.mean()
        empty.var()
        empty.std()
    files = {Path(warning.filename).name for warning in caught}
    assert len(caught) >= 3
    assert files == {Path(__file__).name, "_methods.py"}
