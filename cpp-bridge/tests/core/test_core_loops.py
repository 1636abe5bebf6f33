"""Loops, exceptions, orders and casts of C++ types."""

import gc
import sys
import threading

import cpp_core
import numpy as np
import pytest
from core_numbers import floats, integers, numbers

import denizen


@pytest.fixture
def fuse():
    """Makes the k-th of the counted operations throw."""
    yield cpp_core.fuse
    cpp_core.fuse(-1)


# ---- loops ---------------------------------------------------------------------------------------


@pytest.mark.short
def test_signatures_of_callables():
    a = numbers(1, 4, 9)
    assert floats(np.sqrt(a)) == [1, 2, 3], "void(T &, const T &)"
    assert floats(np.square(a)) == [1, 16, 81], "T(const T &)"
    assert floats(np.power(a, 0.5)) == [1, 2, 3], "T(const T &, double)"
    assert floats(np.power(2.0, a)) == [2, 16, 512], "T(double, const T &)"
    assert np.isnan(a).tolist() == [False] * 3, "bool(const T &)"
    half = np.spacing(a)
    assert (half.dtype, half.tolist()) == (np.float64, [0.5, 2, 4.5]), "double(const T &)"
    assert floats(np.absolute(-a)) == [1, 4, 9], "an explicit signature"
    quotient, rest = np.divmod(a, numbers(2, 2, 2))
    assert (floats(quotient), floats(rest)) == ([0, 2, 4], [1, 0, 1]), "std::pair"
    mantissa, exponent = np.frexp(a)
    assert (floats(mantissa), exponent.tolist()) == ([0.5, 0.5, 0.5625], [1, 3, 4]), "std::tuple"
    assert exponent.dtype == np.int32
    fraction, whole = np.modf(numbers(1.5, -2.25))
    assert (floats(fraction), floats(whole)) == ([0.5, -0.25], [1, -2]), "void(T &, T &, const T &)"
    assert floats(np.hypot(a, np.zeros(3, cpp_core.LazyNumber)))[0] == np.hypot(1, 1)
    assert floats(np.zeros(2, cpp_core.LazyNumber) * np.array([3, 4], np.int32)) == [3, 4]


def test_a_callable_that_writes_never_sees_its_output_among_its_inputs():
    expected = floats(np.hypot(numbers(3, 5), numbers(4, 12)))
    a = numbers(3, 5)
    np.hypot(a, numbers(4, 12), out=a)
    assert floats(a) == expected == [5, 13]
    b = numbers(4, 12)
    np.hypot(numbers(3, 5), b, out=b)
    assert floats(b) == expected
    c = numbers(1, 1, 1, 1)
    np.hypot(c, c, out=c)
    assert floats(c) == [np.sqrt(2)] * 4
    assert floats(np.hypot.reduce(numbers(2, 3, 6)[None, :], axis=1)) == [7]
    assert floats(np.hypot.accumulate(numbers(3, 4, 12))) == [3, 5, 13]


def test_a_callable_that_may_alias_writes_in_place():
    a = numbers(1, 2)
    constructed = denizen.stats()["cpp_core.HeapNumber"]["constructed"]
    live = cpp_core.live("HeapNumber")
    np.copysign(a, numbers(-1, 1), out=a)
    assert floats(a) == [-1, 2]
    gc.collect()
    assert cpp_core.live("HeapNumber") == live
    assert denizen.stats()["cpp_core.HeapNumber"]["constructed"] == constructed + 2, "the operand"


def test_a_live_output_keeps_its_object():
    a, out = numbers(4, 9), numbers(0, 0)
    constructed = denizen.stats()["cpp_core.HeapNumber"]["constructed"]
    np.sqrt(a, out=out)
    assert floats(out) == [2, 3]
    assert denizen.stats()["cpp_core.HeapNumber"]["constructed"] == constructed


def test_reductions_start_from_the_identity():
    a = numbers(1, 2, 3)
    assert float(np.sum(a)) == 6
    assert float(np.prod(a)) == 6
    assert float(np.sum(a[:0])) == 0
    assert float(np.prod(a[:0])) == 1
    assert floats(np.add.accumulate(a)) == [1, 3, 6]
    assert float(np.max(a)) == 3
    with pytest.raises(ValueError, match="identity"):
        np.maximum.reduce(a[:0])


