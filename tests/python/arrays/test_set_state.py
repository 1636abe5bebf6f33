"""Arrays that take a state: they get memory of our own, whole or not at all; one that has items takes
none in which elements come or go."""

import copy
import gc
import pickle

import numpy as np
import pytest
from support.process import run

import denizen

raw = pytest.importorskip("denizen_raw")
Integer = denizen.Integer
BIG = 2**200

RECORD = np.dtype([("x", Integer), ("n", "i8"), ("y", denizen.Rational)])
PACKED = np.dtype([("pad", "u1"), ("x", Integer)])
NESTED = np.dtype([("i", "i4"), ("in", PACKED)], align=True)


def live(name="denizen.Integer"):
    gc.collect()
    return denizen.stats()[name]["live"]


def integers(*numbers):
    return np.array(numbers, dtype=Integer)


def records(dtype, size=3):
    a = np.zeros(size, dtype)
    place = a["in"] if "in" in a.dtype.names else a
    place["x"] = [BIG + i for i in range(size)]
    return a


def owner(a):
    while a.dtype.names:
        a = a["x" if "x" in a.dtype.names else "in"]
    return denizen.owner(a)


def stored(a, tmp_path):
    if a.dtype.names:
        # A file names the dtypes of fields, and NumPy does not know ours by their names.
        return taking(np.zeros(0), a.__reduce__()[2])
    np.save(tmp_path / "a.npy", a)
    return np.load(tmp_path / "a.npy", allow_pickle=True)


#: name -> a second array like the first, by way of its state.
WAYS = {
    "pickle": lambda a, path: pickle.loads(pickle.dumps(a)),
    "protocol 2": lambda a, path: pickle.loads(pickle.dumps(a, 2)),
    "deepcopy": lambda a, path: copy.deepcopy(a),
    "load": stored,
    "state": lambda a, path: taking(np.zeros(0), a.__reduce__()[2]),
    "state of an empty view": lambda a, path: taking(np.zeros(5)[5:], a.__reduce__()[2]),
    "state of an empty table": lambda a, path: taking(integers(1)[:0, None], a.__reduce__()[2]),
}
HOLDERS = {
    "array": lambda: integers(BIG, 2, 3),
    "matrix": lambda: integers(BIG, 2, 3, 4).reshape(2, 2),
    "Fortran": lambda: np.asfortranarray(integers(BIG, 2, 3, 4, 5, 6).reshape(2, 3)),
    "scalar": lambda: np.array(BIG, dtype=Integer),
    "empty": lambda: integers(),
    "text": lambda: np.array(["a", "b"], dtype=raw.Shared),
    "records": lambda: records(RECORD),
    "packed": lambda: records(PACKED),
    "nested": lambda: records(NESTED),
}


def taking(a, state):
    a.__setstate__(state)
    return a


@pytest.mark.filterwarnings("ignore:Custom dtypes are saved as python objects")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_arrays_that_take_a_state_are_managed(holder, way, tmp_path):
    a = HOLDERS[holder]()
    b = WAYS[way](a, tmp_path)
    assert b.tolist() == a.tolist() and b.dtype == a.dtype and b.shape == a.shape
    assert b.flags.f_contiguous == a.flags.f_contiguous
    assert owner(b) == "managed"
    before = live()
    del b
    assert live() <= before
    assert a.tolist() == HOLDERS[holder]().tolist()


@pytest.mark.parametrize("dtype", [RECORD, PACKED, NESTED], ids=["record", "packed", "nested"])
def test_records_are_managed_whatever_makes_them(dtype):
    a = records(dtype, 8)
    made = {
        "zeros": np.zeros(3, dtype),
        "empty": np.empty(3, dtype),
        "full": np.full(3, a[0]),
        "zeros_like": np.zeros_like(a),
        "copy": a.copy(),
        "part": a[::2].copy(),
        "take": a.take([0, 2]),
        "mask": a[np.arange(8) % 2 == 0],
        "repeat": a.repeat(2),
        "concatenate": np.concatenate([a, a]),
        "array": np.array(a.tolist(), dtype),
        "rec": np.rec.array(a.copy()).view(np.ndarray),
        "sort": np.sort(a, order="i" if dtype is NESTED else "x"),
    }
    if dtype is RECORD:
        made["fields"] = a[["x", "n"]].copy()
    assert {name: owner(b) for name, b in made.items()} == dict.fromkeys(made, "managed")


