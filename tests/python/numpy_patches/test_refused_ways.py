"""Ways into memory that are refused, where NumPy converts, counts or asks twice what may say something
else the second time."""

import copy
import gc
import pickle

import numpy as np
import pytest
from support.process import run

import denizen

raw = pytest.importorskip("denizen_raw")
hostile = pytest.importorskip("denizen_hostile")
Integer = denizen.Integer
BIG = 2**100
RECORD = np.dtype([("x", Integer), ("n", "i8")])
BYTES = b"\x41" * 48


def live():
    gc.collect()
    return denizen.stats()["denizen.Integer"]["live"]


def integers(count):
    return np.arange(count).astype(Integer) + BIG


class Calling:
    """A number that does something first."""

    def __init__(self, number, work):
        self.number, self.work = number, work

    def __index__(self):
        self.work()
        return self.number


# ---- another state for an array that is in use ---------------------------------------------------


class Finalizing(np.ndarray):
    state = None

    def __array_finalize__(self, other):
        if Finalizing.state is not None and self.size == 1000:
            self.__setstate__(Finalizing.state)


def test_a_flat_iterator_keeps_its_array():
    r = integers(1000)
    it = r.flat
    with pytest.raises(ValueError, match="has 1000 items"):
        r.__setstate__(integers(1).__reduce__()[2])
    assert len(it) == 1000 and it[999] == BIG + 999
    it[999] = 3
    assert r[999] == 3


def test_functions_that_are_at_work_keep_their_array():
    small = np.zeros(3, Integer).__reduce__()[2]
    r = integers(1000)
    seen = []

    class Values:
        def __array__(self, *given, **named):
            with pytest.raises((ValueError, denizen.BorrowError), match="take"):
                r.__setstate__(small)
            seen.append(r.size)
            return np.array([BIG] * 10, dtype=Integer)

    np.putmask(r, np.ones(1000, bool), Values())
    assert seen == [1000] and set(r.tolist()) == {BIG}
    r.put(range(1000), Values())
    assert seen == [1000] * 2 and r.size == 1000


@pytest.mark.parametrize("work", ["take", "repeat"])
def test_a_subclass_sets_no_state_where_numpy_counted_the_items(work):
    r = integers(1000).view(Finalizing)
    Finalizing.state = np.zeros(3, Integer).__reduce__()[2]
    try:
        with pytest.raises((ValueError, denizen.BorrowError), match="take"):
            r.take(np.arange(1000)) if work == "take" else r.repeat(1)
    finally:
        Finalizing.state = None
    assert r.tolist() == integers(1000).tolist()


def test_a_number_of_a_state_gives_the_array_no_other_state_below_numpy():
    elements = integers(1000).__reduce__()[2]
    plain = np.arange(3.0).__reduce__()[2]
    for place in (0, 1, 3):
        a, kept = np.zeros(0), []

        def give(a=a, kept=kept):
            if not kept:
                a.__setstate__(elements)
                kept.append(a.flat)

        state = list(plain)
        state[place] = (Calling(3, give),) if place == 1 else Calling(int(state[place]), give)
        for form in (tuple, list):
            with pytest.raises(ValueError, match="has 1000 items"):
                a.__setstate__(form(state))
        assert kept[0][999] == BIG + 999 and a.tolist() == integers(1000).tolist()


# ---- np.ndarray(shape, dtype, buffer, offset, strides, order) ------------------------------------


def test_a_dtype_is_the_one_that_was_looked_at():
    fields = [("x", "i8")]

    def change():
        fields[0] = ("x", Integer)

    for given in (
        lambda: ((Calling(3, change), fields, bytearray(BYTES)), {}),
        lambda: (((Calling(3, change),), fields), {"buffer": bytearray(BYTES)}),
        lambda: ((), {"shape": Calling(3, change), "dtype": fields, "buffer": bytearray(BYTES)}),
        lambda: ((3, fields, bytearray(BYTES), Calling(0, change)), {}),
        lambda: ((3, fields), {"buffer": bytearray(BYTES), "strides": (Calling(8, change),)}),
    ):
        fields[0] = ("x", "i8")
        positional, named = given()
        for make in (np.ndarray, lambda *p, **n: np.ndarray.__new__(np.matrix, *p, **n)):
            fields[0] = ("x", "i8")
            try:
                a = make(*positional, **named)
            except TypeError as error:
                assert "cannot be made of a buffer" in str(error)
            else:
                assert (
                    a.dtype == [("x", "i8")] and np.asarray(a["x"]).ravel()[0] == 0x4141414141414141
                )


