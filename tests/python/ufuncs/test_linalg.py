"""`denizen.linalg` is exact, for `denizen.Rational` and for objects, and refuses what is not."""

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kinds import KINDS

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


# The field is taken from the elements, and what is none is refused.


class Modular:
    """Integers modulo 101: a field without an order, as an extension author might write one."""

    def __init__(self, value):
        self.value = int(value) % 101

    def __repr__(self):
        return f"Modular({self.value})"

    def __eq__(self, other):
        return self.value == Modular.of(other).value

    def __hash__(self):
        return hash(self.value)

    def __neg__(self):
        return Modular(-self.value)

    def __add__(self, other):
        return Modular(self.value + Modular.of(other).value)

    def __sub__(self, other):
        return Modular(self.value - Modular.of(other).value)

    def __mul__(self, other):
        return Modular(self.value * Modular.of(other).value)

    def __truediv__(self, other):
        return Modular(self.value * pow(Modular.of(other).value, -1, 101))

    @staticmethod
    def of(value):
        return value if isinstance(value, Modular) else Modular(value)


def test_objects_of_a_finite_field():
    values = np.array([[3, 100, 7], [50, 2, 9], [1, 1, 88]])
    a = np.vectorize(Modular, otypes=[object])(values)
    inverse = linalg.inv(a)
    assert (a @ inverse == np.vectorize(Modular, otypes=[object])(np.eye(3, dtype=int))).all()
    exact = int(Fraction(linalg.det(values)))
    assert linalg.det(a) == Modular(exact)
    assert linalg.matrix_rank(a) == 3
    with pytest.raises(TypeError, match="order"):
        linalg.lstsq(a, a[:, 0])


def test_objects_of_sympy():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    a = np.array([[sympy.Rational(1, 3), sympy.Integer(2)], [sympy.Integer(1), x]], dtype=object)
    assert sympy.simplify(linalg.det(a) - (x / 3 - 2)) == 0


def test_objects_that_round_are_refused():
    values = [Decimal(3), np.float64(3)]
    mpmath = pytest.importorskip("mpmath")
    values.append(mpmath.mpf(3))
    for value in values:
        with pytest.raises(TypeError, match="needs exact elements"):
            linalg.inv(np.array([[value]], dtype=object))


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"Integer", "Rational"}))
def test_elements_that_are_no_exact_field_are_refused(name):
    a = KINDS[name].make(4).reshape(2, 2) if name != "Unique" else KINDS[name].make(4)
    for function in (linalg.inv, linalg.det, linalg.matrix_rank):
        with pytest.raises(TypeError, match=r"denizen\.linalg needs"):
            function(a)


def test_cpp_elements_that_round_are_refused():
    real = pytest.importorskip("real")
    a = np.array([[1, 2], [3, 4]]).astype(real.real)
    with pytest.raises(TypeError, match=r"real\.real rounds: \d+ \* \(1 / \d+\) is not 1"):
        linalg.solve(a, a)


def test_objects_beside_elements_become_elements():
    a = np.array([[2, 1], [1, 1]], dtype=denizen.Rational)
    b = [Fraction(1, 3), 1]
    x = linalg.solve(a, b)
    assert x.dtype == np.dtype(denizen.Rational)
    assert fractions_of(x) == [Fraction(-2, 3), Fraction(5, 3)]
    x = linalg.solve(np.array([[2, 1], [1, 1]], dtype=denizen.Integer), np.array(b, dtype=object))
    assert x.dtype == np.dtype(denizen.Rational)
    assert linalg.solve([[2, 1], [1, 1]], np.array([1, 2], dtype=np.uint8)).dtype == np.dtype(
        denizen.Rational
    )


matrices = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(entries, min_size=columns, max_size=columns), min_size=1, max_size=6
    )
)


@settings(max_examples=60, deadline=None)
@given(matrices)
def test_ranks_determinants_and_inverses_are_those_of_sympy(rows):
    sympy = pytest.importorskip("sympy")
    expected = sympy.Matrix(
        [[sympy.Rational(value.numerator, value.denominator) for value in row] for row in rows]
    )
    a = np.array(rows, dtype=denizen.Rational)
    assert linalg.matrix_rank(a) == expected.rank()
    if len(rows) != len(rows[0]):
        return
    det = expected.det()
    assert Fraction(linalg.det(a)) == Fraction(int(det.p), int(det.q))
    if det != 0:
        inverse = [Fraction(int(value.p), int(value.q)) for value in expected.inv()]
        assert fractions_of(linalg.inv(a)) == inverse


@settings(max_examples=60, deadline=None)
@given(matrices, st.data())
def test_least_squares_leaves_a_misfit_that_is_orthogonal_to_the_columns(rows, data):
    b = np.array(
        data.draw(st.lists(entries, min_size=len(rows), max_size=len(rows))),
        dtype=denizen.Rational,
    )
    a = np.array(rows, dtype=denizen.Rational)
    if linalg.matrix_rank(a) < a.shape[1]:
        with pytest.raises(np.linalg.LinAlgError, match="rank"):
            linalg.lstsq(a, b)
        return
    fit = linalg.lstsq(a, b)
    misfit = b - a @ fit.x
    assert fractions_of(a.T @ misfit) == [0] * a.shape[1]
    assert fractions_of(fit.residuals) == [sum(value * value for value in fractions_of(misfit))]