def test_linear_algebra_from_plus_and_times():
    a = numbers(*range(6)).reshape(2, 3)
    b = numbers(*range(12)).reshape(3, 4)
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    assert floats(a @ b) == (x @ y).tolist()
    assert floats(a @ b[:, 0]) == (x @ y[:, 0]).tolist()
    assert floats(a[0] @ b) == (x[0] @ y).tolist()
    assert float(a[1] @ a[0]) == x[1] @ x[0]
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":  # before, np.dot refuses all new dtypes
        assert float(np.dot(a[1], a[0])) == x[1] @ x[0]
    assert floats(np.vecdot(a, a)) == [5, 50]
    assert floats(np.matvec(a, a)) == np.matvec(x, x).tolist()
    assert floats(np.vecmat(a[:1, :2], a)) == np.vecmat(x[:1, :2], x).tolist()
    assert floats(b.T[::-1] @ a.T) == (y.T[::-1] @ x.T).tolist()
    assert floats(a[:, :0] @ b[:0]) == [[0] * 4] * 2
    assert floats(np.zeros((2, 2), cpp_core.HeapNumber) @ a[:, :2]) == [[0, 0], [0, 0]]


def test_loops_of_thread_safe_types_run_without_the_gil():
    count = 1000  # NumPy keeps the GIL for few elements
    assert not np.isinf(numbers(*range(count))).any()
    assert np.isinf(np.zeros(count, cpp_core.LazyNumber)).all()


def test_loops_run_in_several_threads():
    a = numbers(*range(2000))
    expected = floats(a * a + a)
    results = {}

    def work(index):
        for _ in range(20):
            results[index] = a * a + a

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(floats(result) == expected for result in results.values())


# ---- exceptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (0, MemoryError, "out of memory"),
        (1, IndexError, "out"),
        (2, ValueError, "invalid"),
        (3, ValueError, "domain"),
        (4, ValueError, "length"),
        (5, ValueError, "range"),
        (6, OverflowError, "over"),
        (7, RuntimeError, "logic"),
        (8, RuntimeError, "unknown C++ exception"),
        (9, NotImplementedError, "not here"),
        (10, denizen.VacantError, "nobody home"),
        (11, LookupError, "mine"),
        (12, RuntimeError, "x" * 495),
        (13, SystemError, "a C++ function failed without a Python exception"),
    ],
)
def test_exceptions_of_a_guarded_function(number, kind, text):
    with pytest.raises(kind) as caught:
        cpp_core.throw(number)
    assert type(caught.value) is kind
    assert str(caught.value) == text


@pytest.mark.short
@pytest.mark.parametrize(
    ("function", "value", "kind", "text"),
    [
        (np.exp, 1000, OverflowError, "exp of a large number"),
        (np.log, -1, ValueError, "logarithm of a negative number"),
        (np.log, 0, RuntimeError, r"unknown C\+\+ exception"),
        (lambda a: 1 * a / 0 if 0 else a / numbers(1, 0, 1), 1, ZeroDivisionError, "by 0"),
    ],
)
def test_exceptions_of_a_loop_have_their_kind_and_text(function, value, kind, text):
    with pytest.raises(kind, match=text):
        function(numbers(1, value, 1))


@pytest.mark.parametrize("k", [0, 1, 7, 9])
def test_a_loop_that_throws_has_written_what_came_before(fuse, k):
    a, out = numbers(*range(10)), numbers(*[-1] * 10)
    fuse(k)
    with pytest.raises(RuntimeError, match="the fuse has burnt down"):
        np.add(a, a, out=out)
    fuse(-1)
    assert floats(out) == [2 * i for i in range(k)] + [-1] * (10 - k)
    assert floats(a) == list(range(10))


@pytest.mark.parametrize("k", [0, 1, 5, 17])
@pytest.mark.parametrize(
    "operation",
    [
        lambda a: a + a,
        lambda a: a.copy(),
        lambda a: np.concatenate([a, a]),
        lambda a: a[::-1].take(range(18)),
        lambda a: a.reshape(6, 3) @ a.reshape(3, 6),
        lambda a: np.add.reduce(a.reshape(1, -1), axis=1),
        lambda a: np.maximum(a, a),
        lambda a: np.full(18, 1.0, cpp_core.HeapNumber).__setitem__(slice(None), a),
        lambda a: np.argsort(a),
        lambda a: a < a,
    ],
    ids=range(10),
)
def test_nothing_is_lost_where_an_operation_throws(fuse, operation, k):
    a = numbers(*range(18))
    live = cpp_core.live("HeapNumber")
    fuse(min(k, 16))
    with pytest.raises(RuntimeError, match="the fuse has burnt down"):
        operation(a)
    fuse(-1)
    gc.collect()
    assert cpp_core.live("HeapNumber") == live
    assert floats(a) == list(range(18))


