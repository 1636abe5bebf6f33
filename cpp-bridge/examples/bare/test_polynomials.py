"""The bare example: polynomials, which own heap memory, in arrays, views, adopted and taken."""

import gc
import pickle

import numpy as np
import polynomials
import pytest
from polynomials import Polynomial

import denizen


def array(*coefficients):
    a = np.empty(len(coefficients), dtype=Polynomial)
    for index, c in enumerate(coefficients):
        a[index] = Polynomial(c)
    return a


@pytest.mark.short
def test_operators_of_the_class_are_those_of_arrays():
    a = array([1, 1], [0, 0, 2], [])
    assert [str(p) for p in a] == ["1 + 1x^1", "2x^2", "0"]
    assert (a * a == array([1, 2, 1], [0, 0, 0, 0, 4], [])).all()
    assert str((a - 1).sum()) == "-2 + 1x^1 + 2x^2"
    assert str(a[:2].prod()) == "2x^2 + 2x^3"
    assert str(a @ a) == "1 + 2x^1 + 1x^2 + 4x^4"
    assert str(a[:0].sum()) == "0" and str(a[:0].prod()) == "1"
    with pytest.raises(TypeError, match="order"):
        np.sort(a)


def test_elements_that_were_not_written_are_the_zero_polynomial():
    a = np.empty((2, 3), dtype=Polynomial)
    assert polynomials.evaluate(a, 2.0) == [0] * 6
    a.resize((3, 3))
    assert (a == np.zeros((3, 3), dtype=Polynomial)).all()


def test_a_view_reads_any_strides_and_writes_in_place():
    a = array([1, 2], [0, 0, 3], [5])
    assert polynomials.evaluate(a[::-1], 2) == [5, 12, 5]
    assert polynomials.evaluate(np.broadcast_to(a[0], (2, 2)), 1) == [3] * 4
    polynomials.differentiate(a[1:])
    assert (a == array([1, 2], [0, 6], [])).all()


def test_the_wrong_array_is_an_error_that_says_so():
    a = array([1])
    for wrong in (np.zeros(2), [1], None):
        with pytest.raises(TypeError, match=r"polynomials\.Polynomial"):
            polynomials.evaluate(wrong, 1)
    a.flags.writeable = False
    assert polynomials.evaluate(a, 1) == [1]
    with pytest.raises(ValueError, match="read-only"):
        polynomials.differentiate(a)
    with pytest.raises(TypeError, match="sequence of coefficients"):
        Polynomial("x")
    with pytest.raises(TypeError, match="must be real number"):
        Polynomial([None])
    with pytest.raises(ValueError, match="fewer than 0"):
        polynomials.chebyshev(-1)
    with pytest.raises(OverflowError):
        polynomials.chebyshev(10**30)


def test_an_adopted_vector_lives_as_long_as_its_views():
    before = denizen.stats()["polynomials.Polynomial"]["live"]
    t = polynomials.chebyshev(5)
    assert denizen.owner(t) == "adopted"
    assert str(t[4]) == "1 + -8x^2 + 8x^4"
    x = 0.3
    assert polynomials.evaluate(t, x) == pytest.approx(np.cos(np.arange(5) * np.arccos(x)))
    with pytest.raises(ValueError):
        t.resize(10)
    last = t[1:][::2]
    t[3] = Polynomial([7])  # a write into the vector
    del t
    gc.collect()
    assert polynomials.evaluate(last, 1) == [1, 7]
    del last
    gc.collect()
    assert denizen.stats()["polynomials.Polynomial"]["live"] == before


def test_a_taken_vector_is_an_array_like_any_other():
    p = polynomials.powers(Polynomial([1, 1]), (2, 2))
    assert denizen.owner(p) != "adopted" and p.shape == (2, 2)
    assert str(p[1, 1]) == "1 + 3x^1 + 3x^2 + 1x^3"
    p.resize((3, 2))
    assert str(p[2, 1]) == "0"
    assert polynomials.powers([2], (1, 3)).astype(object).tolist() == [
        [Polynomial([1]), Polynomial([2]), Polynomial([4])]
    ]


def test_what_the_class_does_not_say_is_absent():
    a = array([1, 2])
    with pytest.raises(TypeError, match="polynomials.Polynomial"):
        pickle.dumps(a)
    with pytest.raises(TypeError):
        np.sin(a)
    assert isinstance(a[0], Polynomial) and np.dtype(Polynomial) == a.dtype
