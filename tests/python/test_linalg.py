"""`denizen.linalg` is exact, for `denizen.Rational` and for objects, and refuses what is not."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import denizen
from denizen import linalg

FIELDS = [pytest.param(denizen.Rational, id="Rational"), pytest.param(object, id="Fraction")]

entries = st.fractions(min_value=-9, max_value=9, max_denominator=5)


def fractions_of(array):
    return [Fraction(value) for value in np.asarray(array).ravel().tolist()]


def random_matrix(rows, columns, seed, dtype):
    generator = random.Random(seed)
    values = [
        [Fraction(generator.randint(-50, 50), generator.randint(1, 9)) for _ in range(columns)]
        for _ in range(rows)
    ]
    return np.array(values, dtype=dtype)


def hilbert(size, dtype):
    return np.array(
        [[Fraction(1, i + j + 1) for j in range(size)] for i in range(size)], dtype=dtype
    )


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_solution_satisfies_the_equations_exactly(dtype, size):
    a = random_matrix(size, size, size, dtype)
    b = random_matrix(size, 3, size + 100, dtype)
    x = linalg.solve(a, b)
    assert x.shape == (size, 3)
    assert x.dtype == a.dtype
    assert fractions_of(a @ x) == fractions_of(b)
    assert fractions_of(linalg.solve(a, b[:, 0])) == fractions_of(x[:, 0])


@pytest.mark.parametrize("dtype", FIELDS)
def test_inverse_of_the_hilbert_matrix_is_exact_where_float_has_no_digit(dtype):
    a = hilbert(12, dtype)
    inverse = linalg.inv(a)
    assert fractions_of(a @ inverse) == fractions_of(np.eye(12, dtype=int))
    # Its entries are integers; the corner is n ** 2.
    assert all(value.denominator == 1 for value in fractions_of(inverse))
    assert inverse[0, 0] == 144


@pytest.mark.parametrize("dtype", FIELDS)
def test_determinant_of_the_hilbert_matrix_is_the_known_one(dtype):
    # 1 / det is sequence A005249 of the OEIS.
    assert 1 / Fraction(linalg.det(hilbert(5, dtype))) == 266716800000


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(entries, min_size=3, max_size=3), min_size=3, max_size=3))
def test_determinant_is_leibniz_formula_and_zero_means_singular(rows):
    (a, b, c), (d, e, f), (g, h, i) = rows
    expected = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    matrix = np.array(rows, dtype=denizen.Rational)
    assert Fraction(linalg.det(matrix)) == expected
    if expected:
        assert fractions_of(linalg.inv(matrix) @ matrix) == fractions_of(np.eye(3, dtype=int))
        assert linalg.matrix_rank(matrix) == 3
    else:
        assert linalg.matrix_rank(matrix) < 3
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            linalg.inv(matrix)


@pytest.mark.parametrize("dtype", FIELDS)
def test_zero_pivots_are_swapped_away(dtype):
    a = np.array([[0, 0, 2], [0, 3, 1], [4, 1, 1]], dtype=dtype)
    assert Fraction(linalg.det(a)) == -24
    assert fractions_of(linalg.solve(a, [2, 4, 6])) == [1, 1, 1]


@pytest.mark.parametrize("dtype", FIELDS)
def test_stacks_broadcast_as_in_numpy(dtype):
    a = np.stack([random_matrix(3, 3, seed, dtype) for seed in range(4)]).reshape(2, 2, 3, 3)
    b = random_matrix(3, 2, 9, dtype)
    x = linalg.solve(a, b)
    assert x.shape == np.linalg.solve(a.astype(float), b.astype(float)).shape == (2, 2, 3, 2)
    assert fractions_of(a @ x) == fractions_of(np.broadcast_to(b, x.shape))
    assert linalg.solve(a, b[:, 0]).shape == (2, 2, 3)
    assert linalg.inv(a).shape == (2, 2, 3, 3)
    assert linalg.det(a).shape == linalg.matrix_rank(a).shape == (2, 2)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, denizen.Integer, object, list])
def test_integers_are_promoted_to_rationals(dtype):
    rows = [[1, 1], [0, 1]]
    a = rows if dtype is list else np.array(rows, dtype=dtype)
    x = linalg.solve(np.asarray(a) if dtype is list else a, [Fraction(1, 3), 1])
    assert fractions_of(x) == [Fraction(-2, 3), 1]
    assert fractions_of(linalg.inv(a)) == [1, -1, 0, 1]
    expected = object if dtype is object else denizen.Rational
    assert linalg.inv(a).dtype == np.dtype(expected)


def test_integers_beyond_64_bits_stay_exact():
    big = 10**40
    assert Fraction(linalg.det([[big, 1], [1, big]])) == big**2 - 1
    a = np.array([[big, 1], [1, big]], dtype=denizen.Integer)
    assert Fraction(linalg.det(a)) == big**2 - 1


@pytest.mark.parametrize("dtype", FIELDS)
def test_least_squares_is_exact_and_its_residuals_too(dtype):
    x = np.array([Fraction(i) for i in range(6)], dtype=dtype)
    design = np.stack([x * 0 + 1, x], axis=1)
    line = linalg.lstsq(design, x * 3 + 7)
    assert fractions_of(line.x) == [7, 3]
    assert fractions_of(line.residuals) == [0]
    assert line.rank == 2
    # y = x ** 2 on 0..5: the best line is 5 x - 10/3 (by hand).
    parabola = linalg.lstsq(design, np.stack([x * x, x], axis=1))
    assert fractions_of(parabola.x) == [Fraction(-10, 3), 0, 5, 1]
    assert fractions_of(parabola.residuals) == [Fraction(112, 3), 0]


@pytest.mark.parametrize("dtype", FIELDS)
def test_least_squares_names_the_dependent_column(dtype):
    a = np.array([[1, 2, 3], [2, 4, 5], [3, 6, 8], [1, 2, 0]], dtype=dtype)
    with pytest.raises(np.linalg.LinAlgError, match=r"rank 2.*column 1 is a combination"):
        linalg.lstsq(a, [1, 2, 3, 4])
    with pytest.raises(np.linalg.LinAlgError, match="rank 2"):
        linalg.lstsq(a[:2], [1, 2])


@pytest.mark.parametrize("dtype", FIELDS)
def test_empty_matrices_are_as_in_numpy(dtype):
    empty = np.empty((0, 0), dtype=dtype)
    assert linalg.det(empty) == 1
    assert linalg.inv(empty).shape == (0, 0)
    assert linalg.solve(empty, np.empty((0, 2), dtype=dtype)).shape == (0, 2)
    assert linalg.matrix_rank(np.zeros((2, 3), dtype=dtype)) == 0
    assert linalg.inv(np.empty((0, 2, 2), dtype=dtype)).shape == (0, 2, 2)


@pytest.mark.parametrize("dtype", FIELDS)
def test_errors_are_those_of_numpy(dtype):
    a = np.array([[1, 2], [2, 4]], dtype=dtype)
    for function in (linalg.inv, lambda m: linalg.solve(m, [1, 2])):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            function(a)
    for function in (linalg.inv, linalg.det, lambda m: linalg.solve(m, [1, 2])):
        with pytest.raises(np.linalg.LinAlgError, match="must be square"):
            function(a[:1])
        with pytest.raises(np.linalg.LinAlgError, match="at least two-dimensional"):
            function(a[0])
    with pytest.raises(ValueError, match="2 rows"):
        linalg.solve(a, [1, 2, 3])
    with pytest.raises(np.linalg.LinAlgError, match="incompatible dimensions"):
        linalg.lstsq(a, [1, 2, 3])


@pytest.mark.parametrize(
    "a",
    [
        np.eye(2),
        np.eye(2, dtype=np.float32),
        np.eye(2, dtype=complex),
        np.array([[1, 0.5], [0, 1]], dtype=object),
        np.array([["1", "0"], ["0", "1"]]),
    ],
)
def test_rounded_input_is_refused(a):
    with pytest.raises(TypeError, match="needs exact elements"):
        linalg.inv(a)


@pytest.mark.parametrize("dtype", FIELDS)
def test_input_is_unchanged_and_may_be_a_view(dtype):
    base = random_matrix(6, 6, 3, dtype)
    view = base[::-2, 1::2].T
    before = fractions_of(base)
    inverse = linalg.inv(view)
    assert fractions_of(view @ inverse) == fractions_of(np.eye(3, dtype=int))
    assert fractions_of(base) == before


def test_no_object_outlives_a_failure():
    a = np.array([[1, 2], [2, 4]], dtype=denizen.Rational)
    with denizen.audit():
        for function in (linalg.inv, lambda m: linalg.lstsq(m, [1, 2])):
            with pytest.raises(np.linalg.LinAlgError):
                function(a)