def test_structures_are_of_no_type():
    """The bits of a type would not know where its cells are among other fields."""
    a = records(RECORD)
    found = denizen.inspect(a["x"])
    assert (found.owner, found.cells, found.live, len(found.bitmap)) == ("managed", 3, 3, 0)
    one = np.zeros(4, [("x", Integer)])
    one["x"] = BIG
    assert len(denizen.inspect(one["x"]).bitmap) == 0
    before = live()
    del a, one
    assert live() == before - 7


@pytest.mark.parametrize("dtype", [RECORD, PACKED, NESTED], ids=["record", "packed", "nested"])
def test_records_that_are_resized_keep_each_object_once(dtype):
    before = live()
    a = records(dtype, 6)
    kept = a[:2].tolist()
    kept_objects = 2
    assert live() == before + 6
    for size in (2, 3, 5000, 2, 100):
        a.resize(size, refcheck=False)
        assert a[:2].tolist() == kept and owner(a) == "managed"
        assert live() == before + kept_objects
    del a
    assert live() == before


def test_a_tail_that_is_read_only_is_vacant():
    run(
        """
        import numpy as np, denizen
        import pickle
        dirt = [np.full(5000, np.uint64(0x4141414141414141)) for _ in range(20)]
        record = np.zeros(3, [("x", denizen.Integer), ("n", "i8")])
        record["x"] = 2**90
        packed = np.zeros(3, [("pad", "u1"), ("x", denizen.Integer)])
        whole = np.array([1, 2**90, 3], dtype=denizen.Integer)
        for a in (record, packed, whole):
            for b in (a.copy(), pickle.loads(pickle.dumps(a))):
                kept = b.tolist()
                b.flags.writeable = False
                del dirt[:2]
                b.resize(4000, refcheck=False)
                assert b[:3].tolist() == kept
                field = b["x"] if b.dtype.names else b
                assert not any(field[3:].tolist())
                b.copy()
        """,
        arrays=False,
    )


# ---- states that change while they are read ------------------------------------------------------


class Emptying:
    """A number that empties a list when it is asked for."""

    def __init__(self, number, elements):
        self.number, self.elements = number, elements

    def __index__(self):
        self.elements.clear()
        return self.number


@pytest.mark.parametrize("dtype", [Integer.dtype, RECORD], ids=["element", "record"])
def test_a_list_that_is_emptied_meanwhile_is_an_error(dtype):
    full = [BIG] * 1000 if dtype is Integer.dtype else [(BIG, 1, 2)] * 1000
    for place in range(4):
        elements = list(full)
        state = [1, (1000,), dtype, False, elements]
        odd = Emptying({0: 1, 1: 1000, 3: 0}.get(place, 0), elements)
        if place == 2:
            continue
        state[place] = (odd,) if place == 1 else odd
        a = np.zeros(0)
        with pytest.raises(ValueError, match="1000 elements by its shape, 0 in its list"):
            a.__setstate__(tuple(state))
        assert a.dtype == float and a.size == 0


def test_a_list_that_an_element_empties_is_read_as_it_was():
    run(
        """
        import numpy as np, denizen
        import gc
        class Odd:
            def __init__(self, elements):
                self.elements = elements
            def __index__(self):
                self.elements.clear()
                for other in gc.get_objects():
                    if type(other) is list and len(other) == 5000:
                        other.clear()
                    if type(other) is tuple and any(
                        type(x) is list and len(x) == 5000 for x in other
                    ):
                        raise SystemExit("the list that is read was found")
                return 5
            __int__ = __index__
        for dtype in (denizen.Integer.dtype, np.dtype([("x", denizen.Integer)])):
            elements = [2**90] * 5000
            elements[0] = Odd(elements)
            if dtype.names:
                elements[:] = [(x,) for x in elements]
            a = np.zeros(0)
            try:
                a.__setstate__((1, (5000,), dtype, False, elements))
            except (TypeError, ValueError):
                continue
            field = a["x"] if dtype.names else a
            assert field.tolist() == [5] + [2**90] * 4999
        """,
        arrays=False,
    )