def test_a_dtype_that_cannot_be_made_the_first_time_is_an_error():
    asked = []

    class Field:
        @property
        def dtype(self):
            asked.append(1)
            if len(asked) == 1:
                raise ValueError("not yet")
            return RECORD

    with pytest.raises((TypeError, ValueError)):
        np.ndarray(3, Field(), bytearray(BYTES))


@pytest.mark.parametrize("dtype", [Integer.dtype, RECORD, np.dtype([("n", "i8"), ("x", Integer)])])
def test_elements_neither_overlap_nor_leave_their_memory(dtype):
    before, size = live(), dtype.itemsize
    for shape, strides in (
        ((2,), (4,)),
        ((2,), (0,)),
        ((2,), (size // 2,)),
        ((3,), (8 if size > 8 else 1,)),
        ((2,), (2 * size,)),
        ((2,), (-size,)),
        ((2, 3), (size, size)),
        ((2, 3), (size, 3 * size)),
        (2, 1),
        ((2,), [Calling(4, lambda: None)]),
    ):
        for make in (
            lambda shape=shape, strides=strides: np.ndarray(shape, dtype, strides=strides),
            lambda shape=shape, strides=strides: np.ndarray(shape, dtype, None, 0, strides),
            lambda shape=shape, strides=strides: np.ndarray(
                strides=strides, shape=shape, dtype=dtype
            ),
            lambda shape=shape, strides=strides: np.ndarray.__new__(
                np.matrix, shape, dtype, strides=strides
            ),
        ):
            with pytest.raises(TypeError, match=r"strides .*order=\"F\""):
                make()
    assert live() == before


def test_strides_are_those_that_were_looked_at():
    answers = [8, 4]
    wavering = Calling(8, lambda: None)
    wavering.__class__ = type("W", (Calling,), {"__index__": lambda self: answers.pop(0)})
    a = np.ndarray((2,), Integer, strides=(wavering,))
    assert a.strides == (8,) and answers == [4]


def test_strides_of_c_and_fortran_order_are_taken():
    for shape, strides, order in (
        ((2, 3), (24, 8), "C"),
        ((2, 3), (8, 16), "F"),
        ((2, 1, 3), (24, 999, 8), "C"),
        (3, 8, "C"),
        ((), (), "C"),
        ((0, 2), (1, 1), "C"),
    ):
        a = np.ndarray(shape, Integer, strides=strides)
        assert a.flags.c_contiguous if order == "C" else a.flags.f_contiguous
        a[...] = BIG
        assert a.size == 0 or set(a.ravel().tolist()) == {BIG}
    assert np.ndarray((2,), Integer, order="F", offset=0).tolist() == [0, 0]
    b = np.ndarray((2, 2), "i2", bytearray(range(16)), strides=(4, 1), offset=1)
    assert b.strides == (4, 1) and b[0, 0] == 0x0201


def test_what_numpy_refuses_stays_its_own_error():
    for given, named in (
        ((2, "i8", bytearray(16), 0, None, None, 1), {}),
        ((2,), {"buffer": bytearray(16), "no_such": 1}),
        ((2,), {"shape": 2, "buffer": bytearray(16)}),
        ((), {"buffer": bytearray(16)}),
        ((2, "no such"), {"buffer": bytearray(16)}),
        ((2, Integer), {"strides": (8, 8)}),
        ((2, Integer), {"strides": "ab"}),
    ):
        with pytest.raises((TypeError, ValueError)):
            np.ndarray(*given, **named)


# ---- a new size, whose number begins to use the memory --------------------------------------------


def test_a_resize_asks_whether_the_memory_is_in_use_when_it_knows_the_size():
    for T in (getattr(hostile, name) for name in hostile.types() if name != "Only"):
        a = np.array([1] * 10, dtype=T)
        outcomes = []

        def size(a=a, outcomes=outcomes):
            hostile.while_reading(a, lambda: outcomes.append(1))

        a.resize(Calling(12, size), refcheck=False)
        a.resize((Calling(10, size),), refcheck=Calling(0, size))
        a.resize(Calling(5, size), Calling(2, size), refcheck=False)
        assert outcomes and a.shape == (5, 2) and a.astype(int).ravel().tolist() == [1] * 10
    a = integers(4)
    for wrong in (("ab",), (2.5,), (2, None)):
        with pytest.raises(TypeError):
            a.resize(*wrong)
    a.resize()
    a.resize(None)
    assert a.tolist() == integers(4).tolist()
    a.resize([2, 2], refcheck=False)
    a.resize((), refcheck=False)
    assert a.shape == () and a == BIG


def test_a_view_that_a_number_of_the_new_size_takes_is_seen():
    run(
        """
import os
import numpy as np, denizen, denizen_hostile as hostile

class Taking:
    def __index__(self):
        hostile.keep_reading(a)
        return 2

for name in hostile.types():
    if name == "Only":
        continue
    a = np.array([1] * 10, dtype=getattr(hostile, name))
    try:
        a.resize(Taking(), refcheck=False)
    except denizen.BorrowError:
        assert a.astype(int).tolist() == [1] * 10
    else:
        raise SystemExit(f"{name}: resized under a view")
# Freed all the same, the arrays would be leaked and reported.
os._exit(0)
""",
        arrays=False,
    )


# ---- a dtype that takes a state --------------------------------------------------------------------


def test_the_state_of_a_dtype_is_read_once():
    fields = {"x": (np.dtype("i8"), 0)}

    def change():
        fields["x"] = (Integer.dtype, 0)

    for place in (0, 5, 6, 7):
        fields["x"] = (np.dtype("i8"), 0)
        state = [3, "|", None, ("x",), fields, 8, 1, 0]
        state[place] = Calling(state[place], change)
        dtype = np.dtype("V8")
        a = np.full(2, 5).view(dtype)
        try:
            a.dtype.__setstate__(tuple(state))
        except TypeError as error:
            assert "takes no state" in str(error)
        assert not a.dtype.hasobject


# ---- byteswap of structured scalars --------------------------------------------------------------


@pytest.mark.parametrize("fields", [RECORD, [("n", "i2"), ("x", Integer)]])
def test_a_swapped_scalar_has_elements_of_its_own(fields):
    before = live()
    for i in range(200):
        r = np.zeros(3, fields)
        r["x"], r["n"] = BIG + i, 258
        junk = [bytearray(b"\x08" * 16) for _ in range(10)]
        del junk
        x = r[0].byteswap()
        assert x["x"] == BIG + i and x["n"] == np.array(258, r.dtype["n"]).byteswap()
        assert r[0]["n"] == 258 and r["x"].tolist() == [BIG + i] * 3
        assert r[0].byteswap(False)["x"] == r[0].byteswap(inplace=False)["x"] == BIG + i
        del x, r
        assert live() == before
    r = np.zeros(1, RECORD)
    for wrong in (lambda: r[0].byteswap(True), lambda: r[0].byteswap(inplace=True)):
        with pytest.raises(ValueError, match="in-place"):
            wrong()
    with pytest.raises(TypeError):
        r[0].byteswap(no_such=1)
    assert r[["n"]][0].byteswap()["n"] == 0
    assert np.int16(1).byteswap() == 256 and type(np.void(b"ab").byteswap()) is np.void


# ---- objects that say something else when they are asked again ------------------------------------


def interface(descr=(("x", Integer),), data=None):
    data = bytearray(BYTES[:24]) if data is None else data
    return {"shape": (3,), "typestr": "|V8", "descr": list(descr), "data": data, "version": 3}


def answering(*answers):
    """The nth answer when it is asked for the nth time; an exception where that is None."""
    answers = list(answers)

    def answer():
        value = answers.pop(0) if len(answers) > 1 else answers[0]
        if value is None:
            raise AttributeError("__array_interface__")
        return value

    return answer


def odd_by_getattr(answer, bases=(), **more):
    def getattr_(self, name):
        if name == "__array_interface__":
            return answer()
        raise AttributeError(name)

    return type("Odd", bases, {"__getattr__": getattr_, **more})


def odd_by_getattribute(answer, bases=(), **more):
    def getattribute(self, name):
        return answer() if name == "__array_interface__" else object.__getattribute__(self, name)

    return type("Odd", bases, {"__getattribute__": getattribute, **more})


def odd_by_property(answer, bases=(), **more):
    return type("Odd", bases, {"__array_interface__": property(lambda self: answer()), **more})


def odd_by_struct(answer, bases=(), **more):
    """What is asked first gives the answer to what is asked next."""

    def struct(self):
        try:
            self.__array_interface__ = answer()
        except AttributeError:
            self.__dict__.pop("__array_interface__", None)
        raise AttributeError("__array_struct__")

    return type("Odd", bases, {"__array_struct__": property(struct), **more})


ODD = {
    "getattr": odd_by_getattr,
    "getattribute": odd_by_getattribute,
    "property": odd_by_property,
    "struct": odd_by_struct,
}
KINDS = {
    "object": {},
    "sequence": {"__len__": lambda self: 2, "__getitem__": lambda self, i: [1, 2][i]},
    "array-like": {"__array__": lambda self, dtype=None, copy=None: np.arange(2.0)},
    "list": {"bases": (list,)},
    "bytes": {"bases": (bytearray,)},
}
CONVERSIONS = {
    "array": np.array,
    "array by name": lambda d: np.array(object=d),
    "array copied": lambda d: np.array(d, copy=True),
    "array of objects": lambda d: np.array(d, dtype=object),
    "array of elements": lambda d: np.array(d, dtype=Integer),
    "array without a copy": lambda d: np.array(d, copy=False),
    "asarray": np.asarray,
    "asarray copied": lambda d: np.asarray(d, copy=True),
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "like an array": lambda d: np.array(d, like=np.zeros(1)),
    "like a masked array": lambda d: np.array(d, like=np.ma.zeros(1)),
}


@pytest.mark.parametrize("how", CONVERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", ODD)
def test_an_object_that_answers_later_makes_no_elements(odd, kind, how):
    bad = interface()
    harmless = interface([("x", "i8")])
    for silent in range(4):
        for first in (None, harmless):
            make = ODD[odd](answering(*[first] * silent, bad), **KINDS[kind])
            try:
                a = CONVERSIONS[how](make())
            except (TypeError, ValueError):
                continue
            # What it was found to be before it answered.
            assert a.dtype in (object, float, int, Integer, np.uint8) or not a.dtype.hasobject
            for x in a.ravel().tolist():
                assert type(x) in (make, int, float, tuple, Integer) or x in (0, 1, 2)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("error", [OSError, MemoryError, Interrupted, KeyboardInterrupt])
@pytest.mark.parametrize("holder", [lambda d: d, lambda d: [d, 3]])
def test_what_asking_an_object_raises_arrives(holder, error):
    class Lazy:
        def __init__(self, name):
            self.name = name

        def __getattr__(self, name):
            if name == self.name:
                raise error("told")
            raise AttributeError(name)

    for name in ("__array_struct__", "__array_interface__"):
        if name == "__array_struct__" and holder(0) != 0:
            continue
        with pytest.raises(error, match="told"):
            np.array(holder(Lazy(name)))


def test_a_struct_comes_before_what_else_an_object_has():
    data = np.arange(3.0)

    class Struct:
        __array_struct__ = property(lambda self: data.__array_struct__)
        __array_interface__ = property(lambda self: interface())

        def __array__(self, dtype=None, copy=None):
            return np.array("wrong")

    assert np.asarray(Struct()).tolist() == np.array(Struct()).tolist() == [0, 1, 2]
    assert np.array([Struct()]).tolist() == [[0, 1, 2]]

    class Bad:
        __array_struct__ = 5

    with pytest.raises(ValueError, match="__array_struct__"):
        np.array(Bad())


def test_a_text_that_stands_for_elements_is_looked_up():
    np.sctypeDict["of elements"] = np.dtype([("x", Integer)])
    try:
        with pytest.raises(TypeError, match="buffer"):
            np.ndarray((3,), "of elements", bytearray(BYTES[:24]))
        with pytest.raises(TypeError, match="strides"):
            np.ndarray((2,), "of elements", strides=(4,))
    finally:
        del np.sctypeDict["of elements"]


def test_put_and_putmask_use_no_method_of_a_derived_class():
    for dtype in (Integer, object):
        r = np.ma.array(np.arange(6).astype(dtype)[::2], mask=[1, 0, 0], hard_mask=True)
        np.ndarray.put(r, [0, 1], [5, 6])
        s = np.ma.array(np.arange(6).astype(dtype)[::2], mask=[1, 0, 0], hard_mask=True)
        np.putmask(s, [1, 1, 0], [5, 6, 7])
        assert (r.data.tolist(), s.data.tolist()) == ([5, 6, 4], [5, 6, 4]), dtype


@pytest.mark.parametrize("how", CONVERSIONS)
@pytest.mark.parametrize(
    "holder",
    [
        lambda d: [d],
        lambda d: (d,),
        lambda d: [[d, 1]],
        lambda d: [[1, 2], [3, d]],
        lambda d: [(1, d)],
        lambda d: ([[[d]]],),
        lambda d: [None, d],
        lambda d: [1.5, 2.5] * 20 + [d],
    ],
)
def test_lists_and_tuples_are_looked_into(holder, how):
    class Describing:
        def __init__(self):
            self.__array_interface__ = interface()

    class Class:
        __array_interface__ = interface()

    for make in (Describing, Class, odd_by_getattr(answering(interface()))):
        with pytest.raises((TypeError, ValueError)):
            CONVERSIONS[how](holder(make()))
    with pytest.raises(TypeError, match="memory that an object describes"):
        np.array(holder(Describing()))
    with pytest.raises(TypeError, match="memory that an object describes"):
        np.array([(1, (2, Describing()))], dtype=[("a", "i8"), ("b", [("c", "i8"), ("d", "i8")])])


def test_lists_are_made_arrays_as_ever():
    class Lender:
        def __init__(self, *numbers):
            self.lent = np.array(numbers)
            self.__array_interface__ = self.lent.__array_interface__

    class Plain:
        pass

    p, silent = Plain(), odd_by_getattr(answering(None))()
    assert np.array([Lender(1, 2), Lender(3, 4)]).tolist() == [[1, 2], [3, 4]]
    for objects in ([p, p], [silent, p], [None, silent]):
        a = np.array(objects)
        assert a.dtype == object and all(x is y for x, y in zip(a.tolist(), objects, strict=True))
    ragged = np.array([silent, [1, 2], (3,)], dtype=object)
    assert ragged[0] is silent and ragged[1] == [1, 2] and ragged[2] == (3,)
    assert np.array([(silent, 1)], dtype=[("o", object), ("n", "i8")])["o"][0] is silent
    # What is shared again and again is looked at no oftener than NumPy does.
    shared = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert np.array([None, shared], dtype=object)[1] is shared
    assert np.array([p, shared], dtype=object)[1] is shared
    assert np.array([1, 2.5, "a", None, p], dtype=object).tolist() == [1, 2.5, "a", None, p]


def test_a_list_that_shrinks_while_it_is_looked_at():
    items = []
    silent = odd_by_getattr(lambda: items.clear())
    items[:] = [1, silent(), 2, 3]
    try:
        np.array(items, dtype=object)
    except (TypeError, ValueError, AttributeError):
        pass
    assert items == []


def test_an_object_with_its_own_array_is_asked_as_numpy_asks():
    calls = []

    class Base:
        def __getattr__(self, name):
            raise AttributeError(name)

        def __array__(self, dtype=None, copy=None):
            calls.append((dtype, copy))
            return np.arange(3.0).astype(dtype or float)

    x = Base()
    assert np.array(x).tolist() == [0, 1, 2] and np.asarray(x, dtype="i4").dtype == np.int32
    np.asarray(x)
    np.array(x, copy=False)
    np.array(x, np.float32)
    assert calls == [
        (None, True),
        (np.dtype("i4"), None),
        (None, None),
        (None, False),
        (np.dtype("f4"), True),
    ]

    class Old(Base):
        def __array__(self, dtype=None):
            return np.arange(2.0)

    with pytest.warns(DeprecationWarning, match="copy keyword"):
        assert np.array(Old()).tolist() == [0, 1]

    class Wrong(Base):
        def __array__(self, dtype=None, copy=None):
            return [1]

    with pytest.raises(ValueError, match="not producing an array"):
        np.array(Wrong())

    class Failing(Base):
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("no data")

    with pytest.raises(RuntimeError, match="no data"):
        np.asarray(Failing())
    masked = np.ma.array([1, 2], mask=[0, 1])
    derived = type("Derived", (Base,), {"__array__": lambda self, dtype=None, copy=None: masked})()
    assert np.asanyarray(derived) is masked and type(np.asarray(derived)) is np.ndarray


def test_other_objects_are_what_they_were():
    silent = odd_by_getattr(answering(None))
    x = silent()
    assert np.array(x).item() is x and np.array(x, dtype=object, ndmin=2).shape == (1, 1)
    for never in (False, 0):
        with pytest.raises(ValueError):
            np.array(x, copy=never)
    with pytest.raises(TypeError):
        np.array(x, dtype=float)
    with pytest.raises(TypeError, match="like"):
        np.array(x, like=1)
    number = odd_by_getattr(answering(None), __float__=lambda self: 2.5)()
    assert np.array(number, dtype=float) == 2.5
    text = odd_by_getattr(answering(None), (str,))("abc")
    assert np.array(text) == "abc" and np.array(odd_by_getattr(answering(None), (int,))(7)) == 7
    row = odd_by_getattr(answering(None), **KINDS["sequence"])()
    assert np.array(row, dtype=Integer).tolist() == [1, 2]
    pair = odd_by_getattr(answering(None), (tuple,))((1, 2.5))
    assert np.array(pair, dtype="i8,f8").item() == (1, 2.5) and np.array(pair).tolist() == [1, 2.5]
    held = odd_by_getattr(answering(None), (bytearray,))(b"\1\2")
    lent = np.asarray(held)
    lent[0] = 7
    assert held[0] == 7
    no_index = odd_by_getattr(
        answering(None),
        __len__=lambda self: 2,
        __getitem__=lambda self, index: {}[index],
    )()
    assert np.array(no_index).item() is no_index
    for cls in (int, silent, np.ndarray, Integer):
        assert np.array(cls).item() is cls and np.array([cls, None])[0] is cls
    assert copy.deepcopy(np.array([x, 1], dtype=object))[1] == 1
    assert pickle.loads(pickle.dumps(np.array([int, None], dtype=object)))[0] is int


# ---- resize from inside an operation -------------------------------------------------------------


def operands():
    a, b = np.arange(400).astype(hostile.Held), np.arange(400).astype(hostile.Held)
    m = np.arange(400).astype(hostile.Held)[::-1].reshape(20, 20).copy()
    even = np.arange(400) % 2
    return {
        "where": (lambda: np.where(even, a, b), "clone", a),
        "choose": (lambda: np.choose(even, [a, b]), "clone", b),
        "keys": (lambda: a.searchsorted(b[:3].copy()), "compare", a),
        "sort an axis": (lambda: m.sort(axis=0), "compare", m),
        "reduce": (lambda: np.add.reduce(a), "clone", a),
        "initial": (lambda: np.add.reduce(a), "default", a),
        "assign": (lambda: a.__setitem__(np.arange(400), b), "drop", b),
    }


@pytest.mark.parametrize("way", operands())
def test_no_operand_is_resized_from_inside_an_operation(way):
    what, hook, target = operands()[way]
    other, refused, size = np.arange(5).astype(hostile.Held), [], target.size

    def act():
        try:
            target.resize(4000, refcheck=False)
        except denizen.BorrowError as error:
            refused.append(str(error))
        other.resize(7)

    hostile.on(hook, act, times=1)
    what()
    hostile.off()
    assert len(refused) == 1 and target.size == size and not hostile.violations()
    other.resize(3, refcheck=False)
    assert other.size == 3
