"""Elements to and from Python objects, while a hook of their type uses the arrays at hand."""

import gc
import threading
import time

import denizen_hostile as hostile
import numpy as np
import pytest

import denizen
from denizen import Integer


class Counted:
    """A Python object that knows how many of its kind there are."""

    alive = 0

    def __init__(self) -> None:
        Counted.alive += 1

    def __del__(self) -> None:
        Counted.alive -= 1


@pytest.fixture(autouse=True)
def hooks_end():
    yield
    hostile.off()


def objects(count):
    made = np.empty(count, dtype=object)
    made[:] = [Counted() for _ in range(count)]
    return made


@pytest.mark.parametrize("name", ["Held", "Gil", "Boxed", "BoxedGil", "Free", "FreeBoxed"])
@pytest.mark.parametrize("record", [False, True])
def test_a_cast_to_object_leaves_the_old_object_until_the_new_one_is_there(name, record):
    dtype = getattr(hostile, name)
    a = np.arange(30).astype(dtype)
    if record:
        fields = np.zeros(30, dtype=[("n", "u1"), ("x", dtype)])
        fields["x"] = a
        a = fields
    seen, put = set(), Counted()
    o = objects(30)

    def hook():
        # Takes the memory of what has ended.
        junk = [bytes(40 + size) for size in range(30)]
        seen.update(type(item) for item in o.tolist())
        o[20] = put
        del junk

    hostile.on("clone", hook, after=20, times=1)
    o[...] = a
    hostile.off()
    assert Counted in seen and None.__class__ not in seen
    assert len(seen) == 2
    assert len({type(item) for item in o.tolist()}) == 1
    seen.clear()
    hook = put = o = None
    assert Counted.alive == 0


