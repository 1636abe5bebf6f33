"""Element operations that panic at every place where they can, in every operation of NumPy's.

`Bomb` panics at the k-th next call of one of its own functions. For each operation of NumPy's and
each function, k runs from 0 until the operation no longer reaches it. Each time: a Python exception
(for a destructor, at least a report), as many objects alive as before, by the runtime's books and
by the type's own, and arrays that hold what they held and are usable.
"""

import gc
import pickle
import warnings

import denizen_raw as raw
import numpy as np
import pytest
from kinds import KINDS

import denizen

FUNCTIONS = [
    "default", "clone", "assign", "add", "compare", "equal", "parse", "display", "cast",
]  # fmt: skip
#: More calls of one function than any operation here makes.
ENDLESS = 2000

N = 10
SOURCE = [5, -3, 17, 2, 40, 11, -8, 9, 1, 6]
MASK = np.arange(N) % 3 != 0


@pytest.fixture(params=["Bomb", "BoxedBomb", "InlineBomb"])
def kind(request):
    yield KINDS[request.param]
    for function in [*FUNCTIONS, "drop"]:
        raw.set_fuse(function, -1)


def numbers(array):
    return array.astype(np.int64).ravel().tolist()


def bombs(kind, values):
    return np.array(values).astype(kind.element)


def buffered(a, b):
    """A buffered iteration that casts both ways."""
    iterator = np.nditer(
        [np.arange(N), a],
        flags=["buffered", "refs_ok", "external_loop"],
        op_flags=[["readonly"], ["readwrite"]],
        op_dtypes=[a.dtype, np.dtype(np.int64)],
        casting="unsafe",
        buffersize=4,
    )
    with iterator:
        for source, target in iterator:
            target[...] += 1
            source.copy()


def small_buffers(operation):
    old = np.setbufsize(16)
    try:
        return operation()
    finally:
        np.setbufsize(old)


