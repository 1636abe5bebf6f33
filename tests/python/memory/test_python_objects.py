"""Elements of a Rust client that hold Python objects: every reference is there when it should be, and
gone when it should be, at once."""

import copy
import gc
import pickle
import sys
import threading
import weakref

import denizen_example as example
import numpy as np
import pytest
from support.process import run

import denizen

TYPES = [example.Holder, example.BoxedHolder, example.Maybe, example.List]
#: How many references an element of the type holds.
HELD = {example.Holder: 1, example.BoxedHolder: 1, example.Maybe: 1, example.List: 2}
#: More cells than NumPy copies with the GIL held, where it may let it go.
MANY = 700


class Thing:
    """Something to hold, with an order, a sum and a value."""

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __eq__(self, other):
        return isinstance(other, Thing) and self.value == other.value

    def __gt__(self, other):
        return self.value > other.value

    def __hash__(self):
        return hash(self.value)

    def __add__(self, other):
        return self

    def __abs__(self):
        return self

    def __float__(self):
        return float(self.value)

    def __str__(self):
        return f"thing {self.value}"


def references(thing):
    """How many there are beside those of this module's own calls."""
    return sys.getrefcount(thing)


@pytest.fixture(params=TYPES, ids=lambda element: element.__name__)
def element(request):
    return request.param


def filled(element, thing, count=5):
    a = np.empty(count, dtype=element)
    for index in range(count):
        a[index] = thing
    return a


def test_an_array_holds_one_reference_a_cell_and_drops_it_with_its_end(element):
    thing = Thing(1)
    before = references(thing)
    a = filled(element, thing)
    assert references(thing) == before + 5 * HELD[element]
    del a
    assert references(thing) == before


@pytest.mark.parametrize("count", [1, 3, MANY])
@pytest.mark.parametrize(
    "operation",
    {
        "copy": lambda a, b: a.copy(),
        "deepcopy of the array": lambda a, b: copy.copy(a),
        "assignment": lambda a, b: a.__setitem__(slice(None), b),
        "assignment of one": lambda a, b: a.__setitem__(0, b[0]),
        "an element": lambda a, b: a[0],
        "take": lambda a, b: a.take([0, -1, 0]),
        "an index": lambda a, b: a[[0, -1, 0]],
        "a mask": lambda a, b: a[np.ones(len(a), dtype=bool)],
        "sort": lambda a, b: a.sort(),
        "sorted": lambda a, b: np.sort(a),
        "argsort": lambda a, b: a.argsort(),
        "comparison": lambda a, b: a == b,
        "maximum": lambda a, b: np.maximum(a, b),
        "argmax": lambda a, b: a.argmax(),
        "sum of two": lambda a, b: a + b,
        "reduction": lambda a, b: np.add.reduce(a),
        "accumulation": lambda a, b: np.add.accumulate(a),
        "in place": lambda a, b: np.add(a, b, out=a),
        "one operand": lambda a, b: (np.absolute(a), np.positive(a), np.modf(a), np.isnan(a)),
        "cast": lambda a, b: (a.astype(float), a.astype(object), np.arange(3).astype(a.dtype)),
        "truth": lambda a, b: (a.astype(bool), np.count_nonzero(a), np.nonzero(a)),
        "text": lambda a, b: (str(a), repr(a[0]), a.astype(str)),
        "hash": lambda a, b: hash(a[0]),
        "objects": lambda a, b: a.tolist(),
        "from objects": lambda a, b: np.array([a[0].__class__, 1, "2"], dtype=a.dtype),
        "inspect": lambda a, b: denizen.inspect(a),
        "fill": lambda a, b: a.fill(b[0]),
        "where": lambda a, b: np.where(np.arange(len(a)) % 2 == 0, a, b),
        "concatenation": lambda a, b: np.concatenate([a, b, a]),
        "repetition": lambda a, b: np.repeat(a, 2),
        "put": lambda a, b: np.put(a, [0], b[:1]),
        "unique": lambda a, b: np.unique(a),
        "shrunk": lambda a, b: a.resize(1, refcheck=False),
        "grown": lambda a, b: a.resize(len(a) + 3, refcheck=False),
        "a record": lambda a, b: np.zeros(2, dtype=[("x", a.dtype), ("y", int)]).__setitem__(
            "x", a[0]
        ),
        "scalars": lambda a, b: (a[0] + b[0], a[0] == b[0], a[0] < b[0], str(a[0]), float(a[0])),
    }.items(),
    ids=lambda operation: operation[0],
)
def test_no_operation_keeps_or_loses_a_reference(element, operation, count):
    one, two = Thing(1), Thing(2)
    before = references(one), references(two)
    a, b = filled(element, one, count), filled(element, two, count)
    _, run_operation = operation
    try:
        result = run_operation(a, b)
    except (TypeError, ValueError) as error:
        # What an element type cannot do, it says; it never panics.
        assert "panic" not in str(error) and "attached" not in str(error), error
        result = error.__traceback__ and None
        del error
    del result, a, b
    assert (references(one), references(two)) == before


def test_operations_give_what_python_gives(element):
    one, two = Thing(1), Thing(2)
    a, b = filled(element, one), filled(element, two)
    assert (a + b).tolist() == a.tolist()
    assert (a < b).all() and not (a == b).any()
    a[:] = b
    assert (a == b).all() and str(a[0]) == "thing 2"
    assert a.astype(float).tolist() == [2.0] * 5
    assert np.array([3, 1, 2]).astype(element).astype(float).tolist() == [3.0, 1.0, 2.0]
    mixed = np.array([3, 1, 2]).astype(element)
    mixed.sort()
    assert mixed.astype(float).tolist() == [1.0, 2.0, 3.0]
    assert np.array([4, 5]).astype(element).sum().__class__ is element


