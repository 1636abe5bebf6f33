"""C++ objects that throw at every place where they can, in every operation of NumPy's and of the
C++ header.

Each spot (a constructor, a copy, a comparison, ..) throws at its k-th call, k from 0 until the
operation ends without. Each time: the exception of C++ in Python, as many objects as before by
both counts, and arrays that hold what they held.
"""

import gc
import operator
import pickle

import cpp_kinds
import cpp_types
import numpy as np
import pytest
from cpp_kinds import BAD_ENDS, THROWERS, array, element, live, numbers
from support.operations import OPERATIONS, REORDERS, SOURCE, N

import denizen

FUNCTIONS = [
    "make", "value", "copy", "move", "assign", "add", "compare", "equal", "parse", "text", "cast",
    "save", "load",
]  # fmt: skip
ENDLESS = 2000

#: Beside those of NumPy: what the C++ header does with arrays. Each gets the name of the type too.
CPP_OPERATIONS = {
    "view": lambda name, a, b, h: cpp_types.read(name, a),
    "view of a half-built array": lambda name, a, b, h: cpp_types.read(name, h),
    "view that writes": lambda name, a, b, h: cpp_types.raise_by(name, h, 1),
    "take of a vector": lambda name, a, b, h: cpp_types.take(name, SOURCE),
    "adopt": lambda name, a, b, h: (
        cpp_types.adopt(name, SOURCE) if name in cpp_kinds.ADOPTABLE else None
    ),
    "multiply": lambda name, a, b, h: a * b,
    "matmul": lambda name, a, b, h: a.reshape(2, 5) @ b.reshape(5, 2),
    "product": lambda name, a, b, h: a.prod(),
    "setitem of Python numbers": lambda name, a, b, h: h.__setitem__(slice(None), SOURCE),
    "append": lambda name, a, b, h: np.append(a, b[:2]),
    "lexsort": lambda name, a, b, h: np.argsort(a, kind="stable"),
    "partition": lambda name, a, b, h: np.partition(a.copy(), 3),
    "unpickle": lambda name, a, b, h: pickle.loads(pickle.dumps(a[::2])),
}
ALL_OPERATIONS = {
    **{key: lambda name, a, b, h, f=f: f(a, b, h) for key, f in OPERATIONS.items()},
    **CPP_OPERATIONS,
}


class Arrays:
    """The operands of one try, with what they hold."""

    def __init__(self, name):
        self.name = name
        self.a, self.b = array(name, SOURCE), array(name, SOURCE[::-1])
        self.h = np.empty(N, dtype=element(name))
        self.h[::2] = self.a[::2]

    def run(self, operation):
        return ALL_OPERATIONS[operation](self.name, self.a, self.b, self.h)

    def check(self):
        """Everything can still be read, computed with, assigned and counted."""
        for each in (self.a, self.b, self.h):
            assert numbers(each + each) == [2 * x for x in numbers(each)]
            inspection = denizen.inspect(each)
            assert inspection.live == sum(inspection.bitmap)
        assert numbers(self.b) == SOURCE[::-1]
        self.a[:] = self.a[::-1].copy()
        self.h[:] = self.a[:1]


@pytest.fixture(autouse=True)
def fuses():
    yield
    cpp_kinds.defuse()


@pytest.fixture(params=THROWERS)
def name(request):
    return request.param


def every_failure(name, operation, functions, as_int=False):
    """How often the operation failed."""
    text = "unknown C++ exception" if as_int else "the fuse of {} blew"
    before = live(name)
    failures = 0
    for function in functions:
        for k in range(ENDLESS):
            arrays = Arrays(name)
            cpp_types.set_fuse(function, k, as_int)
            error = None
            try:
                arrays.run(operation)
            except Exception as caught:
                error = caught
            if cpp_types.set_fuse(function, -1) >= 0:
                assert error is None, (function, k)
                break
            failures += 1
            assert error is not None, (function, k)
            assert text.format(function) in str(error), (function, k)
            del error
            # A strided axis is sorted in a buffer: copying it back may end half-way.
            if operation in REORDERS and function not in ("assign", "move"):
                assert sorted(numbers(arrays.a)) == sorted(SOURCE), (function, k)
            arrays.check()
            arrays = None
            assert live(name) == before, (function, k)
        else:
            pytest.fail(f"{operation} calls {function} without end")
    return failures


@pytest.mark.regression("T36", "llvm/llvm-project#61718", "dtolnay/cxx#570")
@pytest.mark.parametrize("operation", ALL_OPERATIONS)
def test_an_exception_at_any_element_arrives_and_nothing_is_lost(name, operation):
    before = live(name)
    arrays = Arrays(name)
    arrays.run(operation)
    arrays.check()
    arrays = None
    assert live(name) == before
    every_failure(name, operation, FUNCTIONS)
    assert cpp_types.counters(name)["misused"] == 0


@pytest.mark.parametrize(
    "operation",
    [
        "creation: ndarray.copy",
        "ufuncs: add",
        "sorting and searching: sort with kind='quicksort'",
        "casting: to int64",
        "printing: repr",
        "reductions: sum",
    ],
)
def test_an_exception_that_is_no_std_exception_arrives_too(name, operation):
    assert every_failure(name, operation, FUNCTIONS, as_int=True) > 0


