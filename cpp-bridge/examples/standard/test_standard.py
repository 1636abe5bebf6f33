"""Types of the C++ standard library as elements: what each can do, and what it refuses."""

import gc
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import standard
from standard import Doubles, Function, OwnedPoint, SharedPoint, String
from support.c_extension import INCLUDES, compiler

import denizen

#: Short ones lie inside the string object, which a move with memcpy would break.
WORDS = ["pear", "fig", "x" * 40, "apple", "fig", "kiwi" * 10]
#: What says that SharedPoint or Function lacks an operation, and which.
LACKS = r"(SharedPoint|Function).* (has no ordering|no codec)|no loop for standard.(Shared|Func)"


def live(name):
    gc.collect()
    return denizen.stats()[f"standard.{name}"]["live"]


def strings(words=WORDS):
    return np.array(words, dtype=String)


def words(array):
    return [str(x) for x in array.ravel()]


@pytest.fixture(autouse=True)
def no_point_is_left():
    gc.collect()
    before = standard.live_points()
    yield
    gc.collect()
    assert standard.live_points() == before


# String


@pytest.mark.short
def test_strings_sort_and_stay_whole_wherever_they_are_moved():
    a = strings()
    assert words(np.sort(a)) == sorted(WORDS)
    assert [WORDS[i] for i in a.argsort()] == sorted(WORDS)
    assert words(np.unique(a)) == sorted(set(WORDS))
    a[::-1].sort()
    assert words(a) == sorted(WORDS, reverse=True)


def test_strings_survive_resizing():
    a = strings()
    a.resize(1000, refcheck=False)
    assert words(a) == WORDS + [""] * 994
    a.resize(2, refcheck=False)
    assert words(a) == WORDS[:2] and live("String") == 2


def test_strings_are_copied_taken_repeated_chosen_and_joined():
    a = strings()
    assert words(a[::-2].copy()) == WORDS[::-2]
    assert words(a.take([2, 0])) == [WORDS[2], WORDS[0]]
    assert words(a[:2].repeat(2)) == ["pear", "pear", "fig", "fig"]
    assert words(np.where([True, False], a[:2], a[2:4])) == ["pear", "apple"]
    assert words(np.concatenate([a, a[:1]])) == [*WORDS, "pear"]
    b = a.copy()
    b[1:3] = "plum"
    assert words(a) == WORDS and words(b[:4]) == ["pear", "plum", "plum", "apple"]


def test_strings_are_added_repeated_compared_and_measured():
    a = strings(["ab", "c"])
    assert words(a + a[::-1]) == ["abc", "cab"]
    assert words(a * 3) == ["ababab", "ccc"] and words(a * np.array([0, 2])) == ["", "cc"]
    assert str(a.sum()) == "abc" and str(a[:0].sum()) == ""
    assert list(a < String("b")) == [True, False] and str(a.max()) == "c"
    lengths = np.strings.str_len(a)
    assert lengths.dtype == np.int64 and list(lengths) == [2, 1]
    assert hash(a[0]) == hash(String("ab")) and bool(a[0]) and not String("")
    with pytest.raises(OverflowError, match="too long"):
        a * (2**62)
    with pytest.raises(TypeError, match="subtract"):
        a - a


def test_strings_are_cast_to_text_and_integers_and_back():
    assert list(strings(["12", "-3"]).astype(np.int64)) == [12, -3]
    assert words(np.array([12, -3]).astype(String)) == ["12", "-3"]
    assert list(strings(["a", "bc"]).astype(str)) == ["a", "bc"]
    assert words(np.array(["a", "bc"]).astype(String)) == ["a", "bc"]
    with pytest.raises(ValueError, match="'x1' is not an integer"):
        strings(["1", "x1"]).astype(np.int64)
    with pytest.raises(OverflowError, match="'9{20}' does not fit"):
        strings(["9" * 20]).astype(np.int64)


def test_strings_are_pickled_and_printed():
    a = strings()
    assert words(pickle.loads(pickle.dumps(a))) == WORDS
    assert str(pickle.loads(pickle.dumps(a[2]))) == WORDS[2]
    # NumPy 2.5 shows texts, earlier ones what `repr` gives.
    assert str(a[:2]) in {"[pear fig]", "[String('pear') String('fig')]"}
    assert repr(a[0]) == "String('pear')"


def test_strings_are_fields_of_structures():
    a = np.zeros(2, dtype=[("text", String), ("number", "f8")])
    a["text"][0] = "x" * 40
    b = a.copy()
    del a
    assert words(b["text"]) == ["x" * 40, ""] and live("String") >= 1


# Doubles


