"""Arrays as text: printing, `printoptions`, `savetxt`, `loadtxt`. Elements are plain digits."""

import io
from fractions import Fraction

import numpy as np
import pytest

from denizen import Integer, Rational

BIG = 2**70


@pytest.fixture
def a():
    return np.array([3, -1, BIG], dtype=Integer)


@pytest.fixture
def r():
    return np.array(["1/3", 2, "-5/7"], dtype=Rational)


def test_arrays_print_plain_digits(a, r):
    assert str(a) == f"{a}" == np.array_str(a) == f"[3 -1 {BIG}]"
    assert repr(a) == np.array_repr(a) == f"array([3, -1, {BIG}], dtype=denizen.Integer)"
    assert (str(r), repr(r)) == ("[1/3 2 -5/7]", "array([1/3, 2, -5/7], dtype=denizen.Rational)")
    assert str(np.array(a[2])) == f"{np.array(a[2])}" == str(BIG)
    assert repr(np.array(r[0])) == "array(1/3, dtype=denizen.Rational)"
    assert repr(a[:0]) == "array([], dtype=denizen.Integer)"
    assert repr(np.zeros((2, 0), Rational)) == "array([], shape=(2, 0), dtype=denizen.Rational)"
    assert repr(a[:2].reshape(2, 1)) == "array([[3],\n       [-1]], dtype=denizen.Integer)"
    assert str([a[0], r[0]]) == "[3, 1/3]"


def test_records_print_plain_digits():
    records = np.zeros(2, dtype=[("n", Integer), ("r", Rational), ("f", "f8")])
    records[1] = (BIG, Fraction(1, 2), 0.5)
    assert str(records) == f"[(0, 0, 0. ) ({BIG}, 1/2, 0.5)]"
    assert str(records[1]) == f"({BIG}, 1/2, 0.5)"
    assert f"({BIG}, 1/2, 0.5)" in repr(records) and f"({BIG}, 1/2, 0.5)" in repr(records[1])
    assert repr(records["r"]) == "array([0, 1/2], dtype=denizen.Rational)"


def test_long_arrays_are_summarised():
    a = np.arange(1_000_000).astype(Integer).reshape(1000, 1000)
    text = str(a)
    assert text.startswith("[[0 1 2 ... 997 998 999]\n") and "\n ...\n" in text
    assert text.endswith("[999000 999001 999002 ... 999997 999998 999999]]")
    assert len(text.splitlines()) == 7
    assert "shape=(5000,)" in repr(np.zeros(5000, Rational))


def test_print_options(a, r):
    long = np.arange(20).astype(Integer)
    with np.printoptions(threshold=5, edgeitems=1):
        assert str(long) == "[0 ... 19]"
    with np.printoptions(linewidth=12):
        assert max(map(len, str(long).splitlines())) <= 12
        assert str(long).replace("\n", "") == "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19]"
    with np.printoptions(formatter={"all": lambda x: f"<{x}>"}):
        assert str(a) == f"[<3> <-1> <{BIG}>]" and str(np.array(r[0])) in ("<1/3>", "1/3")
    # Options of floats say nothing about exact numbers.
    with np.printoptions(precision=2, suppress=True, sign="+", floatmode="fixed"):
        assert (str(a), str(r)) == (f"[3 -1 {BIG}]", "[1/3 2 -5/7]")
    for legacy in ("1.13", "1.21", "1.25", "2.1"):
        with np.printoptions(legacy=legacy):
            assert (str(a), str(r)) == (f"[3 -1 {BIG}]", "[1/3 2 -5/7]")
            assert f"[3, -1, {BIG}], dtype=denizen.Integer)" in repr(a)
    with np.printoptions(override_repr=lambda array: "instead"):
        assert repr(a) == "instead"


