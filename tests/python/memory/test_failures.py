"""Element operations that panic at every place where they can, in every operation of NumPy's.

`Bomb` panics at the k-th next call of one of its own functions. For each operation of NumPy's and
each function, k runs from 0 until the operation no longer reaches it. Each time: a Python exception
(for a destructor, at least a report), as many objects alive as before, by the runtime's ledger and
by the type's own, and arrays that hold what they held and are usable.
"""

import gc

import denizen_raw as raw
import numpy as np
import pytest
from support.kinds import KINDS
from support.operations import OPERATIONS, REORDERS, SOURCE, N

import denizen

FUNCTIONS = [
    "default", "clone", "assign", "add", "compare", "equal", "parse", "display", "cast",
]  # fmt: skip
#: More calls of one function than any operation here makes.
ENDLESS = 2000


@pytest.fixture(params=["Bomb", "BoxedBomb", "InlineBomb"])
def kind(request):
    yield KINDS[request.param]
    for function in [*FUNCTIONS, "drop"]:
        raw.set_fuse(function, -1)


def numbers(array):
    return array.astype(np.int64).ravel().tolist()


def bombs(kind, values):
    return np.array(values).astype(kind.element)


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


@pytest.mark.regression("T36", "llvm/llvm-project#61718", "dtolnay/cxx#570")
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
            assert error is not None, (function, k)
            assert f"the fuse of {function} blew" in str(error), (function, k, error)
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
@pytest.mark.regression("T37", "pybind/pybind11#2764", "numpy/numpy#2067", "numpy/numpy#5719")
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


@pytest.mark.parametrize("function", ["assign", "clone", "add"])
def test_a_failure_while_a_copy_is_written_back_is_the_exception_of_ufunc_at(kind, function):
    before = live(kind)
    for k in range(ENDLESS):
        a = bombs(kind, SOURCE)
        raw.set_fuse(function, k)
        error = None
        try:
            np.add.at(a, [0, 1, 0], a[1:4])
        except Exception as caught:
            error = caught
        if raw.set_fuse(function, -1) >= 0:
            break
        assert type(error) is RuntimeError and f"the fuse of {function} blew" in str(error)
        assert len(numbers(a + a)) == N
    assert k > 2 and error is None
    del a
    assert live(kind) == before
