"""The standard library's types where they are hard: structures, foreign memory, callables that turn on us."""

import gc

import numpy as np
import pytest
import standard
from standard import Doubles, Function, OwnedPoint, SharedPoint, String

import denizen

LONG = "a text too long for the string object itself"


@pytest.fixture(autouse=True)
def no_point_is_left():
    gc.collect()
    before = standard.live_points()
    yield
    gc.collect()
    assert standard.live_points() == before


def identity(x):
    return x


#: Of each type that can be copied: a value that owns memory, as Python says it.
VALUES = [(String, LONG), (Doubles, [1, 2, 3]), (SharedPoint, (1, 2)), (Function, identity)]
each_type = pytest.mark.parametrize(("element", "value"), VALUES)


def text(x):
    """What a value is: a Function has no text of its own, but is applied."""
    if isinstance(x, Function):
        return x * 2.5 if x else "nothing"
    return standard.values(x) if isinstance(x, Doubles) else str(x)


def live(element):
    gc.collect()
    return denizen.stats()[f"standard.{element.__name__}"]["live"]


# Structures


@each_type
def test_fields_are_copied_resized_and_ended_once(element, value):
    before = live(element)
    record = np.zeros(3, dtype=[("n", "f8"), ("x", element), ("within", [("y", element)])])
    record["x"][0] = element(value)
    record["within"]["y"][1] = element(value)
    copied = record[::-1].copy()
    taken = record.take([0, 0])
    joined = np.concatenate([record, copied])
    assert [text(x) for x in copied["x"]] == [text(x) for x in record["x"]][::-1]
    assert text(taken["x"][1]) == text(record["x"][0]) == text(joined["x"][5])
    assert text(joined["within"]["y"][4]) == text(record["within"]["y"][1])
    shown = text(record["x"][0])
    assert shown != text(record["x"][1])
    try:
        record.resize(5, refcheck=False)
    except TypeError:
        assert record.shape == (3,)
    else:
        assert record.shape == (5,) and text(record["x"][4]) == text(record["x"][1])
    assert text(record["x"][0]) == shown
    del record, copied, taken, joined
    assert live(element) == before


@each_type
def test_fields_of_several_elements_work_or_are_refused(element, value):
    """Some versions of NumPy refuse them by themselves."""
    before = live(element)
    try:
        record = np.zeros(2, dtype=[("n", "f8"), ("pair", element, (2,))])
    except TypeError as error:
        assert "subarray" in str(error)
        return
    record["pair"][1] = element(value)
    copied = record.copy()
    del record
    assert [text(x) for x in copied["pair"][1]] == [text(element(value))] * 2
    del copied
    assert live(element) == before


# Copies and life


@each_type
def test_what_is_copied_ends_once(element, value):
    before = live(element)
    a = np.full((2, 3), element(value), dtype=element)
    b = [a.T.copy(), a.repeat(3), np.where(True, a, a), np.tile(a, 2), np.pad(a[0], 1, mode="edge")]
    b[0][...] = a[0, 0]
    a[:, 1:] = a[:, :-1]
    a[0], a[1] = a[1].copy(), a[0].copy()
    a.resize((1, 2), refcheck=False)
    a.resize((400, 2), refcheck=False)
    assert text(a[0, 0]) == text(element(value)) != text(a[399, 1])
    del a, b
    assert live(element) == before


def test_short_strings_stay_whole_through_every_move():
    rng = np.random.default_rng(3)
    words = ["".join(map(chr, rng.integers(97, 123, n))) for n in rng.integers(0, 40, 3000)]
    a = np.zeros(1, dtype=String)
    a.resize(3000, refcheck=False)
    a[:] = words
    order = rng.permutation(3000)
    a = a[order]
    rng.shuffle(a)
    a[::3].sort()
    a.partition(700)
    a.sort(kind="stable")
    assert [str(x) for x in a] == sorted(words)
    assert [str(x) for x in np.unique(a)] == sorted(set(words))
    assert list(np.searchsorted(a, np.array(["m"], dtype=String))) == [
        sum(word < "m" for word in words)
    ]