def test_array2string(a, r):
    assert np.array2string(r, separator=";", prefix="r = ") == "[1/3;2;-5/7]"
    assert np.array2string(a, formatter={"all": hex}) == f"[0x3 -0x1 {hex(BIG)}]"
    assert np.array2string(a, max_line_width=10).splitlines() == ["[3 -1", f" {BIG}]"]
    with pytest.raises(TypeError, match="format"):
        f"{a:d}"


def save(array, **options):
    text = io.StringIO()
    np.savetxt(text, array, **options)
    return text.getvalue()


def test_savetxt_and_loadtxt_are_exact_with_text(a, r):
    assert save(a, fmt="%s") == save(a, fmt="%d") == f"3\n-1\n{BIG}\n"
    assert save(a[:2], fmt="%x") == "3\n-1\n"
    assert save(r, fmt="%s") == "1/3\n2\n-5/7\n"
    assert save(np.outer(a[:2], a[:2]), fmt="%s", delimiter=",") == "9,-3\n-3,1\n"
    # NumPy's own format is that of floats; `%d` of a fraction is its whole part, as in Python.
    assert save(r[:1]) == "3.333333333333333148e-01\n" and save(r[:1], fmt="%d") == "0\n"
    with pytest.raises(TypeError, match="Mismatch"):
        save(r, fmt="%x")
    for array in (a, r):
        again = np.loadtxt(io.StringIO(save(array, fmt="%s")), dtype=array.dtype)
        assert again.dtype == array.dtype and again.tolist() == array.tolist()


def test_loadtxt(a):
    text = f"1,2\n3,{BIG}\n"
    for options in ({}, {"converters": Integer}, {"converters": {0: Integer, 1: int}}):
        loaded = np.loadtxt(io.StringIO(text), delimiter=",", dtype=Integer, **options)
        assert loaded.tolist() == [[1, 2], [3, BIG]]
    hexadecimal = {0: lambda text: int(text, 16)}
    loaded = np.loadtxt(io.StringIO("0x1f 2\n"), dtype=Integer, converters=hexadecimal)
    assert loaded.tolist() == [31, 2]
    record = np.dtype([("n", Integer), ("r", Rational), ("f", "f8")])
    loaded = np.loadtxt(io.StringIO("1 1/2 .5\n2 3 4\n"), dtype=record)
    assert loaded.tolist() == [(1, Fraction(1, 2), 0.5), (2, 3, 4.0)]
    options = {"delimiter": ",", "dtype": Rational, "unpack": True}
    assert np.loadtxt(io.StringIO(text), usecols=1, **options).tolist() == [2, BIG]
    assert np.loadtxt(io.StringIO("1\n" * 5), dtype=Integer, max_rows=3).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"'x' to denizen\.Integer at row 0, column 2"):
        np.loadtxt(io.StringIO("1 x\n"), dtype=Integer)


def test_genfromtxt_and_fromregex():
    text = f"1,2\n3,{BIG}\n"
    for options in ({}, {"converters": {0: Integer, 1: Integer}}):
        loaded = np.genfromtxt(io.StringIO(text), delimiter=",", dtype=Integer, **options)
        assert loaded.tolist() == [[1, 2], [3, BIG]]
    with pytest.raises(ValueError, match="literal"):
        np.genfromtxt(io.StringIO("1,,3"), delimiter=",", dtype=Integer)
    pairs = np.fromregex(io.StringIO("1 2\n3 4\n"), r"(\d+) (\d+)", [("a", Integer), ("b", "i4")])
    assert pairs["a"].tolist() == [1, 3]
    with pytest.raises(ValueError, match="object array"):
        np.fromstring("1 2", sep=" ", dtype=Integer)


def test_text_arrays(a, r):
    assert a.astype(str).tolist() == ["3", "-1", str(BIG)]
    assert np.strings.add(r.astype("U9"), "!").tolist() == ["1/3!", "2!", "-5/7!"]
    assert np.array(["1/3", "2"]).astype(Rational).tolist() == [Fraction(1, 3), 2]
    assert np.base_repr(a[0], 2) == "11" and np.binary_repr(a[0]) == "11"