def doubles(*lists):
    a = np.zeros(len(lists), dtype=Doubles)
    for index, numbers in enumerate(lists):
        a[index] = numbers
    return a


def lists(array):
    return [standard.values(x) for x in array.ravel()]


def test_vectors_come_from_lists_and_add_number_by_number():
    a = doubles([1, 2], (3, 4))
    assert lists(a + a) == [[2, 4], [6, 8]] and lists(a - a[::-1]) == [[-2, -2], [2, 2]]
    assert lists(a * a) == [[1, 4], [9, 16]] and lists(a * 0.5) == [[0.5, 1], [1.5, 2]]
    assert standard.values(Doubles([1, 2])) == [1, 2] == standard.values([1, 2])
    with pytest.raises(ValueError, match="vectors of 2 and 1 numbers"):
        a + Doubles([1])
    with pytest.raises(TypeError, match="must be real number"):
        Doubles(["x"])
    with pytest.raises(TypeError, match="list or tuple"):
        Doubles("12")


def test_vectors_are_copied_moved_sorted_and_resized():
    a = doubles([3], [1, 2], [], [3])
    assert lists(np.sort(a)) == [[], [1, 2], [3], [3]] and lists(np.unique(a)) == [[], [1, 2], [3]]
    assert list(a.argsort(kind="stable")) == [2, 1, 0, 3]
    assert lists(a.take([1, 1])) == [[1, 2]] * 2 and lists(a[:1].repeat(2)) == [[3]] * 2
    assert lists(np.concatenate([a, a])) == lists(a) * 2
    assert lists(np.where([True, False], a[:2], a[2:])) == [[3], [3]]
    a.resize(6, refcheck=False)
    assert lists(a) == [[3], [1, 2], [], [3], [], []]
    a.resize(1, refcheck=False)
    assert lists(a) == [[3]] and live("Doubles") == 1


def test_vectors_are_pickled_printed_and_weighed():
    a = doubles([1, 2.5], [])
    assert lists(pickle.loads(pickle.dumps(a))) == [[1, 2.5], []]
    assert repr(a[0]) == "Doubles('[1, 2.5]')"
    assert "heap   16 bytes" in str(denizen.inspect(a))
    with pytest.raises(TypeError, match="Cannot cast"):
        a.astype(float)
    with pytest.raises(TypeError, match="unhashable"):
        hash(a[0])


# SharedPoint


def test_copies_share_a_point_and_the_last_one_drops_it():
    before = standard.live_points()
    a = np.full(3, SharedPoint((1, 2)), dtype=SharedPoint)
    gc.collect()
    assert standard.live_points() == before + 1 and standard.use_counts(a) == [3, 3, 3]
    b = np.concatenate([a, a.take([0])])
    x = a[0]
    assert set(standard.use_counts(a)) == {8} and bool((b == x).all())
    del a, b
    gc.collect()
    assert str(x) == "[1, 2]" and standard.live_points() == before + 1
    del x
    gc.collect()
    assert standard.live_points() == before


def test_shared_points_may_be_null():
    a = np.zeros(2, dtype=SharedPoint)
    a[0] = (3, 4)
    assert standard.use_counts(a) == [1, 0] and list(a.astype(bool)) == [True, False]
    assert str(a[1]) == "null" and hash(a[0]) == hash(a[:1].copy()[0])
    a.resize(4, refcheck=False)
    assert standard.use_counts(a) == [1, 0, 0, 0]
    a[0] = None
    assert standard.use_counts(a) == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="two numbers"):
        a[0] = (1, 2, 3)
    with pytest.raises(TypeError):
        standard.use_counts(strings())


@pytest.mark.parametrize("operation", [np.sort, np.unique, pickle.dumps, lambda a: a < a])
def test_shared_points_say_what_they_lack(operation):
    with pytest.raises(TypeError, match=LACKS):
        operation(np.full(2, SharedPoint((1, 2)), dtype=SharedPoint))


# OwnedPoint


def test_owned_points_are_moved_from_a_vector_and_null_is_an_element():
    before = standard.live_points()
    a = standard.owned_points(4)
    assert words(a) == ["null", "[1, 0]", "[2, 0]", "[3, 0]"]
    assert standard.live_points() == before + 3 and denizen.inspect(a).live == 3
    assert words(np.zeros(2, dtype=OwnedPoint)) == ["null", "null"]
    assert [bool(x) for x in a] == [False, True, True, True]
    assert len(standard.owned_points(0)) == 0