# Errors in the middle


def test_elements_before_a_failing_one_are_written():
    a = np.zeros(3, dtype=Doubles)
    b = np.zeros(3, dtype=Doubles)
    a[0], b[0] = [1], [2]
    a[1], b[1] = [1], [1, 2]
    out = np.zeros(3, dtype=Doubles)
    out[2] = [9]
    with pytest.raises(ValueError, match="vectors of 1 and 2 numbers"):
        np.add(a, b, out=out)
    assert [standard.values(x) for x in out] == [[3], [], [9]]


@pytest.mark.parametrize("wrong", [b"123", b"\0" * 9])
def test_bytes_that_are_no_doubles_are_refused(wrong):
    load, (name, right) = Doubles([1.5]).__reduce__()
    assert standard.values(load(name, right)) == [1.5]
    with pytest.raises(ValueError, match="bytes that are no doubles"):
        load(name, wrong)


# Callables that turn on the array they lie in


@pytest.mark.parametrize("inner", ["lone", "composed"])
def test_a_callable_that_would_replace_itself_is_refused(inner):
    """What is called is in use until it has returned."""
    f = np.zeros(2, dtype=Function)
    ended = []

    class Replaces:
        def __init__(self):
            self.step = 1

        def __call__(self, x):
            f[:] = identity
            gc.collect()
            return x + self.step

        def __del__(self):
            ended.append(self.step)

    f[0] = Replaces()
    if inner == "composed":
        outer = np.zeros(1, dtype=Function)
        outer[0] = lambda x: 10 * x
        f[:1] = outer * f[:1]
    with pytest.raises(denizen.BorrowError, match="in use by an operation"):
        f * np.array([1.0, 2.0])
    gc.collect()
    assert ended == []
    f[:] = identity
    gc.collect()
    assert ended == [1]


def test_a_callable_may_use_other_elements():
    f, g = np.zeros(1, dtype=Function), np.zeros(1, dtype=Function)
    g[0] = standard.power(3)
    f[0] = lambda x: (g * x)[0] + 1
    assert list(f * 2.0) == [9]
    f[0] = lambda x: "no number"
    with pytest.raises(TypeError, match="must be real number"):
        f * 2.0


# Elements that only move


def test_an_owned_point_that_was_read_outlives_its_cell():
    before = standard.live_points()
    a = standard.owned_points(3)
    one, two = a[1], a[2]
    a.resize(1, refcheck=False)
    assert (str(one), str(two)) == ("[1, 0]", "[2, 0]")
    b = np.zeros(1, dtype=OwnedPoint)
    b[0] = one
    assert b[0] is one and standard.live_points() == before + 2
    del a, b, two
    gc.collect()
    assert str(one) == "[1, 0]" and standard.live_points() == before + 1


def test_what_is_put_over_an_owned_point_ends_it():
    before = standard.live_points()
    a = standard.owned_points(2)
    a[1] = OwnedPoint((5, 5))
    gc.collect()
    assert str(a[1]) == "[5, 5]" and standard.live_points() == before + 1
    a[1] = None
    gc.collect()
    assert str(a[1]) == "null"


@pytest.mark.parametrize(
    "end",
    [
        lambda f: f.__setitem__(0, identity),
        lambda f: f.fill(identity),
        lambda f: np.copyto(f, np.zeros(3, dtype=Function)),
        lambda f: f.resize(4, refcheck=False) or f.__setitem__(0, identity),
    ],
)
def test_a_callable_that_ends_may_read_its_array(end):
    seen = []

    class Reads:
        def __del__(self):
            seen.append([bool(x) for x in f])

        def __call__(self, x):
            return x

    f = np.zeros(3, dtype=Function)
    f[0], f[2] = Reads(), identity
    end(f)
    gc.collect()
    assert len(seen) == 1 and len(seen[0]) >= 3