# NumPy's own functions round, so they are refused.

ROUNDING = {
    "solve": lambda a: np.linalg.solve(a, a),
    "solve of floats": lambda a: np.linalg.solve(np.eye(2), a),
    "solve for floats": lambda a: np.linalg.solve(a, np.ones(2)),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "eig": np.linalg.eig,
    "eigh": np.linalg.eigh,
    "eigvals": np.linalg.eigvals,
    "eigvalsh": np.linalg.eigvalsh,
    "svd": np.linalg.svd,
    "svdvals": np.linalg.svdvals,
    "qr": np.linalg.qr,
    "cholesky": np.linalg.cholesky,
    "lstsq": lambda a: np.linalg.lstsq(a, a),
    "lstsq of floats": lambda a: np.linalg.lstsq(np.eye(2), a),
    "matrix_rank": np.linalg.matrix_rank,
    "pinv": np.linalg.pinv,
    "cond": np.linalg.cond,
    "cond in the 1-norm": lambda a: np.linalg.cond(a, 1),
    "tensorsolve": lambda a: np.linalg.tensorsolve(a, a[0]),
    "tensorinv": lambda a: np.linalg.tensorinv(a, ind=1),
    "matrix_power": lambda a: np.linalg.matrix_power(a, -1),
}


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("name", sorted(ROUNDING))
@pytest.mark.parametrize("element", [denizen.Integer, denizen.Rational])
def test_numpys_functions_refuse_to_round_and_name_the_exact_ones(element, name, stacked):
    a = np.array([[2, 1], [1, 3]], dtype=element)
    if stacked:
        if name in ("lstsq", "lstsq of floats", "tensorsolve", "tensorinv"):
            pytest.skip("NumPy takes one matrix")
        a = np.stack([a, a])
        if name == "solve for floats":
            name = "solve of floats"
    with pytest.raises(TypeError, match=r"would round elements of denizen\.\w+.*denizen\.linalg"):
        ROUNDING[name](a)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_numpys_functions_refuse_every_element_type(name):
    a = KINDS[name].make(4)
    for function in (np.linalg.inv, np.linalg.det, np.linalg.svdvals):
        with pytest.raises((TypeError, np.linalg.LinAlgError)):
            function(a if name == "Unique" else a.reshape(2, 2))
    with pytest.raises(TypeError, match="would round"):
        np.linalg.solve(np.eye(2), np.zeros((2, 2), dtype=a.dtype))
    if name not in ("Integer", "Rational"):
        with pytest.raises(TypeError, match=r"norm would make float64"):
            np.linalg.norm(a)
    with pytest.raises(TypeError):
        np.fft.fft(a)
    with pytest.raises(TypeError):
        np.fft.irfft(a)


def test_functions_that_were_imported_before_are_guarded_too():
    function = np.linalg.inv.__wrapped__
    with pytest.raises(TypeError, match=r"denizen\.linalg\.inv"):
        function(np.eye(2, dtype=denizen.Integer))


@pytest.mark.parametrize("element", [denizen.Integer, denizen.Rational])
def test_norms_are_float64_and_powers_exact(element):
    a = np.array([[2, 1], [1, -3]], dtype=element)
    plain = np.array([[2.0, 1.0], [1.0, -3.0]])
    for order in (None, 1, np.inf, -np.inf, "fro"):
        norm = np.linalg.norm(a, order)
        assert norm.dtype == np.float64
        assert norm == np.linalg.norm(plain, order)
    assert np.linalg.norm(a[0], 3) == np.linalg.norm(plain[0], 3)
    assert np.linalg.vector_norm(a) == np.linalg.norm(plain)
    for order in (2, -2, "nuc"):
        # Made of floats before the singular values are asked for.
        assert np.linalg.norm(a, order) == np.linalg.norm(plain, order)
    with pytest.raises(OverflowError):
        np.linalg.norm(np.array([10**400], dtype=element))
    power = np.linalg.matrix_power(a, 40)
    assert power.dtype == a.dtype
    assert power.astype(object).tolist() == np.linalg.matrix_power(a.astype(object), 40).tolist()


def test_numpys_functions_are_numpys_for_other_dtypes():
    a = np.array([[2, 1], [1, 3]])
    assert np.allclose(np.linalg.inv(a) @ a, np.eye(2))
    assert np.linalg.inv(a.astype(np.float32)).dtype == np.float32
    assert np.linalg.eigvals(a.astype(complex)).dtype == np.complex128
    assert np.linalg.norm(a) == np.sqrt(15)
    assert np.linalg.norm(a.astype(np.longdouble)).dtype == np.longdouble
    assert np.linalg.norm(np.array([3, 4], dtype=object)) == 5
    with pytest.raises(TypeError):
        np.linalg.inv(a.astype(np.float16))
    with pytest.raises(TypeError):
        np.linalg.inv(a.astype(object))
