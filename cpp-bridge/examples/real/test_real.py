"""`real`: precision, sums and products, and what arrays of them do."""

import contextlib
import copy
import io
import operator
import pickle
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from real_numbers import NAN, R, at, check_all, gmpy2, numbers, real, same, to_gmpy2

import denizen

# ---- precision -----------------------------------------------------------------------------------


def test_the_precision_of_a_result_is_that_of_its_most_precise_operand():
    x = real.make("1", 113)
    assert real.precision(x / 3) == 113
    assert real.precision(3 / x) == 113
    assert real.precision(x + np.float64(1)) == 113
    assert real.precision(np.float32(1) + R(1)) == 53
    assert real.precision(R(1) + 2**60) == 53
    assert real.precision(R(1) + (2**60 + 1)) == 64
    assert real.precision(real.make("1", 10) + 1.0) == 53
    a = np.array([real.make("1", p) for p in (20, 80, 300)], dtype=R)
    assert real.precision(a + a[::-1]).tolist() == [300, 80, 300]
    assert real.precision(a.sum()) == 300
    assert real.precision(a).dtype == np.int64


def test_precision_is_set_for_arrays_of_any_shape():
    a = np.arange(6).reshape(2, 3).astype(R) / 7
    for bits in (2, 24, 53, 54, 1000):
        b = real.with_precision(a.T, bits)
        assert b.shape == (3, 2) and (real.precision(b) == bits).all()
        for x, y in zip(b.flat, a.T.flat, strict=True):
            with at(bits):
                assert same(x, gmpy2.mpfr(to_gmpy2(y), bits))
    assert real.with_precision(a[0, 1], 3) == 0.15625
    assert isinstance(real.make("0.1", 200), R)
    assert real.precision(real.make([[1, 2.5], [3, "4"]], 77)).tolist() == [[77, 77], [77, 77]]
    assert real.make([], 60).shape == (0,)
    for bad in (0, -1, 2**31):
        with pytest.raises(ValueError, match="precision"):
            real.make("1", bad)
        with pytest.raises(ValueError, match="precision"):
            real.with_precision(a, bad)
    with pytest.raises(TypeError, match="float64"):
        real.precision(np.zeros(2))


# ---- sums and products ---------------------------------------------------------------------------


def test_reductions_add_from_left_to_right():
    ours, theirs = numbers(random.Random(40), 60, -10, 10)
    keep = [i for i, x in enumerate(theirs) if gmpy2.is_finite(x)]
    a, values = ours[keep], [theirs[i] for i in keep]
    for ufunc, operation in ((np.add, operator.add), (np.multiply, operator.mul)):
        total, steps = values[0], [values[0]]
        for x in values[1:]:
            with at(max(total.precision, x.precision)):
                total = operation(total, x)
            steps.append(total)
        check_all(ufunc.accumulate(a), steps, lambda i: [values[i]])
        assert real.precision(ufunc.reduce(a)) == total.precision
        if ufunc is np.multiply:
            assert same(a.prod(), total)
    assert np.zeros(0, dtype=R).sum() == 0 and np.zeros(0, dtype=R).prod() == 1
    b = np.arange(24).reshape(2, 3, 4).astype(R)
    for axis in (None, 0, 1, 2, (0, 2)):
        expected = np.arange(24).reshape(2, 3, 4).sum(axis)
        np.testing.assert_array_equal(np.asarray(b.sum(axis)).astype(int), expected)
    assert np.arange(5).astype(R).mean() == 2
    assert b[::-1, ::2].sum(where=b[::-1, ::2] > 10) == sum(
        x for x in (b[::-1, ::2]).flat if x > 10
    )


def test_products_of_matrices_add_products_without_rounding_them():
    rng = np.random.default_rng(50)
    x, y = rng.integers(-9, 9, (4, 5)), rng.integers(-9, 9, (5, 3))
    a, b = x.astype(R), y.astype(R)
    np.testing.assert_array_equal((a @ b).astype(int), x @ y)
    np.testing.assert_array_equal(np.matvec(a, b[:, 0]).astype(int), x @ y[:, 0])
    np.testing.assert_array_equal(np.vecmat(b[:, 0], b).astype(int), y[:, 0] @ y)
    np.testing.assert_array_equal(np.vecdot(a, a).astype(int), (x * x).sum(1))
    np.testing.assert_array_equal((a @ b.T[::-1].T).astype(int), x @ y.T[::-1].T)
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        # Before, NumPy refuses every new dtype in dot.
        np.testing.assert_array_equal(np.dot(a, b[:, 1]).astype(int), x @ y[:, 1])
    assert (np.zeros((2, 0), R) @ np.zeros((0, 2), R)).astype(int).tolist() == [[0, 0], [0, 0]]
    # 1 / 3 * 3 - 1 is not 0 where the product is not rounded.
    third = R(1) / 3
    u = np.array([R(-1), third], dtype=R)
    v = np.array([R(1), R(3)], dtype=R)
    with at(53):
        exact = gmpy2.fma(to_gmpy2(third), gmpy2.mpfr(3), gmpy2.mpfr(-1))
    assert exact != 0
    assert same(np.vecdot(u, v), exact) and same(u @ v, exact)


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Custom dtypes are saved as python objects")
def test_pickles_keep_value_and_precision():
    ours, theirs = numbers(random.Random(60), 100, -500, 500)
    for protocol in range(6):
        again = pickle.loads(pickle.dumps(ours.reshape(3, -1), protocol))
        check_all(again.ravel(), theirs, lambda i: [theirs[i]])
    check_all(copy.deepcopy(ours), theirs, lambda i: [theirs[i]])
    scalar = pickle.loads(pickle.dumps(ours[0]))
    assert same(scalar, theirs[0])
    file = io.BytesIO()
    np.save(file, ours, allow_pickle=True)
    file.seek(0)
    check_all(np.load(file, allow_pickle=True), theirs, lambda i: [theirs[i]])


