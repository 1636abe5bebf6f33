"""Sums, extremes and statistics; accumulations; `ufunc.at`, `outer` and `reduceat`."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import NUMBERS, counts, numbers, rounded, variance
from ..operation import Table

TABLE = Table("reductions")
add = TABLE.add

ARITHMETIC = frozenset({"arithmetic"})
ORDERED = frozenset({"ordering"})
MASK = np.arange(20).reshape(4, 5) % 3 != 0


def cube(s: Subject) -> Any:
    """Numbers in three dimensions."""
    return numbers(s, np.arange(1, 25)).reshape(2, 3, 4)


add("sum", lambda s: (s.a.sum(), np.sum(s.m)), needs=ARITHMETIC)
add("sum over an axis", lambda s: (s.m.sum(axis=0), s.m.sum(axis=-1)), needs=ARITHMETIC)
add("sum over axes", lambda s: cube(s).sum(axis=(0, 2)), needs=ARITHMETIC)
add("sum over no axes", lambda s: cube(s).sum(axis=()), needs=ARITHMETIC)
add("sum with keepdims", lambda s: s.m.sum(axis=1, keepdims=True), needs=ARITHMETIC)
add(
    "sum with where",
    lambda s: np.sum(numbers(s, np.arange(20)).reshape(4, 5), axis=0, where=MASK),
    lambda s: np.sum(np.where(MASK, numbers(s, np.arange(20)).reshape(4, 5), s.default), axis=0),
    needs=ARITHMETIC,
)
add("sum with initial", lambda s: s.a.sum(initial=s.values[15]), needs=ARITHMETIC)
add(
    "sum with initial and where",
    lambda s: s.a.sum(initial=s.values[15], where=s.mask),
    needs=ARITHMETIC,
)
add("sum with out=", lambda s: (np.sum(s.m, axis=0, out=s.b[:5]), s.b), needs=ARITHMETIC)
add("sum with its own dtype", lambda s: s.m.sum(axis=0, dtype=s.dtype), needs=ARITHMETIC)
add(
    "sum with its own DType class", lambda s: s.m.sum(axis=0, dtype=type(s.dtype)), needs=ARITHMETIC
)
add(
    "sum of numbers by the DType class",
    lambda s: np.sum(np.array(NUMBERS), dtype=type(s.dtype)),
    lambda s: numbers(s).sum(),
    needs={"arithmetic", "counting"},
)
add(
    "sum of numbers into elements",
    lambda s: np.sum(np.array(NUMBERS), dtype=s.dtype),
    lambda s: numbers(s).sum(),
    needs={"arithmetic", "counting"},
)
add(
    "sum into floats",
    lambda s: np.sum(numbers(s), dtype=np.float64),
    lambda s: float(sum(NUMBERS)),
    needs={"arithmetic", "counting"},
)
add(
    "sum of nothing",
    lambda s: (s.a[:0].sum(), s.m[:0].sum(axis=0)),
    lambda s: (s.default, s.zeros(5)),
    needs=ARITHMETIC,
)
add("sum of a half-built array", lambda s: s.h.sum(), needs={"arithmetic", "default"})
add(
    "sum of a transposed view",
    lambda s: (s.m.T[::-1].sum(axis=0), s.m[::2, ::-2].sum()),
    needs=ARITHMETIC,
)
add("sum of many", lambda s: np.tile(s.a, 1000).sum(), needs=ARITHMETIC)
add("sum by Python", lambda s: sum(numbers(s)[1:], numbers(s)[0]), needs=ARITHMETIC)
add(
    "prod",
    lambda s: (numbers(s).prod(), np.prod(numbers(s)[:8].reshape(2, 4), axis=1)),
    needs=ARITHMETIC,
)
add("prod of nothing", lambda s: s.a[:0].prod(), lambda s: numbers(s, [1])[0], needs=ARITHMETIC)
add(
    "prod with where",
    lambda s: np.multiply.reduce(numbers(s), where=s.mask),
    lambda s: np.multiply.reduce(numbers(s)[s.mask]),
    needs=ARITHMETIC,
)
add(
    "max and min",
    lambda s: (s.a.max(), s.m.min(axis=0), s.m.max(axis=1, keepdims=True)),
    needs=ORDERED,
)
add(
    "max with initial and where",
    lambda s: s.a.max(initial=s.values[3], where=s.mask),
    needs=ORDERED,
)
add("max of a half-built array", lambda s: (s.h.max(), s.h.min()), needs={"ordering", "default"})
add("max with out=", lambda s: (np.max(s.m, axis=0, out=s.b[:5]), s.b), needs=ORDERED)
add(
    "fmax and fmin reduced",
    lambda s: (np.fmax.reduce(s.a), np.fmin.reduce(s.m, axis=1)),
    lambda s: (s.a.max(), s.m.min(axis=1)),
    needs=ORDERED,
)
add("ptp", lambda s: (np.ptp(s.a), np.ptp(s.m, axis=0)), needs={"ordering", "arithmetic"})
add(
    "all and any",
    lambda s: (bool(np.all(numbers(s))), np.any(s.h != s.h)),
    lambda s: (True, False),
    needs={"counting", "equality"},
)
add(
    "all and any over an axis",
    lambda s: (numbers(s, [[1, 0], [2, 3]]).all(axis=0), numbers(s, [[1, 0], [0, 0]]).any(axis=1)),
    lambda s: (np.array([True, False]), np.array([True, False])),
    needs={"counting"},
)
add(
    "logical_and and logical_or reduced",
    lambda s: (np.logical_and.reduce(numbers(s)), np.logical_or.reduce(numbers(s, [0, 0]))),
    lambda s: (True, False),
    needs={"counting"},
)
add(
    "bitwise reductions",
    lambda s: (
        np.bitwise_or.reduce(counts(s)),
        np.bitwise_and.reduce(counts(s)),
        np.bitwise_xor.reduce(counts(s)),
    ),
    needs={"counting"},
)
add(
    "gcd and lcm reduced",
    lambda s: (np.gcd.reduce(counts(s)), np.lcm.reduce(counts(s))),
    lambda s: (np.gcd.reduce(np.array([5, 3])), 5 * 9 * 17 * 8 * 11),
    needs={"counting"},
)
add("subtract reduced", lambda s: np.subtract.reduce(s.a), needs=ARITHMETIC)
add(
    "mean",
    lambda s: (numbers(s).mean(), np.mean(numbers(s).reshape(2, 5), axis=0)),
    needs={"counting", "division"},
)
add(
    "mean with keepdims and where",
    lambda s: np.mean(numbers(s).reshape(2, 5), axis=1, keepdims=True, where=s.mask.reshape(2, 5)),
    lambda s: np.array(
        [[numbers(s)[[1, 2, 4]].sum() / 3], [numbers(s)[[5, 7, 8]].sum() / 3]], dtype=object
    ),
    needs={"counting", "division"},
)
add("average", lambda s: np.average(numbers(s)), needs={"counting", "division"})
add(
    "average with weights",
    lambda s: np.average(numbers(s), weights=counts(s)),
    needs={"counting", "division"},
)
add(
    "var",
    lambda s: (np.var(numbers(s)), np.var(numbers(s).reshape(2, 5), axis=1, ddof=1)),
    lambda s: (
        variance(numbers(s)),
        np.array([variance(row, ddof=1) for row in numbers(s).reshape(2, 5)], dtype=object),
    ),
    needs={"counting", "division"},
)
add(
    "std",
    lambda s: rounded(np.std(numbers(s))),
    lambda s: rounded(np.std(np.array(NUMBERS))),
    needs={"counting", "division"},
)
add(
    "median",
    lambda s: (np.median(numbers(s)), np.median(numbers(s)[:9].reshape(3, 3), axis=1)),
    needs={"counting", "ordering", "division"},
)
add(
    "percentile",
    lambda s: rounded(np.percentile(numbers(s), 30)),
    lambda s: rounded(np.percentile(np.array(NUMBERS), 30)),
    needs={"counting", "ordering", "division"},
)
add(
    "quantile with a method",
    lambda s: np.quantile(numbers(s), 0.5, method="lower"),
    lambda s: numbers(s, [5])[0],
    needs={"counting", "ordering"},
)
add(
    "cov",
    lambda s: rounded(np.cov(numbers(s), counts(s))),
    lambda s: rounded(np.cov(NUMBERS, counts(s).astype(float))),
    needs={"counting", "division"},
)
add("cumsum", lambda s: (np.cumsum(s.a), np.cumsum(s.m, axis=1), s.m.cumsum()), needs=ARITHMETIC)
add("cumsum with out=", lambda s: (np.cumsum(s.a, out=s.b), s.b), needs=ARITHMETIC)
add("cumsum in place", lambda s: np.add.accumulate(s.a, out=s.a), needs=ARITHMETIC)
add("cumsum downwards", lambda s: np.cumsum(s.m[::-1], axis=0), needs=ARITHMETIC)
add("cumprod", lambda s: np.cumprod(numbers(s)), needs=ARITHMETIC)
add(
    "cumulative_sum",
    lambda s: np.cumulative_sum(numbers(s), include_initial=True),
    needs={"counting", "arithmetic"},
)
add(
    "maximum accumulated",
    lambda s: (np.maximum.accumulate(s.a), np.minimum.accumulate(s.m, axis=0)),
    needs=ORDERED,
)
add("diff", lambda s: (np.diff(s.a), np.diff(s.m, n=2, axis=0)), needs=ARITHMETIC)
add(
    "diff with prepend and append",
    lambda s: np.diff(s.a, prepend=s.b[:1], append=s.b[1:3]),
    needs=ARITHMETIC,
)
add("ediff1d", lambda s: np.ediff1d(s.a), needs=ARITHMETIC)
add(
    "gradient",
    lambda s: rounded(np.gradient(numbers(s))),
    lambda s: rounded(np.gradient(np.array(NUMBERS, dtype=float))),
    needs={"counting", "division"},
)
add(
    "trapezoid",
    lambda s: rounded(np.trapezoid(numbers(s))),
    lambda s: rounded(np.trapezoid(np.array(NUMBERS, dtype=float))),
    needs={"counting", "division"},
)
add(
    "nansum and nanmax",
    lambda s: (np.nansum(numbers(s)), np.nanmax(numbers(s))),
    lambda s: (numbers(s).sum(), numbers(s).max()),
    needs={"counting"},
)
add(
    "nanmean and nanvar",
    lambda s: (np.nanmean(numbers(s)), np.nanvar(numbers(s))),
    lambda s: (numbers(s).mean(), variance(numbers(s))),
    needs={"counting", "division"},
)
add(
    "nancumsum and nanmin",
    lambda s: (np.nancumsum(numbers(s)), np.nanmin(numbers(s))),
    lambda s: (numbers(s).cumsum(), numbers(s).min()),
    needs={"counting"},
)
add(
    "nanmedian",
    lambda s: np.nanmedian(numbers(s)),
    lambda s: np.median(numbers(s)),
    needs={"counting", "division"},
)
add("nanargmax", lambda s: np.nanargmax(numbers(s)), lambda s: 4, needs={"counting"})
add("nan_to_num", lambda s: np.nan_to_num(numbers(s)), lambda s: numbers(s), needs={"counting"})
add("reduce with object output", lambda s: np.add.reduce(s.a, dtype=object), needs=ARITHMETIC)
add("add.at", lambda s: (np.add.at(s.a, [0, 0, 3], s.b[:3]), s.a), needs=ARITHMETIC)
add(
    "add.at of one scalar",
    lambda s: (np.add.at(s.a, [1, 1, 1], s.values[3]), s.a),
    needs=ARITHMETIC,
)
add(
    "add.at of numbers",
    lambda s: (np.add.at(x := numbers(s), [1, 1], np.array([3, 4])), x),
    needs={"counting", "arithmetic"},
)
add("add.at of rows", lambda s: (np.add.at(s.m, ([0, 0, 3],), s.m[1:2]), s.m), needs=ARITHMETIC)
add(
    "add.at in a half-built array",
    lambda s: (np.add.at(s.h, [9, 9, 1], s.b[:3]), s.h),
    needs={"arithmetic", "default"},
)
add(
    "multiply.at by a mask", lambda s: (np.multiply.at(s.a, s.mask, s.b[:6]), s.a), needs=ARITHMETIC
)
add("negative.at", lambda s: (np.negative.at(s.a, [0, 0, 3]), s.a), needs=ARITHMETIC)
add("maximum.at", lambda s: (np.maximum.at(s.a, [0, 0, 3], s.b[:3]), s.a), needs=ORDERED)
add("add.outer", lambda s: np.add.outer(s.a[:3], s.b[:4]), needs=ARITHMETIC)
add(
    "multiply.outer of a matrix",
    lambda s: np.multiply.outer(s.m[:2, :2], s.b[:2]),
    needs=ARITHMETIC,
)
add("less.outer", lambda s: np.less.outer(s.a[:3], s.b), needs=ORDERED)
add("reduceat", lambda s: np.add.reduceat(s.a, [0, 3, 2, 7]), needs=ARITHMETIC)
add("reduceat over an axis", lambda s: np.add.reduceat(s.m, [0, 2], axis=1), needs=ARITHMETIC)
add("count of equal elements", lambda s: int((s.a == s.b[::-1]).sum()), needs={"equality"})
add(
    "bincount",
    lambda s: np.bincount(counts(s)),
    lambda s: np.bincount(counts(s).astype(int)),
    needs={"counting"},
)
add(
    "bincount with weights",
    lambda s: np.bincount(np.arange(10) % 3, weights=numbers(s)),
    lambda s: np.bincount(np.arange(10) % 3, weights=NUMBERS),
    needs={"counting"},
)
add(
    "histogram",
    lambda s: np.histogram(numbers(s), bins=4)[0],
    lambda s: np.histogram(np.array(NUMBERS), bins=4)[0],
    needs={"counting", "ordering"},
)
add(
    "array_equal",
    lambda s: (np.array_equal(s.a, s.a.copy()), np.array_equal(s.a, s.a[:3])),
    needs={"equality"},
)
add("array_equiv", lambda s: np.array_equiv(s.a, np.stack([s.a, s.a])), needs={"equality"})
add(
    "allclose and isclose",
    lambda s: (np.allclose(numbers(s), numbers(s)), np.isclose(numbers(s), counts(s))),
    lambda s: (True, np.isclose(NUMBERS, counts(s).astype(float))),
    needs={"counting"},
)
add(
    "testing.assert_array_equal",
    lambda s: (np.testing.assert_array_equal(s.a, s.a.copy()), "equal"),
    needs={"equality"},
)
add(
    "testing.assert_array_equal of others",
    lambda s: _differs(s),
    lambda s: "differ",
    needs={"equality"},
)


def _differs(s: Subject) -> str:
    try:
        np.testing.assert_array_equal(s.a, s.b)
    except AssertionError:
        return "differ"
    return "equal"