@pytest.mark.regression("T37", "pybind/pybind11#2764", "numpy/numpy#2067", "numpy/numpy#5719")
def test_a_destructor_that_throws_is_reported_and_the_rest_destroyed(monkeypatch):
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    a = integers(1, 13, 2, 13, 3, dtype=cpp_core.HotPotato)
    assert cpp_core.live("HotPotato") == 5
    del a
    gc.collect()
    assert cpp_core.live("HotPotato") == 0
    assert [str(report.exc_value) for report in reports] == ["the potato was hot"]
    reports.clear()


# ---- order ---------------------------------------------------------------------------------------


@pytest.mark.short
@pytest.mark.parametrize("count", [0, 1, 2, 11, 12, 13, 24, 25, 100, 1000])
def test_sort_is_stable_and_argsort_agrees(count):
    values = np.random.default_rng(count).integers(0, 20, count).astype(float)
    a = values.astype(cpp_core.HeapNumber)
    assert np.argsort(a, kind="stable").tolist() == np.argsort(values, kind="stable").tolist()
    a.sort()
    assert floats(a) == np.sort(values).tolist()
    b = values.astype(cpp_core.HeapNumber)[::-1]
    assert floats(np.sort(b)) == np.sort(values).tolist()
    c = np.repeat(values, 2).astype(cpp_core.HeapNumber)[::2]
    assert np.argsort(c, kind="stable").tolist() == np.argsort(values, kind="stable").tolist()
    sorted_already = np.sort(values).astype(cpp_core.HeapNumber)
    sorted_already.sort()
    assert floats(sorted_already) == np.sort(values).tolist()


@pytest.mark.parametrize("k", [0, 1, 30, 100, 200, 300, 450, 560])
def test_a_comparison_that_throws_leaves_a_permutation(fuse, k):
    values = np.random.default_rng(k).permutation(100).astype(float)
    a = values.astype(cpp_core.HeapNumber)
    fuse(k)
    with pytest.raises(RuntimeError, match="the fuse has burnt down"):
        a.sort()
    fuse(-1)
    assert sorted(floats(a)) == list(range(100))


@pytest.mark.parametrize("count", [0, 1, 2, 12, 13, 100, 1000])
def test_sort_keys_leave_equal_keys_to_the_comparison(count, fuse):
    values = np.random.default_rng(count).integers(-40, 40, count)
    a = values.astype(cpp_core.Anchored)
    assert np.argsort(a).tolist() == np.argsort(values, kind="stable").tolist()
    assert np.argsort(a[::-2]).tolist() == np.argsort(values[::-2], kind="stable").tolist()
    # Of a hundred values many have equal keys.
    for k in range(0, count // 4 if count >= 100 else 0, 7):
        fuse(k)
        with pytest.raises(RuntimeError, match="the fuse has burnt down"):
            a.sort()
        assert a.astype(int).tolist() == values.tolist(), "nothing has moved"
        with pytest.raises(RuntimeError, match="the fuse has burnt down"):
            fuse(k)
            np.argsort(a)
    fuse(-1)
    a.sort()
    assert a.astype(int).tolist() == np.sort(values).tolist()


def test_nan_compares_false_and_sorts_last():
    nan = float("nan")
    values = np.array([2, nan, 1, nan, 3, *range(50)])
    a = values.astype(cpp_core.HeapNumber)
    assert np.argsort(a, kind="stable").tolist() == np.argsort(values, kind="stable").tolist()
    for comparison in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal):
        assert comparison(a, a[::-1]).tolist() == comparison(values, values[::-1]).tolist()
    assert np.not_equal(a, a).tolist() == np.not_equal(values, values).tolist()
    for choice in (np.maximum, np.minimum, np.fmax, np.fmin):
        found = choice(a, a[::-1]).astype(float, casting="unsafe")
        np.testing.assert_array_equal(found, choice(values, values[::-1]))
    a.sort()
    assert np.isnan(a.astype(float, casting="unsafe")).tolist() == [False] * 53 + [True] * 2


def test_a_three_way_comparison_gives_the_order():
    a = np.array([2, np.nan, 1, 3, np.nan]).astype(cpp_core.Number)
    assert floats(np.sort(a))[:3] == [3, 2, 1], "from large to small, as the comparison says"
    assert np.isnan(floats(np.sort(a))[3:]).all()
    assert (a < a[::-1]).tolist() == [False, False, False, False, False], "as ordering() says"
    b = integers(3, 1, 2, dtype=cpp_core.Anchored)
    assert (b < b[::-1]).tolist() == [False, False, True]
    assert (b >= b[::-1]).tolist() == [True, True, False]
    assert np.maximum(b, b[::-1]).astype(int).tolist() == [3, 1, 3]
    assert np.argsort(b).tolist() == [1, 2, 0]