def test_owned_points_are_read_in_place_sorted_and_resized():
    before = standard.live_points()
    a = np.zeros(3, dtype=OwnedPoint)
    for index, pair in enumerate([(5, 0), (1, 0), (3, 0)]):
        a[index] = pair
    assert a[0] is a[0] and str(a[0]) == "[5, 0]" and standard.live_points() == before + 3
    assert list(a.argsort()) == [1, 2, 0]
    a.sort()
    assert words(a) == ["[1, 0]", "[3, 0]", "[5, 0]"]
    a.resize(5, refcheck=False)
    assert words(a)[2:] == ["[5, 0]", "null", "null"]
    gc.collect()
    a.resize(1, refcheck=False)
    gc.collect()
    assert words(a) == ["[1, 0]"] and standard.live_points() == before + 1


def test_an_owned_point_is_put_in_once():
    a = np.zeros(2, dtype=OwnedPoint)
    x = OwnedPoint((7, 8))
    a[0] = x
    assert str(a[0]) == "[7, 8]" and denizen.inspect(a).live == 1
    with pytest.raises(TypeError):
        a[1] = a[0]
    assert words(a) == ["[7, 8]", "null"]
    y = OwnedPoint((1, 1))
    with pytest.raises(TypeError, match="not copyable"):
        a[:] = y
    assert str(y) == "[1, 1]", "refused before it is moved from"


@pytest.mark.parametrize(
    "copying",
    [
        np.copy,
        np.sort,
        np.unique,
        pickle.dumps,
        lambda a: a.take([0]),
        lambda a: a.repeat(2),
        lambda a: np.concatenate([a, a]),
        lambda a: np.where(True, a, a),
        lambda a: a[[0, 1]],
        lambda a: a[::-1].sort(),
    ],
)
def test_what_would_copy_an_owned_point_is_refused_and_nothing_is_lost(copying):
    a = standard.owned_points(3)
    with pytest.raises(TypeError, match="not copyable|cannot be pickled"):
        copying(a)
    assert words(a) == ["null", "[1, 0]", "[2, 0]"]


def test_owned_points_are_no_elements_of_structures():
    a = np.zeros(2, dtype=[("point", OwnedPoint), ("number", "f8")])
    for refused in (a.copy, lambda: a["point"][0], lambda: a["point"].__setitem__(0, (1, 2))):
        with pytest.raises(TypeError, match="not copyable"):
            refused()


# Function


def test_functions_are_applied_and_composed():
    f = np.zeros(2, dtype=Function)
    f[0], f[1] = standard.power(2), lambda x: x + 1
    result = f * np.array([3.0, 4.0])
    assert result.dtype == float and list(result) == [9, 5]
    assert list((f * f[::-1]) * 2.0) == [9, 5]
    assert list((f.take([1, 1]) * f[1]) * 0.0) == [2, 2]
    assert bool(f[0]) and not np.zeros(1, dtype=Function)[0]


def test_a_function_keeps_its_callable_and_lets_it_go():
    class Add:
        def __call__(self, x):
            return x + 1

    add = Add()
    before = sys.getrefcount(add)
    f = np.zeros(3, dtype=Function)
    f[:] = add
    g = f * f
    assert g[0] * 1.0 == 3 and sys.getrefcount(add) > before
    del f, g
    gc.collect()
    assert sys.getrefcount(add) == before


def test_exceptions_of_functions_arrive_as_they_are():
    f = np.zeros(2, dtype=Function)
    f[0] = lambda x: 1 / x
    with pytest.raises(ZeroDivisionError):
        f[0] * 0.0
    with pytest.raises(RuntimeError, match="bad_function_call"):
        f[1] * 0.0
    with pytest.raises(TypeError, match="callable"):
        f[0] = 3
    for refused in (np.sort, pickle.dumps, lambda a: a == a):
        with pytest.raises(TypeError, match=LACKS):
            refused(f)
    assert f[0] * 4.0 == 0.25


# What the compiler says


@pytest.mark.regression("T33", "pybind/pybind11#619", "pybind/pybind11#799")
@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ('<std::function<void()>>("F").ordering()', "ordering() needs the operator < on T"),
        ('<std::shared_ptr<int>>("P").arithmetic()', "arithmetic() needs one of the operators"),
        ('<std::vector<double>>("V").hash()', "hash() needs std::hash<T>"),
        ('<std::string>("S").nonzero()', "nonzero() needs a conversion of T to bool"),
    ],
)
def test_the_compiler_names_the_operation_that_is_missing(wish, message, tmp_path):
    source = tmp_path / Path("source.cpp")
    source.write_text(f"#include <denizen/denizen.hpp>\nvoid f() {{ denizen::element{wish}; }}\n")
    command = [*compiler("CXX", "c++"), "-std=c++17", *INCLUDES, "-fsyntax-only", source]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode != 0 and message in result.stderr
