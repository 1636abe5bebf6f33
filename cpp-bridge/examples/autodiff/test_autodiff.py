"""The autodiff example: gradients of NumPy programs through Eigen's AutoDiffScalar."""

import numpy as np
import pytest

autodiff = pytest.importorskip(
    "autodiff",
    reason="denizen: the example autodiff is skipped: Eigen is not installed; install it with "
    "`apt install libeigen3-dev`",
)

import denizen  # noqa: E402

Dual = autodiff.Dual
X = np.array([0.5, 1.25, 2.0])


def finite_differences(f, x, step=1e-6):
    """The gradient of a function of a float vector, by central differences."""
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))])


def diagonal(a):
    """The derivatives of each element by its own variable; there are no others."""
    gradient = autodiff.gradient(a)
    assert np.array_equal(gradient, np.diag(np.diag(gradient)))
    return np.diag(gradient)


@pytest.mark.short
def test_variables_have_unit_derivatives():
    a = autodiff.variable([[1, 2], [3, 4]])
    assert a.shape == (2, 2) and a.dtype == np.dtype(Dual)
    assert autodiff.value(a).tolist() == [[1, 2], [3, 4]]
    assert np.array_equal(autodiff.gradient(a).reshape(4, 4), np.eye(4))
    assert str(a[0, 1]) == "2 d(0, 1, 0, 0)"
    assert autodiff.gradient(a[::-1, 1]).tolist() == [[0, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (np.negative, lambda x: -np.ones_like(x)),
        (np.square, lambda x: 2 * x),
        (np.abs, np.sign),
        (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (np.exp, np.exp),
        (np.log, lambda x: 1 / x),
        (np.sin, np.cos),
        (np.cos, lambda x: -np.sin(x)),
        (np.tan, lambda x: 1 / np.cos(x) ** 2),
        (lambda x: np.arcsin(x / 4), lambda x: 1 / np.sqrt(16 - x**2)),
        (lambda x: np.arccos(x / 4), lambda x: -1 / np.sqrt(16 - x**2)),
        (np.sinh, np.cosh),
        (np.cosh, np.sinh),
        (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
        (lambda x: x**3, lambda x: 3 * x**2),
        (lambda x: x**-0.5, lambda x: -0.5 * x**-1.5),
        (lambda x: 2.0**x, lambda x: np.log(2) * 2.0**x),
        (lambda x: x**x, lambda x: x**x * (np.log(x) + 1)),
        (lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2),
        (lambda x: np.sin(x) * np.exp(x), lambda x: np.exp(x) * (np.sin(x) + np.cos(x))),
    ],
)
def test_derivatives_of_functions(f, derivative):
    y = f(autodiff.variable(X))
    assert autodiff.value(y) == pytest.approx(f(X), rel=1e-14)
    assert diagonal(y) == pytest.approx(derivative(X), rel=1e-13)


def test_powers_of_what_has_no_logarithm():
    y = autodiff.variable([-2.0, 0.0]) ** 2
    assert autodiff.value(y).tolist() == [4, 0]
    assert diagonal(y).tolist() == [-4, 0]


def test_the_gradient_of_a_least_squares_loss():
    random = np.random.default_rng(7)
    a, b, x = random.normal(size=(8, 3)), random.normal(size=8), random.normal(size=3)

    def loss(x):
        return np.sum((a.astype(x.dtype) @ x - b) ** 2)

    y = loss(autodiff.variable(x))
    assert autodiff.value(y) == pytest.approx(loss(x), rel=1e-13)
    gradient = autodiff.gradient(y)
    assert gradient.shape == (3,)
    assert gradient == pytest.approx(2 * a.T @ (a @ x - b), rel=1e-12)
    assert gradient == pytest.approx(finite_differences(loss, x), rel=1e-6)


def test_the_jacobian_of_matrix_products():
    m = np.arange(6.0).reshape(2, 3)
    x = autodiff.variable(X)
    for product in (m.astype(Dual) @ x, x @ m.T.astype(Dual)):
        assert autodiff.value(product) == pytest.approx(m @ X)
        assert autodiff.gradient(product) == pytest.approx(m)
    assert autodiff.gradient(x @ x) == pytest.approx(2 * X)
    assert autodiff.gradient(np.vecdot(x, x * 2)) == pytest.approx(4 * X)
    variables = autodiff.variable(m)
    square = variables @ variables.T
    assert autodiff.value(square) == pytest.approx(m @ m.T)
    assert autodiff.gradient(square)[0, 1] == pytest.approx(np.concatenate([m[1], m[0]]))
    assert autodiff.value(x[:0] @ x[:0]) == 0


def test_reductions_carry_derivatives():
    x = autodiff.variable(X)
    assert autodiff.gradient(x.sum()).tolist() == [1, 1, 1]
    assert autodiff.gradient(x.prod()) == pytest.approx(X.prod() / X)
    assert autodiff.gradient(x.mean()) == pytest.approx([1 / 3] * 3)
    assert autodiff.gradient(np.cumsum(x)).tolist() == np.tri(3).tolist()
    assert autodiff.gradient(x.max()).tolist() == [0, 0, 1]
    assert autodiff.value(x[:0].sum()) == 0 and autodiff.value(x[:0].prod()) == 1


def test_constants_mix_with_variables_and_do_not_change():
    constants = np.array([3.0, 0.0, -1.0]).astype(Dual)
    constants.flags.writeable = False
    before = denizen.inspect(constants)
    x = autodiff.variable(X)
    with denizen.audit():
        assert autodiff.value(constants * x + constants).tolist() == [4.5, 0, -3]
        assert diagonal(x * constants).tolist() == [3, 0, -1]
        assert autodiff.gradient(constants @ x).tolist() == [3, 0, -1]
        assert diagonal(constants - x).tolist() == [-1, -1, -1]
    # Eigen's own operators would have given them vectors of zeros.
    assert denizen.inspect(constants) == before
    assert [str(c) for c in constants] == ["3", "0", "-1"]
    assert autodiff.gradient(constants).shape == (3, 0)
    assert autodiff.gradient(np.concatenate([constants, x]))[:3].tolist() == [[0] * 3] * 3


def test_different_numbers_of_variables_do_not_mix():
    x, y = autodiff.variable([1.0, 2.0]), autodiff.variable([1.0, 2.0, 3.0])
    for combine in (lambda: x + y[:2], lambda: x @ y[:2], lambda: x ** y[:2]):
        with pytest.raises(ValueError, match="by 2 and by 3 variables|by 3 and by 2 variables"):
            combine()
    with pytest.raises(ValueError, match="by 2 and by 3 variables"):
        autodiff.gradient(np.concatenate([x, y]))
    assert autodiff.value(x + 1).tolist() == [2, 3]


def test_outputs_may_be_operands():
    x = autodiff.variable(X)
    y = x.copy()
    np.multiply(y, y, out=y)
    assert diagonal(y) == pytest.approx(2 * X)
    y = x.copy()
    y /= x + 1
    assert diagonal(y) == pytest.approx(1 / (1 + X) ** 2)
    y = np.array([1.0, 2.0, 3.0]).astype(Dual)
    y += x
    assert autodiff.value(y).tolist() == (X + np.arange(1, 4)).tolist()
    assert diagonal(y).tolist() == [1, 1, 1]
    y = np.full(3, 2.0).astype(Dual)
    np.power(x, y, out=y)
    assert diagonal(y) == pytest.approx(2 * X)


def test_values_are_compared_and_sorted():
    x = autodiff.variable([2.0, np.nan, 1.0])
    assert (x < 1.5).tolist() == [False, False, True]
    assert (x == [2.0, 0.0, 1.0]).tolist() == [True, False, True]
    assert np.isnan(x).tolist() == [False, True, False]
    ordered = np.sort(x)
    assert autodiff.value(ordered)[:2].tolist() == [1, 2] and np.isnan(autodiff.value(ordered)[2])
    assert autodiff.gradient(ordered).tolist() == np.eye(3)[[2, 0, 1]].tolist()
    assert np.argmin(x[::2]) == 1


def test_casts():
    assert autodiff.value(np.arange(3).astype(Dual)).tolist() == [0, 1, 2]
    assert autodiff.value(np.float32([1.5]).astype(Dual)).tolist() == [1.5]
    x = autodiff.variable(X)
    assert x.astype(float, casting="unsafe").tolist() == X.tolist()
    with pytest.raises(TypeError):
        x.astype(float, casting="same_kind")
    assert (X + x).dtype == (x + X).dtype == (x + 1).dtype == np.dtype(Dual)
    z = np.zeros((2, 2), dtype=Dual)
    assert not autodiff.value(z).any() and autodiff.gradient(z).shape == (2, 2, 0)


def test_a_vector_of_eigens_numbers_is_adopted():
    h = autodiff.history(6)
    assert denizen.owner(h) == "adopted"
    assert autodiff.value(h)[-1] == pytest.approx(np.sqrt(2), rel=1e-15)
    assert autodiff.gradient(h)[-1, 0] == pytest.approx(0.5 / np.sqrt(2), rel=1e-14)
    h[0] = 5.0
    assert autodiff.value(h[::-1])[-1] == 5 and autodiff.gradient(h)[0, 0] == 0
