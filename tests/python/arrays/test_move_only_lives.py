"""Lives of elements that only move: resizes, sorts, adopted memory, destructors, threads."""

import gc
import subprocess
import sys
import threading

import denizen_raw as raw
import numpy as np
import pytest
from support.moving import each_kind, filled, live, numbers, taken_over

import denizen


@each_kind
def test_resize_keeps_what_is_shown(element):
    a = filled(element, *range(8))
    first, last = a[1], a[7]
    a.resize(100_000, refcheck=False)
    assert a[1] is first and a[7] is last and taken_over(first, last) == [1, 7]
    a.resize(4, refcheck=False)
    assert str(last) == "7" and a[1] is first
    a[3] = last
    assert numbers(a) == [0, 1, 2, 7] and a[3] is last
    a.resize(2, refcheck=False)
    a.resize(5, refcheck=False)
    assert numbers(a) == [0, 1, 0, 0, 0] and str(last) == "7"


@each_kind
def test_an_array_whose_elements_are_shown_takes_no_state(element):
    a = filled(element, 3, 1)
    x = a[0]
    before = live(element)
    for state in ((1, (2,), a.dtype, False, [1, 2]), (1, (0,), a.dtype, False, [])):
        with pytest.raises((ValueError, denizen.BorrowError), match="cannot take"):
            a.__setstate__(state)
    assert str(x) == "3" and live(element) == before and numbers(a) == [3, 1]
    del a
    assert str(x) == "3"


@each_kind
def test_a_sort_moves_objects_and_proxies_show_cells(element):
    a = filled(element, 3, 1, 2)
    x = a[0]
    assert list(a.argsort()) == [1, 2, 0]
    a.sort()
    assert numbers(a) == [1, 2, 3] and a[0] is x and str(x) == "1"
    del a
    assert str(x) == "1"


def test_shuffles_keep_every_object():
    a = filled(raw.Single, *range(50))
    shown = [a[i] for i in range(0, 50, 3)]
    np.random.default_rng(1).shuffle(a)
    assert sorted(numbers(a)) == list(range(50))
    del a
    assert len({str(x) for x in shown}) == len(shown)


@pytest.mark.parametrize("order", range(6))
@each_kind
def test_ends_in_every_order(element, order):
    things = {"a": np.zeros(2, dtype=element), "p": element("1"), "q": element("2")}
    things["a"][0] = things["p"]
    things["a"][1] = things["q"]
    keys = [
        ("a", "p", "q"),
        ("a", "q", "p"),
        ("p", "a", "q"),
        ("p", "q", "a"),
        ("q", "a", "p"),
        ("q", "p", "a"),
    ][order]
    for key in keys:
        del things[key]
        gc.collect()
        for name, number in (("p", "1"), ("q", "2")):
            assert name not in things or str(things[name]) == number


def test_moves_between_buffers_move():
    a = filled(raw.Single, 1, 2)
    before = denizen.stats()["denizen_raw.Single"]
    a.resize(50_000, refcheck=False)
    a.sort()
    after = denizen.stats()["denizen_raw.Single"]
    assert after["constructed"] == before["constructed"]
    assert after["destroyed"] == before["destroyed"]


# Client views, adopted memory, own classes


def test_views_of_clients_show_through():
    a = filled(raw.Single, 1, 2, 3)
    x = a[0]
    raw.reverse_singles(a)
    assert numbers(a) == [4, 3, 2] and str(x) == "4"


def test_adopted_elements_keep_their_owner():
    a = raw.adopt_singles([1, 2, 3])
    assert denizen.owner(a) == "adopted"
    x = a[1]
    assert a[1] is x
    p = raw.Single("9")
    a[0] = p
    a[2] = "8"
    del a
    gc.collect()
    assert taken_over(p, x) == [9, 2]
    assert raw.singles() == 3
    del p
    gc.collect()
    assert (str(x), raw.singles()) == ("2", 3)
    del x
    assert raw.singles() == 0


def test_what_is_replaced_in_adopted_memory_goes_to_its_scalar():
    a = raw.adopt_singles([1])
    x = a[0]
    a[0] = raw.Single("2")
    del a
    assert str(x) == "1"


class Parcel:
    def __init__(self, content):
        self.content = content


def test_an_own_class_is_emptied_only_for_good():
    if not hasattr(raw, "Parcel"):
        raw.register_parcel(raw, Parcel)
    dtype = Parcel.dtype
    a = np.zeros(2, dtype=dtype)
    p = Parcel(5)
    record = np.zeros(1, dtype=[("n", "i8"), ("x", dtype)])
    for elsewhere in (lambda: record["x"].__setitem__(0, p), lambda: record.__setitem__(0, (1, p))):
        with pytest.raises(TypeError, match="not copyable"):
            elsewhere()
        assert p.content == 5
    a[0] = p
    assert p.content is None
    assert a[0].content == 5 and a[0].content == 5
    with pytest.raises(denizen.VacantError):
        a[1]
    with pytest.raises(TypeError, match="not copyable"):
        a.copy()
    a[0] = Parcel(6)
    assert a[0].content == 6


# Objects that call Python


def test_destructors_may_use_the_array():
    a = np.zeros(2, dtype=raw.Herald)
    seen = []

    def herald(word):
        seen.append((word, [type(a[i]).__name__ for i in range(len(a)) if i == 0]))
        return "text"

    a[0] = herald
    assert str(a[0]) == "text"
    a[0] = lambda word: "second"
    assert [word for word, _ in seen] == ["is read", "ends"]
    assert str(a[0]) == "second"


def test_an_element_in_use_stays():
    a = np.zeros(1, dtype=raw.Herald)
    errors = []

    def herald(word):
        if word == "is read":
            try:
                a[0] = lambda word: "other"
            except denizen.BorrowError as error:
                errors.append(error)
            with pytest.raises(denizen.BorrowError, match="cannot be resized"):
                a.resize(1000, refcheck=False)
        return "still here"

    a[0] = herald
    assert str(a[0]) == "still here"
    assert len(errors) == 1
    errors.clear()
    a[0] = lambda word: ""
    del herald


def test_a_scalar_in_use_does_not_move():
    a = np.zeros(1, dtype=raw.Herald)
    errors = []

    def herald(word):
        if word == "is read":
            try:
                a[0] = made[0]
            except denizen.BorrowError as error:
                errors.append(str(error))
        return "still here"

    made = [raw.Herald(herald)]
    p = made[0]
    assert str(p) == "still here" and len(errors) == 1
    a[0] = p
    assert a[0] is p
    a[0] = lambda word: ""
    made.clear()
    del p, herald


def test_memory_that_is_freed_under_a_use_is_leaked():
    script = """
import sys, gc
import numpy as np, denizen, denizen_raw as raw
box = [np.zeros(1, dtype=raw.Herald)]
unraisable = []
sys.unraisablehook = lambda args: unraisable.append(str(args.exc_value))
def herald(word):
    box.clear()
    gc.collect()
    return "still here"
box[0][0] = herald
x = box[0][0]
assert str(x) == "still here", str(x)
assert str(x) == "still here"
assert any("leaked" in text for text in unraisable), unraisable
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_readers_beside_threads_that_free_and_replace():
    errors = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            shown = []
            for _ in range(300):
                a = filled(raw.TaggedSingle, *range(6))
                shown += [a[int(i)] for i in rng.integers(0, 6, 2)]
                a[int(rng.integers(6))] = "9"
                a.sort()
                assert all(0 <= int(str(x)) <= 9 for x in shown)
                del a
                shown = shown[-5:]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
