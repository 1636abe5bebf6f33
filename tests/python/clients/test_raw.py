"""Awkward element types of a Rust extension on an older pyo3: no default, pinned, not Send,
panicking, and registered with the structs of an older version of the interface."""

import gc
import threading
import types

import denizen_raw as raw
import numpy as np
import pytest
from support.heap import assert_flat
from support.process import run

import denizen


@pytest.fixture(autouse=True)
def balanced():
    """All bombs that a test makes are gone after it, each destroyed once."""
    gc.collect()
    before = raw.bombs()[2]
    yield
    for operation in ["default", "clone", "add", "compare", "drop"]:
        raw.set_fuse(operation, -1)
    gc.collect()
    assert raw.bombs()[2] == before


def bombs(*values):
    return np.array([str(value) for value in values], dtype=raw.Bomb)


def values(array):
    return [int(str(x)) for x in array.ravel()]


def test_two_extensions_live_side_by_side():
    import denizen_example

    names = set(denizen.types())
    assert {"denizen_raw.Bomb", "denizen_raw.Old", "denizen_example.BigDecimal"} <= names
    with pytest.raises(TypeError):
        np.add(bombs(1), np.zeros(1, dtype=denizen_example.BigDecimal))


def test_a_type_without_a_default_is_moved_in_and_never_made_up():
    tickets = raw.take_tickets([3, 1, 2])
    assert [str(x) for x in np.sort(tickets)] == ["1", "2", "3"]
    assert [str(x) for x in tickets[[2, 0]]] == ["2", "3"]
    vacant = np.empty(2, dtype=raw.Ticket)
    with pytest.raises(denizen.VacantError):
        np.less(vacant, vacant)
    with pytest.raises(denizen.VacantError):
        vacant[1]
    vacant[:] = tickets[:2]
    assert [str(x) for x in vacant] == ["3", "1"]


def test_boxed_objects_keep_their_address():
    a = np.zeros(50, dtype=raw.Pinned)
    assert all(raw.pinned_stay(a))
    a.sort()
    assert all(raw.pinned_stay(a))
    a.resize(5000, refcheck=False)
    assert all(raw.pinned_stay(a))
    assert all(raw.pinned_stay(a[::-3]))