def test_pickle_gives_up_what_it_copied(element):
    a = np.array([10**20, 7, 5], dtype=object).astype(element)
    assert [str(x) for x in pickle.loads(pickle.dumps(a))] == [str(10**20), "7", "5"]
    thing = 10**30
    before = references(thing)
    a = filled(element, thing)
    pickle.dumps(a)
    assert references(thing) == before + 5 * HELD[element]
    del a
    assert references(thing) == before


def test_exceptions_and_panics_leave_no_reference_behind(element):
    thing = Thing(1)
    before = references(thing)
    a = filled(element, thing)
    with pytest.raises(RuntimeError, match="thing 1"):
        a << a
    with pytest.raises(ValueError, match="complex"):
        a[:] = [thing, thing, 1j, thing, thing]
    with pytest.raises(ValueError):
        filled(element, None, 1) + filled(element, 1, 1)
    del a
    assert references(thing) == before


def test_the_last_reference_ends_the_object_at_once(element):
    class Ends:
        def __del__(self):
            ended.append(self)

    ended = []
    a = filled(element, Ends(), 3)
    a[0] = a[1] = None
    assert not ended
    a[2] = None
    assert len(ended) == 1
    ended.clear()
    a = filled(element, Ends(), 3)
    a.resize(1, refcheck=False)
    assert not ended
    del a
    assert len(ended) == 1


def test_an_array_that_dies_in_another_thread_drops_its_references_there(element):
    thing = Thing(1)
    before = references(thing)
    arrays = [filled(element, thing, MANY)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert references(thing) == before


def test_threads_that_copy_the_same_array_agree_on_the_count(element):
    thing = Thing(1)
    before = references(thing)
    a = filled(element, thing, MANY)

    def work(array):
        for _ in range(20):
            b = array.copy()
            b[::2] = b[1::2]
            np.sort(b[:9])

    threads = [threading.Thread(target=work, args=(a,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del a, threads, thread
    assert references(thing) == before


def test_adopted_and_taken_elements_drop_their_references_at_once():
    thing = Thing(1)
    before = references(thing)
    for make, held in ((example.adopt_lists, 2), (example.take_holders, 1)):
        a = make([thing] * 10)
        assert references(thing) == before + 10 * held
        a[0] = None
        assert references(thing) == before + 9 * held
        del a
        assert references(thing) == before


END = """
import builtins, os
class Thing:
    def __init__(self, name): self.name = name
    def __del__(self, write=os.write): write(1, self.name.encode() + b" ")
def filled(name, element, count=3):
    thing = Thing(name)
    a = np.empty(count, dtype=element)
    for index in range(count): a[index] = thing
    return a
module = [filled("module", t) for t in types]
node = [filled("cycle", t) for t in types]; node.append(node)
builtins.kept = [filled("builtins", t) for t in types]
"""
AT_EXIT = """
import atexit
early = [filled("atexit", t) for t in types]
def use():
    for a in early: a[:] = a.copy(); str(a)
    early.clear()
atexit.register(use)
"""


@pytest.mark.parametrize("more", ["", AT_EXIT], ids=["modules", "atexit"])
def test_the_end_of_the_process_drops_what_it_drops_of_object_arrays(more):
    of_objects = run("types = [object] * 4" + END + more).split()
    of_ours = run(
        "types = example.Holder, example.BoxedHolder, example.Maybe, example.List" + END + more
    ).split()
    assert sorted(of_ours) == sorted(of_objects)
    assert len(of_ours) >= 4


def test_daemon_threads_in_python_hooks_do_not_abort_the_exit(element):
    for _ in range(2):
        run(
            f"""
            import threading, time
            element = example.{element.__name__}
            a = np.arange(50).astype(element)
            def work():
                while True:
                    b = a + a
                    b.sort(); str(b[0]); b[:] = a; b.resize(3, refcheck=False)
            for _ in range(3): threading.Thread(target=work, daemon=True).start()
            time.sleep(0.05)
            """
        )


# ---- cycles --------------------------------------------------------------------------------------


class Node:
    """Something that refers to the array that holds it."""


@pytest.mark.parametrize("dtype", [object, *TYPES], ids=lambda t: t.__name__)
def test_a_cycle_through_an_array_is_not_collected(dtype):
    """NumPy's arrays take no part in cyclic collection, those of `object` as little as ours."""
    node = Node()
    a = np.empty(2, dtype=dtype)
    assert not gc.is_tracked(a)
    a[0] = node
    node.array = a
    ended = weakref.ref(node)
    del a
    array = node.array
    del node
    gc.collect()
    assert ended() is not None
    # What ends it: the array is emptied where it is still known.
    array[0] = None
    assert ended() is None


@pytest.mark.parametrize(
    "empty",
    [
        lambda a: a.__setitem__(Ellipsis, None),
        lambda a: a.fill(None),
        lambda a: a.resize(0, refcheck=False),
    ],
    ids=["assignment", "fill", "resize"],
)
def test_an_array_that_is_emptied_ends_its_cycles(element, empty):
    node = Node()
    a = filled(element, node, 3)
    node.array = a
    ended = weakref.ref(node)
    del node
    empty(a)
    del a
    gc.collect()
    assert ended() is None


def test_a_weak_reference_back_makes_no_cycle(element):
    node = Node()
    a = filled(element, node, 3)
    node.array = weakref.ref(a)
    ended = weakref.ref(node)
    del node
    assert ended().array() is a
    del a
    assert ended() is None