def resize(a, size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        a.resize(size, refcheck=False)


#: Each gets a full array `a`, another one `b`, and a half-built one `h`, all fresh.
OPERATIONS = {
    "copy": lambda a, b, h: a.copy(),
    "copy of a half-built array": lambda a, b, h: h.copy(),
    "fill": lambda a, b, h: a.fill(b[3]),
    "fill of a half-built array": lambda a, b, h: h.fill(b[3]),
    "np.full": lambda a, b, h: np.full(N, b[3], dtype=a.dtype),
    "setitem": lambda a, b, h: a.__setitem__(slice(None), b),
    "setitem in a half-built array": lambda a, b, h: h.__setitem__(slice(None), b),
    "setitem of a scalar": lambda a, b, h: a.__setitem__(3, b[4]),
    "setitem of texts": lambda a, b, h: h.__setitem__(slice(None), [str(x) for x in SOURCE]),
    "setitem of numbers": lambda a, b, h: h.__setitem__(slice(None), np.arange(N)),
    "setitem that overlaps": lambda a, b, h: a.__setitem__(slice(1, None), a[:-1]),
    "fancy get": lambda a, b, h: a[[3, 1, 1, 9]],
    "fancy get 2-d": lambda a, b, h: a.reshape(2, 5)[[1, 0], [2, 2]],
    "fancy set": lambda a, b, h: h.__setitem__([3, 1, 8, 9], b[:4]),
    "mask get": lambda a, b, h: a[MASK],
    "mask set": lambda a, b, h: h.__setitem__(MASK, b[MASK]),
    "take": lambda a, b, h: a.take([0, 3, 3, 5]),
    "take with an output": lambda a, b, h: b.take([0, 3, 3, 5], out=h[2:6], mode="clip"),
    "put": lambda a, b, h: np.put(h, [1, 2, 3], b[:3]),
    "putmask": lambda a, b, h: np.putmask(h, MASK, b),
    "place": lambda a, b, h: np.place(h, MASK, b[:3]),
    "copyto": lambda a, b, h: np.copyto(h, b, where=MASK),
    "choose": lambda a, b, h: np.choose(MASK.astype(int), [a, b]),
    "where": lambda a, b, h: np.where(MASK, a, b),
    "repeat": lambda a, b, h: a.repeat(2),
    "tile": lambda a, b, h: np.tile(a, 2),
    "concatenate": lambda a, b, h: np.concatenate([a, h, b]),
    "delete": lambda a, b, h: np.delete(a, [1, 5]),
    "insert": lambda a, b, h: np.insert(a, 2, b[:2]),
    "roll": lambda a, b, h: np.roll(a, 3),
    "flat get": lambda a, b, h: a.flat[2:7],
    "flat set": lambda a, b, h: h.flat.__setitem__(slice(1, 8), b[:7]),
    "flat assignment": lambda a, b, h: setattr(h, "flat", b[:3]),
    "resize to more": lambda a, b, h: resize(a, 3 * N),
    "resize to fewer": lambda a, b, h: resize(a, 3),
    "np.resize": lambda a, b, h: np.resize(a, 15),
    "add": lambda a, b, h: a + b,
    "add with vacant cells": lambda a, b, h: a + h,
    "add in place": lambda a, b, h: np.add(a, b, out=a),
    "add with an output": lambda a, b, h: np.add(a, b, out=h),
    "add reversed": lambda a, b, h: np.add(a, b[::-1], out=h[::-1]),
    "add where": lambda a, b, h: np.add(a, b, out=h, where=MASK),
    "add of numbers": lambda a, b, h: a + np.arange(N),
    "add in small buffers": lambda a, b, h: small_buffers(lambda: np.add(a, np.arange(N))),
    "add of 2-d": lambda a, b, h: a.reshape(2, 5).T + b.reshape(5, 2),
    "add.at": lambda a, b, h: np.add.at(a, [0, 0, 3], b[:3]),
    "add.outer": lambda a, b, h: np.add.outer(a[:3], b[:3]),
    "sum": lambda a, b, h: a.sum(),
    "sum of rows": lambda a, b, h: a.reshape(2, 5).sum(axis=0),
    "sum of a half-built array": lambda a, b, h: h.sum(),
    "cumsum": lambda a, b, h: np.cumsum(a),
    "accumulate in place": lambda a, b, h: np.add.accumulate(a, out=a),
    "less": lambda a, b, h: a < b,
    "equal": lambda a, b, h: a == b,
    "sort": lambda a, b, h: a.sort(),
    "sort of a half-built array": lambda a, b, h: h.sort(),
    "sort of columns": lambda a, b, h: a.reshape(5, 2).sort(axis=0),
    "argsort": lambda a, b, h: a.argsort(),
    "unique": lambda a, b, h: np.unique(a),
    "argmax": lambda a, b, h: a.argmax(),
    "max": lambda a, b, h: a.max(),
    "searchsorted": lambda a, b, h: a.searchsorted(b[3]),
    "np.array of texts": lambda a, b, h: np.array([str(x) for x in SOURCE], dtype=a.dtype),
    "np.array of scalars": lambda a, b, h: np.array([a[0], b[1], a[2]], dtype=a.dtype),
    "np.array of numbers": lambda a, b, h: np.array(SOURCE, dtype=a.dtype),
    "fromiter": lambda a, b, h: np.fromiter(map(str, SOURCE), dtype=a.dtype),
    "astype to numbers": lambda a, b, h: a.astype(np.int64),
    "astype of a half-built array": lambda a, b, h: h.astype(np.int64),
    "astype from numbers": lambda a, b, h: np.arange(N).astype(a.dtype),
    "astype to text": lambda a, b, h: a.astype("U5"),
    "astype from text": lambda a, b, h: np.array([str(x) for x in SOURCE]).astype(a.dtype),
    "astype to objects": lambda a, b, h: a.astype(object),
    "astype from objects": lambda a, b, h: a.astype(object).astype(a.dtype),
    "buffered iteration": lambda a, b, h: buffered(a, b),
    "tolist": lambda a, b, h: h.tolist(),
    "repr": lambda a, b, h: repr(a),
    "pickle": lambda a, b, h: pickle.loads(pickle.dumps(a)),
    "shuffle": lambda a, b, h: np.random.default_rng(1).shuffle(a),
    "records": lambda a, b, h: record(a),
}


def record(a):
    packed = np.zeros(N, dtype=[("pad", "u1"), ("x", a.dtype)])
    packed["x"] = a
    packed[::2] = packed[1::2].copy()
    return packed["x"] + a


#: Operations that move what is in `a` around, so that a failure may leave any order.
REORDERS = {"sort", "sort of columns", "shuffle"}


class Arrays:
    """The operands of one try, with what they hold."""

    def __init__(self, kind):
        self.a = bombs(kind, SOURCE)
        self.b = bombs(kind, SOURCE[::-1])
        self.h = np.empty(N, dtype=kind.element)
        self.h[::2] = self.a[::2]

    def run(self, operation):
        return OPERATIONS[operation](self.a, self.b, self.h)

    def check(self):
        """Everything can still be read, computed with, assigned and counted."""
        for array in (self.a, self.b, self.h):
            assert numbers(array + array) == [2 * x for x in numbers(array)]
            inspection = denizen.inspect(array)
            assert inspection.live == sum(inspection.bitmap)
        assert numbers(self.b) == SOURCE[::-1]
        self.a[:] = self.a[::-1].copy()
        self.h[:] = self.a[:1]


def live(kind):
    return raw.bombs()[2], kind.stats()["live"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_failure_at_any_element_is_an_exception_and_nothing_is_lost(kind, operation):
    before = live(kind)
    # It works at all.
    arrays = Arrays(kind)
    arrays.run(operation)
    arrays.check()
    arrays = None
    assert live(kind) == before
    for function in FUNCTIONS:
        for k in range(ENDLESS):
            arrays = Arrays(kind)
            raw.set_fuse(function, k)
            error = None
            try:
                arrays.run(operation)
            except Exception as caught:
                error = caught
            if raw.set_fuse(function, -1) >= 0:
                assert error is None
                break
            # NumPy wraps what a comparison slot raised in a SystemError of its own.
            assert error is not None, (function, k)
            text = f"{error} {error.__cause__}"
            assert f"the fuse of {function} blew" in text, (function, k, text)
            del error
            # A strided axis is sorted in a buffer: copying it back may end half-way.
            if operation in REORDERS and function != "assign":
                assert sorted(numbers(arrays.a)) == sorted(SOURCE)
            arrays.check()
            arrays = None
            assert live(kind) == before, (function, k)
        else:
            pytest.fail(f"{operation} calls {function} without end")
    arrays = None
    assert live(kind) == before


# The destructor's report may come as an exception of the operation or as an unraisable one.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_failing_destructor_is_reported_and_loses_no_object(kind, operation, monkeypatch):
    reports = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reports.append(str(report.exc_value)))
    before = live(kind)
    for k in range(ENDLESS):
        arrays = Arrays(kind)
        raw.set_fuse("drop", k)
        result = error = None
        try:
            result = arrays.run(operation)
        except Exception as caught:
            error = f"{caught} {caught.__cause__}"
        del result
        if raw.set_fuse("drop", -1) >= 0:
            assert error is None and not reports
            break
        assert "the fuse of drop blew" in "".join([error or "", *reports]), k
        reports.clear()
        arrays.check()
        del arrays
        assert live(kind) == before, k
    else:
        pytest.fail(f"{operation} destroys without end")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("k", range(N))
def test_a_destructor_that_fails_while_an_array_dies_is_reported(kind, k, monkeypatch):
    reports = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reports.append(str(report.exc_value)))
    before = live(kind)
    arrays = Arrays(kind)
    raw.set_fuse("drop", k)
    del arrays.a
    gc.collect()
    assert raw.set_fuse("drop", -1) < 0
    assert reports and all("the fuse of drop blew" in report for report in reports)
    del arrays
    assert live(kind) == before