def test_objects_that_are_not_send_are_used_under_the_gil():
    a = raw.take_shared("ab", 2000)
    results = []

    def work():
        for _ in range(20):
            results.append(str((a + a)[-1]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["abab"] * 80
    assert [str(x) for x in np.zeros(2, dtype=raw.Shared)] == ["", ""]


def test_tagged_types_are_not_adopted():
    with pytest.raises(TypeError, match="not stored inline"):
        raw.adopt_bombs()


@pytest.mark.parametrize("k", [0, 50, 99])
def test_a_panic_in_a_loop_is_an_exception_and_nothing_is_lost(k):
    a, b = bombs(*range(100)), bombs(*range(100))
    live = raw.bombs()[2]
    raw.set_fuse("add", k)
    with pytest.raises(RuntimeError, match="the fuse of add blew"):
        a + b
    gc.collect()
    assert raw.bombs()[2] == live
    raw.set_fuse("add", k)
    with pytest.raises(RuntimeError, match="the fuse of add blew"):
        np.add(a, b, out=a)
    assert values(a) == [2 * i if i < k else i for i in range(100)]
    assert values(a + b)[-1] == 198


@pytest.mark.parametrize("k", [0, 50, 99])
def test_a_panic_while_copying_is_an_exception_and_nothing_is_lost(k):
    a = bombs(*range(100))
    live = raw.bombs()[2]
    raw.set_fuse("clone", k)
    with pytest.raises(RuntimeError, match="the fuse of clone blew"):
        a.copy()
    gc.collect()
    assert raw.bombs()[2] == live
    assert values(a.copy()) == list(range(100))


def test_a_panicking_default_is_an_exception():
    zeros = np.zeros(10, dtype=raw.Bomb)
    raw.set_fuse("default", 0)
    with pytest.raises(RuntimeError, match="the fuse of default blew"):
        zeros + zeros
    assert values(zeros + bombs(1)) == [1] * 10


def test_a_panic_while_sorting_keeps_every_element():
    a = bombs(*(i * 37 % 100 for i in range(100)))
    raw.set_fuse("compare", 100)
    with pytest.raises(RuntimeError, match="the fuse of compare blew"):
        a.sort()
    assert sorted(values(a)) == list(range(100))
    a.sort()
    assert values(a) == list(range(100))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_panicking_destructor_loses_no_other_element():
    a = bombs(*range(10))
    raw.set_fuse("drop", 4)
    del a
    gc.collect()


def test_the_ledgers_of_runtime_and_type_agree():
    name = "denizen_raw.Bomb"
    type_before, runtime_before = raw.bombs()[2], denizen.stats()[name]["live"]
    a = bombs(*range(10))
    b = a[a > bombs(4)] + bombs(1)
    live = raw.bombs()[2] - type_before
    assert live >= len(a) + len(b)
    assert denizen.stats()[name]["live"] - runtime_before == live


def test_a_client_of_an_older_interface_works():
    a = np.array([1, 2, 2**32 - 1], dtype=np.uint32).astype(raw.Old)
    assert raw.old_values(a + a) == [2, 4, 2**32 - 2]
    assert (a + a).astype(np.uint32).tolist() == [2, 4, 2**32 - 2]
    assert raw.old_values(np.zeros(2, dtype=raw.Old)) == [0, 0]


# ---- registrations that fail ---------------------------------------------------------------------

FAILURES = {
    "ufunc": (AttributeError, "no ufunc 'no_such_ufunc'"),
    "identity": (AttributeError, "no ufunc 'no_such_ufunc'"),
    "operands": (ValueError, "has 1 inputs"),
    "no cast": (ValueError, "needs a cast"),
    "identifier": (ValueError, "must be an identifier"),
    "taken": (ValueError, "denizen.Integer already"),
    "class": (TypeError, "takes no attributes"),
    "cast twice": (ValueError, "a cast is given twice"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_builder_whose_registration_fails_gives_up_all_that_it_holds(kind):
    error, message = FAILURES[kind]
    module = types.ModuleType("failing")

    def attempt():
        try:
            raw.fail_registration(module, kind)
        except error as raised:
            return str(raised)
        raise AssertionError("it was registered")

    assert message in attempt()
    captures, classes = raw.captures(), len(np.dtype.__subclasses__())
    assert_flat(attempt, 1000)
    assert raw.captures() == captures
    assert len(np.dtype.__subclasses__()) == classes


def test_a_builder_whose_registration_fails_late_stays_with_its_class():
    """A dtype that was caught meanwhile may be used; a second attempt leaves nothing."""
    run(
        """
import gc, types
import numpy as np
import denizen, denizen_raw as raw
from support.heap import assert_flat

class Refusing(types.ModuleType):
    def __setattr__(self, name, value):
        if name == "Late":
            super().__setattr__("array", np.zeros(5, value))
        if name == "LateDType":
            raise RuntimeError("not here")
        super().__setattr__(name, value)

def fail(error, message):
    try:
        raw.fail_registration(module, "late")
    except error as raised:
        assert message in str(raised), raised
    else:
        raise AssertionError

module = Refusing("late")
fail(RuntimeError, "not here")
captures = raw.captures()
assert captures == 1
assert_flat(lambda: fail(ValueError, "the name stays taken"), 300)
assert raw.captures() == captures
array = module.array
copied = array.copy()
copied[:] = array[::-1]
assert copied.astype(int).tolist() == [7] * 5
assert hash(copied[0]) == 7
del array, copied, module.array
gc.collect()
[dtype] = [made for made in np.dtype.__subclasses__() if made.__name__ == "LateDType"]
try:
    dtype()
except TypeError as error:
    assert "its registration failed" in str(error)
else:
    raise AssertionError
""",
        arrays=False,
    )


# ---- sharing -------------------------------------------------------------------------------------


def test_a_type_of_the_same_name_that_is_another_is_not_shared():
    raw.import_shape("same")
    known = r"denizen_raw\.Shape was registered with objects of 32 bytes aligned to 8"
    with pytest.raises(TypeError, match=f"{known}, not of 576 bytes aligned to 8: "):
        raw.import_shape("larger")
    with pytest.raises(TypeError, match=f"{known}, not of 32 bytes aligned to 32: "):
        raw.import_shape("aligned")