class Shifting(list):
    """A sequence that says something else whenever it is asked."""

    def __init__(self, *answers):
        super().__init__(answers[0])
        self.answers = list(answers)

    def __iter__(self):
        return iter(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])

    def __getitem__(self, index):
        return (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])[index]


def test_a_state_that_is_no_tuple_is_read_once():
    bytes_of_others = (1, (3,), np.dtype("V8"), False, b"x" * 24)
    elements = (1, (3,), Integer.dtype, False, [BIG])
    for answers in ((bytes_of_others, elements), (elements, bytes_of_others), (elements,)):
        a = np.zeros(0)
        try:
            a.__setstate__(Shifting(*answers))
        except (TypeError, ValueError):
            assert a.dtype == float and a.size == 0
        else:
            assert a.dtype == "V8"


@pytest.mark.parametrize("given", [0, 2, 4])
@pytest.mark.parametrize("dtype", [Integer.dtype, RECORD], ids=["element", "record"])
def test_a_list_of_another_length_is_an_error(dtype, given):
    element = 5 if dtype is Integer.dtype else (5, 1, 2)
    for a in (np.zeros(0), integers(), records(RECORD, 0)):
        before = a.tolist()
        with pytest.raises(ValueError, match=f"3 elements by its shape, {given} in its list"):
            a.__setstate__((1, (3,), dtype, False, [element] * given))
        assert a.tolist() == before


def test_a_state_that_fails_leaves_the_array_as_it_was():
    before = live()
    a = integers()
    for state in (
        (1, (2,), Integer.dtype, False, [BIG, object()]),
        (1, (2,), RECORD, False, [(BIG, 1, 2), object()]),
        (1, (2, -1), Integer.dtype, False, []),
        (1, (2**40, 2**40), Integer.dtype, False, []),
        (1, (2.5,), Integer.dtype, False, [1, 2]),
        (9, (1,), Integer.dtype, False, [1]),
        (1, (1,), np.dtype("i8"), False, b"short"),
        (1, (1,), Integer.dtype, False, b"12345678"),
    ):
        with pytest.raises((TypeError, ValueError, MemoryError)):
            a.__setstate__(state)
        assert a.tolist() == [] and a.dtype == Integer and denizen.owner(a) == "managed"
    del a
    assert live() == before


# ---- arrays that have something already ----------------------------------------------------------

STATES = {
    "elements": lambda: (1, (4,), Integer.dtype, False, [BIG, 1, 2, 3]),
    "records": lambda: (1, (2,), RECORD, False, [(BIG, 1, 2), (3, 4, 5)]),
    "floats": lambda: np.arange(3.0).__reduce__()[2],
    "many floats": lambda: np.arange(3000.0).__reduce__()[2],
    "objects": lambda: np.array([1, "two"], dtype=object).__reduce__()[2],
    "nothing": lambda: integers().__reduce__()[2],
}


@pytest.mark.parametrize("second", STATES)
@pytest.mark.parametrize("first", STATES)
def test_a_state_with_items_is_followed_by_none_of_elements(first, second):
    before = live()
    a = np.zeros(0)
    for state in (first, second, first):
        has_items, comes = a.size > 0, STATES[state]()[2]
        goes = a.dtype
        if has_items and any(dtype.names or dtype == Integer for dtype in (comes, goes)):
            kept = a.tolist()
            with pytest.raises(
                ValueError, match=r"has \d+ items.*pickle.loads.*a\[\.\.\.\] = other"
            ):
                a.__setstate__(STATES[state]())
            assert a.tolist() == kept and a.dtype == goes
            continue
        a.__setstate__(STATES[state]())
        wanted = taking(np.zeros(0), STATES[state]())
        assert a.tolist() == wanted.tolist() and a.dtype == wanted.dtype
        del wanted
    del a
    assert live() == before