def test_damaged_pickles_are_refused_or_give_numbers():
    a = np.array([real.make("1.5", 100), R(NAN), R(0)], dtype=R)
    data = pickle.dumps(a)
    rng = random.Random(61)
    outcomes = set()
    for _ in range(400):
        damaged = bytearray(data)
        damaged[rng.randrange(len(damaged) // 2, len(damaged))] ^= 1 << rng.randrange(8)
        with contextlib.suppress(Exception):
            outcomes.add(str(pickle.loads(bytes(damaged))))
    assert outcomes


def test_writing_into_parts_and_where():
    a = np.arange(6).astype(R)
    out = np.full(6, R(-1))
    np.add(a, a, out=out, where=a > 2)
    assert out.tolist() == [-1, -1, -1, 6, 8, 10]
    np.add.at(a, [0, 0, 5], np.array([1, 2, 3], dtype=R))
    assert a.tolist() == [3, 1, 2, 3, 4, 8]
    np.negative.at(a, [1, 1, 2])
    assert a.tolist() == [3, 1, -2, 3, 4, 8]
    a[1:] += a[:-1].copy()
    assert a.tolist() == [3, 4, -1, 1, 7, 12]
    a[::2] = [0.5, "7", 2]
    assert a.tolist() == [0.5, 4, 7, 1, 2, 12]
    with pytest.raises(TypeError):
        a[0] = object()
    with pytest.raises(TypeError):
        a[0] = None
    assert a[0] == 0.5


def test_growing_and_shrinking_arrays():
    a = np.arange(5).astype(R) / 3
    values = [str(x) for x in a]
    a.resize(20, refcheck=False)
    assert [str(x) for x in a[:5]] == values and (a[5:] == 0).all()
    a[10:] = R("2.5")
    a.resize(3, refcheck=False)
    assert [str(x) for x in a] == values[:3]
    b = np.concatenate([a, a[::-1], np.zeros(2, R)])
    assert b.shape == (8,) and b[3] == a[2]
    assert np.take(b, [7, 0, 3]).tolist() == [0, a[0], a[2]]
    assert np.where(b > 0, b, -1).dtype == np.dtype(R)
    assert np.fromiter((R(i) for i in range(50)), dtype=R).sum() == 1225


def test_cells_that_nothing_was_written_to_are_zero_at_default_precision():
    a = np.empty((2, 2), dtype=R)
    assert (a == 0).all() and (real.precision(a) == 53).all()
    before = denizen.stats()["real.real"]["constructed"]
    b = np.zeros(1000, dtype=R)
    assert denizen.stats()["real.real"]["constructed"] == before
    assert (b + 1).sum() == 1000


def test_objects_are_counted_and_their_heap_is_known():
    before = denizen.stats()["real.real"]
    a = real.make(np.arange(100) + 0.5, 640)
    assert denizen.stats()["real.real"]["live"] - before["live"] == 100
    assert "8,000 bytes" in str(denizen.inspect(a))
    del a
    after = denizen.stats()["real.real"]
    assert after["live"] == before["live"]
    built = after["constructed"] - before["constructed"]
    assert built == after["destroyed"] - before["destroyed"] >= 100


def test_buffered_operations_of_many_elements_are_right():
    count = 20001
    x = np.arange(count)
    a = x.astype(R)
    np.testing.assert_array_equal((a + x).astype(int), 2 * x)
    np.testing.assert_array_equal(
        (x.astype(np.float32) * a[::-1]).astype(float), x * (count - 1.0 - x)
    )
    assert a.sum() == x.sum()
    assert (a * 0.5).sum() == x.sum() / 2
    np.testing.assert_array_equal(a.astype("S10").astype(R).astype(int), x)


def test_functions_run_in_many_threads_at_once():
    a = real.make(np.arange(1, 2001) / 7, 113)
    expected = [str(v) for v in (np.exp(np.sin(a)) + np.sqrt(a) ** 3)]

    def work(_):
        b = np.exp(np.sin(a)) + np.sqrt(a) ** 3
        b.sort()
        return sorted(str(v) for v in b)

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(work, range(8)):
            assert result == sorted(expected)


@pytest.mark.short
def test_a_short_life():
    a = real.make([3.5, "nan", -1], 113)
    b = np.sort(a * a - 1)
    assert b[0] == 0 and b[1] == 11.25 and np.isnan(b[2])
    assert b.astype(np.longdouble)[1] == 11.25
    assert str(pickle.loads(pickle.dumps(b))) == str(b)
    b.resize(7, refcheck=False)
    assert b[6] == 0
    with pytest.raises(ValueError):
        b[0] = "x"
    assert (a[[0, 2]] @ a[[0, 2]]) == 13.25


def test_the_class_alone_keeps_its_promises():
    program = Path(real.__file__).with_name("check_real")
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
