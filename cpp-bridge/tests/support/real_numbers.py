"""What the tests of the example `real` share."""

import numpy as np
import pytest

real = pytest.importorskip("real", reason="MPFR is not installed, so the module was not built")


gmpy2 = pytest.importorskip("gmpy2")


R = real.real


PRECISIONS = [2, 24, 53, 64, 113, 200, 1000]


NAN, INF = float("nan"), float("inf")


SPECIAL = ["nan", "inf", "-inf", "0", "-0", "1", "-1", "0.5", "2", "-2.5", "3.5"]


def at(precision):
    """gmpy2 with MPFR's whole range of exponents."""
    return gmpy2.context(
        precision=int(precision), emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min()
    )


def numbers(rng, count, low=-40, high=40):
    """Values of mixed precision and size, the special ones among them: reals and gmpy2's."""
    texts = [(text, rng.choice(PRECISIONS)) for text in SPECIAL]
    for _ in range(count):
        digits = rng.randint(1, 10 ** rng.randint(1, 40))
        exponent = rng.randint(low, high) - len(str(digits))
        texts.append((f"{rng.choice(['', '-'])}{digits}e{exponent}", rng.choice(PRECISIONS)))
    rng.shuffle(texts)
    ours = np.array([real.make(text, precision) for text, precision in texts], dtype=R)
    theirs = []
    for text, precision in texts:
        with at(precision):
            theirs.append(gmpy2.mpfr(text, precision))
    return ours, theirs


def to_gmpy2(x):
    precision = int(real.precision(x))
    with at(precision):
        return gmpy2.mpfr(str(x), precision)


def same(x, expected):
    """Whether a real is that mpfr: value, sign of zero, and precision."""
    value = to_gmpy2(x)
    if value.precision != expected.precision:
        return False
    if gmpy2.is_nan(value) or gmpy2.is_nan(expected):
        return gmpy2.is_nan(value) and gmpy2.is_nan(expected)
    return value == expected and value.is_signed() == expected.is_signed()


def check_all(results, expected, inputs):
    assert len(results) == len(expected)
    for index, (x, y) in enumerate(zip(results, expected, strict=True)):
        operands = [(str(v), v.precision) for v in inputs(index)]
        assert same(x, y), f"{x} ({real.precision(x)}) is not {y} ({y.precision}) for {operands}"