def test_threads_never_find_an_ended_object_under_a_cast_to_object():
    a = np.array([2**100 + i for i in range(2000)], dtype=Integer)
    o = a.astype(object)
    end, wrong = time.monotonic() + 1.5, []

    def until(work):
        def run():
            while time.monotonic() < end and not wrong:
                try:
                    work()
                except Exception as error:
                    wrong.append(error)

        return threading.Thread(target=run)

    def look():
        assert all(2**100 <= x < 2**100 + 2000 for x in o.tolist())

    def cast():
        o[...] = a

    def back():
        assert np.all(o.astype(Integer) >= 2**100)

    threads = [until(work) for work in (cast, look, back, lambda: np.add(a, 0, out=a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("convert", ["astype", "tolist", "item", "assign"])
@pytest.mark.parametrize("after", range(4))
def test_a_record_whose_field_fails_is_no_tuple(convert, after):
    records = np.zeros(2, dtype=[("t", "u1"), ("x", hostile.BoxedGil), ("y", hostile.BoxedGil)])
    records["x"] = [1, 2]
    target = np.empty(2, dtype=object)
    ways = {
        "astype": lambda: records.astype(object),
        "tolist": lambda: records.tolist(),
        "item": lambda: [records.item(0), records.item(1)],
        "assign": lambda: target.__setitem__(Ellipsis, records),
    }

    def fail():
        raise ValueError("told")

    def call():
        return ways[convert]()

    for _ in range(20):  # Python specialises what is called often, and then looks for no exception
        call()
    before = target.copy()
    hostile.on("clone", fail, after=after, times=1)
    with pytest.raises(BaseException, match="told") as caught:
        call()
    hostile.off()
    assert not isinstance(caught.value, SystemError)
    if convert == "assign":
        # What comes before the failure is there, nothing else has changed.
        assert all(isinstance(item, tuple) and None not in item for item in target)
        assert len(before) == len(target)


@pytest.mark.parametrize("way", ["assign", "copyto", "concatenate", "mask", "flat", "records"])
def test_elements_stay_while_objects_that_they_replace_end(way):
    a = np.array([2**100 + i for i in range(50)], dtype=Integer)
    if way == "records":
        records = np.zeros(50, dtype=[("n", "u1"), ("x", Integer)])
        records["x"] = a
        a = records
    refused = []

    class Old:
        def __del__(self):
            try:
                a.resize(5000, refcheck=False)
            except denizen.BorrowError:
                refused.append(True)

    o = np.empty(50, dtype=object)
    o[10] = Old()
    expected = a.tolist()
    if way == "copyto":
        np.copyto(o, a, where=np.arange(50) != 3, casting="unsafe")
        expected[3] = None
    elif way == "concatenate":
        np.concatenate([a], out=o, casting="unsafe")
    elif way == "mask":
        o[np.ones(50, bool)] = a
    elif way == "flat":
        o.flat = a
    else:
        o[...] = a
    assert len(a) == 50 if refused else way in ("mask", "concatenate", "flat")
    assert o.tolist() == expected


@pytest.mark.parametrize("after", range(4))
def test_a_tuple_of_a_broadcast_has_no_gap(after):
    a = np.arange(6).astype(hostile.Held)

    def fail():
        raise ValueError("told")

    hostile.on("clone", fail, after=after, times=1)
    with pytest.raises(BaseException, match="told"):
        for pair in np.broadcast(a, a):
            assert all(type(item) is hostile.Held for item in pair)
    hostile.off()
    assert len(list(np.broadcast(a, a))) == 6


def test_records_are_filled_with_one_item_that_is_whole_or_not_there():
    records = np.zeros(6, dtype=[("x", Integer), ("n", "i8")])
    before = denizen.stats()["denizen.Integer"]["live"]
    for value in (2**100, (2**100, "no number"), (2**100, 2**100)):
        with pytest.raises((OverflowError, ValueError)):
            records.fill(value)
        assert records.tolist() == [(0, 0)] * 6
    assert denizen.stats()["denizen.Integer"]["live"] == before
    records.fill((2**100, 7))
    assert records.tolist() == [(2**100, 7)] * 6
    records[::2].fill(5)
    assert records.tolist() == [(5, 5), (2**100, 7)] * 3

    class Watched(np.ndarray):
        def __setitem__(self, key, value):
            raise AssertionError("NumPy does not call it here")

    records.view(Watched).fill((4, 4))
    assert records.tolist() == [(4, 4)] * 6
    matrix = np.zeros((2, 3), dtype=[("x", Integer)], order="F")
    matrix.fill((2**90,))
    assert (matrix["x"] == 2**90).all()


@pytest.mark.parametrize("way", ["from_python", "state", "objects", "drop"])
def test_an_array_of_a_type_that_only_moves_stays_while_an_element_is_put(way):
    def live():
        gc.collect()
        return dict(hostile.live())["Only"], denizen.stats()["denizen_hostile.Only"]["live"]

    before = live()
    refused = []
    for size in (2, 3000):
        a = np.empty(20, hostile.Only)
        a[:] = list(range(20))
        state = np.empty(0, hostile.Only).__reduce__()[2]

        def hook(a=a, size=size, state=state):
            try:
                if way == "state":
                    a.__setstate__(state)
                else:
                    a.resize(size, refcheck=False)
            except denizen.BorrowError as error:
                refused.append(str(error))

        name = "drop" if way == "drop" else "from_python"
        value = np.arange(20).astype(object) if way == "objects" else 5
        hostile.on(name, hook, times=1)
        a[Ellipsis if way == "objects" else 15] = value
        hostile.off()
        assert len(a) == len(str(a).split()) == 20
        del a, value, hook
    assert len(refused) == 2 and not hostile.violations()
    assert live() == before


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("way", ["set", "put", "nothing"])
def test_a_scalar_that_its_own_default_puts_is_put_once(way, fails):
    def live():
        gc.collect()
        return dict(hostile.live())["Only"], denizen.stats()["denizen_hostile.Only"]["live"]

    def put():
        a, c = np.empty(3, hostile.Only), np.empty(3, hostile.Only)
        scalar = np.empty(3, hostile.Only)[0]

        def hook():
            try:
                if way == "set":
                    a[0] = scalar
                    a[0] = 7
                elif way == "put":
                    c.put([0], [scalar])
                    c.put([0], [scalar])
            except TypeError:
                pass
            return "told" if fails else None

        hostile.on("default", hook, times=1)
        try:
            a[0] = scalar
        except (TypeError, ValueError):
            pass
        hostile.off()

    before = live()
    put()
    assert not hostile.violations()
    assert live() == before