# ---- casts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", "bBhHiIlLqQefdg")
def test_casts_both_ways_of_every_real_type(code):
    values = np.array([0, 1, 5, 100], dtype=code)
    a = values.astype(cpp_core.Number)
    assert floats(a) == [0, 1, 5, 100]
    back = a.astype(code, casting="unsafe")
    assert (back.dtype, back.tolist()) == (values.dtype, values.tolist())


@pytest.mark.parametrize("code", "FDG")
def test_casts_to_complex(code):
    a = np.array([1.5, -2]).astype(cpp_core.Number)
    assert a.astype(code, casting="unsafe").tolist() == [1.5, -2]


def test_casts_of_bool():
    truth = np.array([0, 0.25, -3]).astype(cpp_core.Number).astype(bool)
    assert truth.tolist() == [False, True, True]
    assert floats(np.array([True, False]).astype(cpp_core.Number)) == [1, 0]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("b", 128), ("b", -129), ("B", 256), ("B", -1), ("h", 1e5), ("H", -1), ("i", 2.0**31),
        ("I", 2.0**32), ("l", 2.0**63), ("l", -(2.0**64)), ("L", 2.0**64), ("L", -1), ("l", 1e300),
        ("i", float("inf")), ("b", float("-inf")),
    ],
)  # fmt: skip
def test_a_number_that_does_not_fit_is_an_overflow_error(code, value):
    a = np.array([1, value]).astype(cpp_core.Number)
    with pytest.raises(OverflowError, match="out of range"):
        a.astype(code, casting="unsafe")


@pytest.mark.parametrize(
    ("code", "value"),
    [("b", 127), ("b", -128), ("B", 255.5), ("l", -(2.0**63)), ("L", 2.0**64 - 2048), ("B", -0.5)],
)
def test_the_largest_numbers_fit(code, value):
    a = np.array([value]).astype(cpp_core.Number)
    assert a.astype(code, casting="unsafe").tolist() == [int(value)]


def test_nan_is_no_integer():
    a = np.array([np.nan]).astype(cpp_core.Number)
    for dtype in (cpp_core.Number, cpp_core.HeapNumber):
        with pytest.raises(ValueError, match="NaN cannot be converted to an integer"):
            np.array([np.nan]).astype(dtype).astype(np.int64, casting="unsafe")
    assert np.isnan(a.astype(np.float32, casting="unsafe")).all()


def test_casting_levels_are_those_that_were_said():
    number, lazy = np.dtype(cpp_core.Number), np.dtype(cpp_core.LazyNumber)
    for code in "?bBhHiIfd":
        assert np.can_cast(code, number, "safe"), code
    for code in "lLqQg":
        assert not np.can_cast(code, number, "safe"), f"{code}: a double holds less"
        assert np.can_cast(code, number, "same_kind"), code
    assert not np.can_cast(number, "d", "same_kind")
    assert np.can_cast("d", lazy, "safe")
    assert np.can_cast(lazy, "d", "same_kind")
    assert not np.can_cast(lazy, "d", "safe")
    assert np.can_cast(lazy, "g", "safe")
    assert not np.can_cast("F", lazy, "same_kind")


def test_casts_between_element_types():
    a = numbers(1, 2, 3)
    lazy = a.astype(cpp_core.LazyNumber)
    assert floats(lazy) == [1, 2, 3]
    assert floats(lazy.astype(cpp_core.HeapNumber, casting="safe")) == [1, 2, 3]
    z = np.array([1 + 2j, 3], np.complex64)
    assert floats(z.astype(cpp_core.LazyNumber, casting="unsafe")) == [1, 3]
    assert lazy.astype(complex).tolist() == [1 + 1j, 2 + 1j, 3 + 1j]


def test_functions_of_floats_are_opted_into():
    lazy = numbers(1, 4, 9).astype(cpp_core.LazyNumber)
    for result in (np.sqrt(lazy), np.float_power(lazy, 0.5)):
        assert result.dtype == np.float64 and result.tolist() == [1, 2, 3]
    assert np.sqrt(lazy, dtype=np.float32).dtype == np.float32
    assert np.arctan2(lazy, np.longdouble(2)).dtype == np.longdouble
    mantissa, exponent = np.frexp(lazy)
    assert (mantissa * 2.0**exponent).tolist() == [1, 4, 9]
    assert np.ldexp(lazy, 2).tolist() == [4, 16, 36]
    # The type's own comes before.
    assert floats(np.logaddexp(lazy, lazy)) == [2, 8, 18]
    assert np.logaddexp(lazy, lazy).dtype == lazy.dtype
    # Who does not opt in keeps what is more than a number.
    with pytest.raises(TypeError, match=r"cpp_core\.HeapNumber has no operation 'cbrt'"):
        np.cbrt(lazy.astype(cpp_core.HeapNumber))