#: How each slot of the table of functions is reached, and the spot in it that throws.
SLOTS = {
    "construct": ("make", lambda a: np.add(np.zeros_like(a), a)),
    "copy": ("copy", lambda a: a.copy()),
    "assign": ("assign", lambda a: a.__setitem__(slice(None), a[::-1].copy())),
    "compare": ("compare", lambda a: a.searchsorted(a[0])),
    "sort": ("compare", lambda a: a.sort()),
    "argsort": ("compare", lambda a: a.argsort()),
    "nonzero": ("truth", np.count_nonzero),
    "truth": ("truth", lambda a: bool(a[0])),
    "hash": ("hash", lambda a: hash(a[0])),
    "heap bytes": ("heap", lambda a: denizen.inspect(a).heap_bytes),
    "to text": ("text", lambda a: str(a[0])),
    "from text": ("parse", lambda a: np.array(["5"]).astype(a.dtype)),
    "save": ("save", pickle.dumps),
    "load": ("load", lambda a: pickle.loads(pickle.dumps(a))),
    "from Python": ("from_python", lambda a: a.__setitem__(0, 5)),
    "loop": ("add", lambda a: a + a),
    "fused loop": ("multiply", lambda a: a @ a),
    "cast to": ("cast", lambda a: a.astype(np.int64)),
    "cast from": ("cast", lambda a: np.arange(3).astype(a.dtype)),
    "identity": ("value", lambda a: a[:0].sum()),
    "scalar": ("copy", lambda a: a[0]),
}


@pytest.mark.regression("T37", "pybind/pybind11#2764", "numpy/numpy#2067", "numpy/numpy#5719")
@pytest.mark.parametrize("as_int", [False, True], ids=["std::exception", "int"])
@pytest.mark.parametrize("slot", SLOTS)
def test_every_function_of_a_type_may_throw(name, slot, as_int):
    spot, work = SLOTS[slot]
    if slot == "assign" and not name.startswith("Free"):
        # Objects that may run Python code are made beside the array: none is assigned to.
        name = f"Free{name}"
    a = array(name, SOURCE)
    gc.collect()
    before = live(name)
    cpp_types.set_fuse(spot, 0, as_int)
    text = "unknown C++ exception" if as_int else f"the fuse of {spot} blew"
    if slot == "heap bytes":  # returns a number, and has no room for a text
        text = f"cpp_types.{name} cannot tell the heap bytes of an object"
    caught = None
    try:
        work(a)
    except Exception as error:
        caught = [(type(e), str(e)) for e in (error, error.__cause__)]
    assert cpp_types.set_fuse(spot, -1) < 0
    assert (RuntimeError, text) in caught
    gc.collect()
    assert live(name) == before
    assert sorted(numbers(a)) == sorted(SOURCE)


@pytest.mark.regression("T37", "pybind/pybind11#2764", "numpy/numpy#2067", "numpy/numpy#5719")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("as_int", [False, True], ids=["std::exception", "int"])
@pytest.mark.parametrize("operation", ALL_OPERATIONS)
@pytest.mark.parametrize("name", BAD_ENDS)
def test_a_destructor_that_throws_is_reported_and_the_rest_destroyed(
    name, operation, as_int, monkeypatch
):
    if operation == "take of a vector":
        pytest.skip("a std::vector ends the program where the destructor of an element throws")
    reports = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reports.append(str(report.exc_value)))
    text = "unknown C++ exception" if as_int else "the fuse of destroy blew"
    before = live(name)
    for k in range(ENDLESS):
        arrays = Arrays(name)
        cpp_types.set_fuse("destroy", k, as_int)
        result = error = None
        try:
            result = arrays.run(operation)
        except Exception as caught:
            error = f"{caught} {caught.__cause__}"
        del result
        if cpp_types.set_fuse("destroy", -1) >= 0:
            assert error is None and not reports
            break
        assert text in "".join([error or "", *reports]), k
        reports.clear()
        arrays.check()
        del arrays
        assert live(name) == before, k
    else:
        pytest.fail(f"{operation} destroys without end")


@pytest.mark.parametrize("k", range(N))
def test_what_came_before_an_exception_is_done_and_the_rest_untouched(name, k):
    def fails(spot, work):
        cpp_types.set_fuse(spot, k)
        with pytest.raises(RuntimeError, match=f"the fuse of {spot} blew"):
            work()

    a, b = array(name, SOURCE), array(name, SOURCE[::-1])
    fails("add", lambda: np.add(a, b, out=a))
    sums = [x + y for x, y in zip(SOURCE, SOURCE[::-1], strict=True)]
    assert numbers(a) == sums[:k] + SOURCE[k:]
    fresh = np.empty(N, dtype=element(name))
    fails("copy", lambda: operator.setitem(fresh, slice(None), b))
    assert denizen.inspect(fresh).live == k
    assert numbers(fresh) == SOURCE[::-1][:k] + [0] * (N - k)
    out = np.full(N, -1)
    fails("cast", lambda: np.copyto(out, b, casting="unsafe"))
    assert out.tolist() == SOURCE[::-1][:k] + [-1] * (N - k)