@pytest.mark.parametrize("k", range(N))
def test_cells_before_a_failure_are_done_and_cells_after_it_are_untouched(kind, k):
    def fails(function, work):
        raw.set_fuse(function, k)
        with pytest.raises(RuntimeError, match=f"the fuse of {function} blew"):
            work()

    zeros = [0] * N

    arrays = Arrays(kind)
    fails("add", lambda: np.add(arrays.a, arrays.b, out=arrays.a))
    added = [x + y for x, y in zip(SOURCE, SOURCE[::-1], strict=True)]
    assert numbers(arrays.a) == added[:k] + SOURCE[k:]

    fresh = np.empty(N, dtype=kind.element)
    fails("add", lambda: np.add(arrays.b, arrays.b, out=fresh))
    assert numbers(fresh) == [2 * x for x in SOURCE[::-1]][:k] + zeros[k:]
    assert denizen.inspect(fresh).live == k

    fresh = np.empty(N, dtype=kind.element)
    fails("clone", lambda: fresh.__setitem__(slice(None), arrays.b))
    assert numbers(fresh) == SOURCE[::-1][:k] + zeros[k:]
    assert denizen.inspect(fresh).live == k

    full = arrays.b.copy()
    fails("assign", lambda: np.copyto(full, arrays.b[::-1]))
    assert numbers(full) == SOURCE[:k] + SOURCE[::-1][k:]

    fresh = np.empty(N, dtype=kind.element)
    fails("cast", lambda: np.copyto(fresh, np.arange(1, N + 1)))
    assert numbers(fresh) == list(range(1, N + 1))[:k] + zeros[k:]

    fresh = np.empty(N, dtype=kind.element)
    fails("parse", lambda: fresh.__setitem__(slice(None), [str(x) for x in SOURCE]))
    assert numbers(fresh) == SOURCE[:k] + zeros[k:]

    out = np.full(N, -1)
    fails("cast", lambda: np.copyto(out, arrays.b, casting="unsafe"))
    assert out.tolist() == SOURCE[::-1][:k] + [-1] * (N - k)