@pytest.mark.parametrize("state", STATES)
def test_views_and_iterators_keep_what_they_have(state):
    before = live()
    for make in (lambda: integers(*[BIG] * 100), lambda: records(RECORD, 100)):
        a = make()
        view, flat = a[5:], a.flat
        for array in (a, view):
            with pytest.raises(ValueError, match="items"):
                array.__setstate__(STATES[state]())
        assert len(flat) == 100 and view.shape == (95,)
        assert flat[99] == a[99] and a.tolist() == make().tolist()
        del a, view, flat, array
        assert live() == before


def test_an_array_that_got_items_meanwhile_keeps_them():
    a = integers()

    class First:
        def __index__(self):
            if not len(a):
                a.__setstate__((1, (2,), Integer.dtype, False, [3, 4]))
                taken.append(a.flat)
            return 5

        __int__ = __index__

    taken = []
    try:
        a.__setstate__((1, (1,), Integer.dtype, False, [First()]))
    except ValueError as error:
        assert "has 2 items" in str(error)
    except TypeError:
        a.__setstate__((1, (2,), Integer.dtype, False, [3, 4]))
    assert a.tolist() == [3, 4] and [list(flat) for flat in taken] in ([], [[3, 4]])


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_all_that_is_unpickled_takes_its_state():
    class_of = {
        "array": integers(BIG, 2),
        "0-d": np.array(BIG, dtype=Integer),
        "0-d record": records(RECORD, 1).reshape(()),
        "table": integers(BIG, 2).reshape(1, 2),
        "none": integers().reshape(0, 3),
        "none of records": records(RECORD, 0).reshape(2, 0),
        "matrix": integers(BIG, 2).reshape(1, 2).view(np.matrix),
        "recarray": records(RECORD).view(np.recarray),
        "masked": np.ma.array(integers(BIG, 2), mask=[0, 1]),
        "derived": integers(BIG, 2).view(Derived),
        "objects": np.array([Integer(BIG), None], dtype=object),
    }
    for name, a in class_of.items():
        ways = [lambda a, p=p: pickle.loads(pickle.dumps(a, p)) for p in range(6)]
        for way in (*ways, copy.copy, copy.deepcopy, lambda a: pickle.loads(a.dumps())):
            b = way(a)
            assert type(b) is type(a) and b.shape == a.shape and b.dtype == a.dtype, name
            assert str(b.tolist()) == str(a.tolist()), name
    # As joblib does: an array without items of the class, then its state.
    for a in class_of.values():
        make, arguments, state = a.__reduce__()
        b = make(*arguments)
        assert b.size == 0 or isinstance(b, np.ma.MaskedArray)
        b.__setstate__(state)
        assert str(b.tolist()) == str(a.tolist())


class Derived(np.ndarray):
    pass


def test_what_shows_a_cell_keeps_its_object():
    before = live("denizen_raw.Single")
    a = np.array([3, 1], dtype=raw.Single)
    x = a[0]
    with pytest.raises(ValueError, match="has 2 items"):
        a.__setstate__((1, (2,), raw.Single.dtype, False, [5, 6]))
    assert str(x) == "3" and [str(y) for y in a] == ["3", "1"]
    del a
    assert str(x) == "3"
    del x
    assert live("denizen_raw.Single") == before


def test_the_context_is_the_callers_afterwards():
    import contextvars

    variable = contextvars.ContextVar("variable")
    token = variable.set(1)
    for state in (*STATES, *STATES):
        try:
            np.zeros(0).__setstate__(STATES[state]())
            np.zeros(0).__setstate__((1, (3,), Integer.dtype, False, []))
        except ValueError:
            pass
        assert variable.get() == 1 and denizen.handler_name() == denizen.handler_name(np.zeros(1))
    variable.reset(token)
