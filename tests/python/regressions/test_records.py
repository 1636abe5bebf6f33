"""Structures with elements: fields, nested ones, subarrays, what older NumPys do raw."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest
from support.kind import every, every_copyable

N = 8
#: Layouts of structures that hold one element, and the way to it.
LAYOUTS = {
    "packed": (lambda x: np.dtype([("pad", "u1"), ("x", x), ("n", "i4")]), ("x",)),
    "aligned": (lambda x: np.dtype([("pad", "u1"), ("x", x), ("n", "i4")], align=True), ("x",)),
    "nested": (lambda x: np.dtype([("n", "i4"), ("in", [("pad", "u1"), ("x", x)])]), ("in", "x")),
    "two": (lambda x: np.dtype([("x", x), ("n", "i4"), ("y", x)]), ("y",)),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def dtype_of(kind, layout):
    return LAYOUTS[layout][0](kind.element)


def field(array, layout):
    for name in LAYOUTS[layout][1]:
        array = array[name]
    return array


def records(kind, layout, count=N):
    array = np.zeros(count, dtype=dtype_of(kind, layout))
    field(array, layout)[...] = kind.make(count)
    array["n"] = np.arange(count)
    return array


def resized(array, size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        array.resize(size, refcheck=False)
    return array


@pytest.mark.regression("T10", "numpy/numpy#27225")
@every_copyable
@layouts
def test_structures_with_elements_resize(kind, layout):
    texts = kind.read(kind.make())

    def resize_to(size):
        a = resized(records(kind, layout), size)
        kept = min(size, N)
        assert kind.read(field(a[:kept], layout)) == texts[:kept]
        if kind.default is not None:
            fresh = kind.read(field(a[kept : kept + 50], layout))
            assert fresh == [kind.default] * min(size - kept, 50)
        a[-1:] = records(kind, layout, min(size, 1))
        resized(a, 2 * N)
        kept = max(0, min(kept, size - 1))
        assert kind.read(field(a[:kept], layout)) == texts[:kept]

    _, change = kind.counted(lambda: [resize_to(size) for size in (0, 3, 8, 20, 3000)])
    assert change["constructed"] == change["destroyed"]


@pytest.mark.regression("T11", "numpy/numpy#25949", "numpy/numpy#22924")
@every_copyable
@layouts
def test_each_element_of_a_structure_ends_once(kind, layout):
    def work():
        a = records(kind, layout)
        b = a.copy()
        b[::2] = a[1::2]
        field(b, layout)[1:3] = field(a, layout)[[0, 0]]
        c = [b[2:5], b["n"], b.T, field(b, layout)]
        del b
        gc.collect()
        assert kind.read(c[3]) == kind.read(field(c[2], layout))

    _, change = kind.counted(work)
    assert change["constructed"] == change["destroyed"] > 0 or not kind.zero_counts
    assert change["live"] == 0


# Newer NumPys refuse subarrays of such elements.
@pytest.mark.regression("T11", "numpy/numpy#25949")
@every_copyable
def test_subarrays_are_refused_or_their_elements_end_once(kind):
    texts = kind.read(kind.make())

    def work():
        try:
            a = np.zeros(4, dtype=[("pair", kind.element, (2,)), ("n", "u1")])
        except TypeError as error:
            assert "subarray" in str(error)
            return
        a["pair"] = kind.make().reshape(4, 2)
        assert kind.read(a.take([3, 0])["pair"]) == [*texts[6:], *texts[:2]]
        assert kind.read(a[::-1].copy()["pair"]) == [
            text for i in (6, 4, 2, 0) for text in texts[i : i + 2]
        ]
        a[1] = a[0]
        a["pair"][2] = a["pair"][3]
        assert kind.read(a["pair"][:3]) == texts[:2] * 2 + texts[6:]
        assert kind.read(resized(a, 6)["pair"][:1]) == texts[:2]

    _, change = kind.counted(work)
    assert change["live"] == 0


#: Each puts whole structures somewhere; of an array of places it gives where each came from.
PLACES = {
    "copy": lambda x: x[::-1].copy(),
    "take": lambda x: x.take([3, 0, 3]),
    "fancy": lambda x: x[[5, 1, 1]],
    "mask": lambda x: x[np.arange(N) % 3 > 0],
    "repeat": lambda x: x.repeat(2),
    "tile": lambda x: np.tile(x, 2),
    "roll": lambda x: np.roll(x, 3),
    "where": lambda x: np.where(np.arange(N) > 3, x, x[::-1]),
    "choose": lambda x: np.choose(np.arange(N) % 2, [x, x[::-1]]),
    "compress": lambda x: x.compress(np.arange(N) > 4),
    "extract": lambda x: np.extract(np.arange(N) > 4, x),
    "concatenate": lambda x: np.concatenate([x, x[2:4]]),
    "delete": lambda x: np.delete(x, [1, 6]),
    "insert": lambda x: np.insert(x, 2, x[5:7]),
    "append": lambda x: np.append(x, x[:1]),
    "flat": lambda x: x.reshape(2, 4).T.flat[1:7],
    "ravel": lambda x: x.reshape(2, 4).T.ravel(),
    "broadcast": lambda x: np.broadcast_to(x[:2], (3, 2)).copy(),
    "sort by a number": lambda x: np.sort(x[::-1], order="n") if x.dtype.names else np.arange(N),
    "argsort by a number": lambda x: (
        x[::-1][np.argsort(x[::-1], order="n")] if x.dtype.names else x
    ),
    "shuffle": lambda x: shuffled(x),
    "permuted": lambda x: np.random.default_rng(5).permutation(x),
    "deepcopy": copy.deepcopy,
}


def shuffled(array):
    array = array.copy()
    np.random.default_rng(5).shuffle(array)
    return array


@pytest.mark.regression("T12", "numpy/numpy#30795")
@every_copyable
@layouts
def test_structures_go_where_numbers_would(kind, layout):
    texts = kind.read(kind.make())
    for name, put in PLACES.items():
        a = records(kind, layout)
        places, found = put(np.arange(N)).ravel(), put(a).ravel()
        a[:] = a[:1].copy()
        assert kind.read(field(found, layout)) == [texts[i] for i in places], name
        assert found["n"].tolist() == places.tolist(), name


# What older NumPys copy raw, or call NULL for.
@pytest.mark.regression("T12", "T13", "numpy/numpy#30795", "numpy/numpy#32151")
@every_copyable
@layouts
def test_one_structure_is_read_and_assigned(kind, layout):
    a = records(kind, layout)
    texts = kind.read(field(a, layout))
    a[1] = a[0]
    scalar = a[3]
    a[4] = scalar
    a[5] = a[6].copy()
    a[7] = copy.deepcopy(a[2])
    # The scalar is a view of its cell.
    a[3] = a[0]
    assert kind.read(np.array(field(scalar, layout), dtype=kind.element)) == texts[:1]
    places = [0, 0, 2, 0, 3, 6, 6, 2]
    assert kind.read(field(a, layout)) == [texts[i] for i in places]
    assert a["n"].tolist() == places
    if kind.default is not None or layout != "two":
        a[6] = a[2].item()
        assert kind.read(field(a[6:7], layout)) == texts[2:3]
        assert len(a.tolist()) == N and repr(a)
    del a
    gc.collect()
    assert kind.read(np.array(field(scalar, layout), dtype=kind.element)) == texts[:1]


@pytest.mark.regression(
    "T13", "numpy/numpy#30795", "numpy/numpy#24859", "numpy/numpy#32151", "numpy/numpy-quaddtype#7"
)
@every_copyable
@pytest.mark.parametrize("layout", [None, *LAYOUTS])
def test_raw_paths_of_older_numpys_copy_objects_or_refuse(kind, layout):
    def make(count=N):
        return kind.make(count) if layout is None else records(kind, layout, count)

    def read(array):
        return kind.read(array if layout is None else field(array, layout))

    a = make()
    texts = read(a)
    np.place(a, np.arange(N) > 4, make(2))
    assert read(a) == [*texts[:5], texts[0], texts[1], texts[0]]
    a.flat = make(3)
    assert read(a) == (texts[:3] * 3)[:N]
    a.flat[2:5] = make(3)
    a.flat[7] = make(4)[3]
    assert read(a)[2:5] == texts[:3] and read(a)[7:] == texts[3:4]
    assert read(a.flat[1:4]) == read(a)[1:4]
    a[:] = make()
    assert read(a.byteswap().byteswap()) == texts
    a.byteswap(inplace=True)
    assert read(a) == texts
    for refused in (
        lambda: a.view(a.dtype.newbyteorder()),
        lambda: a.astype(a.dtype.newbyteorder()),
        lambda: np.einsum("i->", a),
        lambda: np.einsum("i,i->i", a, a),
        lambda: a.view("u1"),
        lambda: a.setfield(np.ones(N, "u1"), "u1", a.itemsize // 2),
    ):
        with pytest.raises((TypeError, ValueError)):
            refused()
    assert read(a) == texts
    assert read(a.getfield(a.dtype)) == texts


@pytest.mark.regression("T12", "T15")
@every_copyable
@layouts
def test_sorts_of_structures_order_them_or_say_that_nothing_does(kind, layout):
    a = records(kind, layout, 20)
    a["n"] = np.arange(20) % 3
    names = ["n", (layout == "nested" and "in") or "x"]
    sorts = {
        "sort": lambda: np.sort(a),
        "sort by order": lambda: np.sort(a, order=names),
        "stable": lambda: np.sort(a, kind="stable"),
        "argsort": lambda: a[np.argsort(a)],
        "partition": lambda: np.partition(a, 5),
        "unique": lambda: np.unique(a),
        "lexsort": lambda: a[np.lexsort((field(a, layout), a["n"]))],
        "searchsorted": lambda: np.searchsorted(a[:1], a[:1]),
    }
    if layout == "two":
        a["x"] = a["y"]
    texts = sorted(kind.read(field(a, layout)))
    for name, sort in sorts.items():
        if not kind.ordered:
            with pytest.raises(TypeError, match=r"order|compar"):
                sort()
            continue
        result = sort()
        if name == "searchsorted":
            assert result.tolist() == [0]
        elif name != "unique":
            assert sorted(kind.read(field(result, layout))) == texts
        if name in ("lexsort", "sort by order"):
            assert result["n"].tolist() == sorted(a["n"].tolist())
            for n in range(3):
                group = field(result[result["n"] == n], layout)
                assert kind.read(group) == kind.read(np.sort(group))
    assert sorted(kind.read(field(a, layout))) == texts


@pytest.mark.regression("T12", "T20")
@every_copyable
@layouts
def test_structures_are_pickled_or_refused_as_their_elements_are(kind, layout):
    a = records(kind, layout)
    if not kind.pickles:
        with pytest.raises(TypeError):
            pickle.dumps(a)
        return
    if kind.default is None and layout == "two":
        a["x"] = a["y"]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(a, protocol))
        assert again.dtype == a.dtype
        assert kind.read(field(again, layout)) == kind.read(field(a, layout))
    again[:] = again[::-1].copy()
    assert again["n"].tolist() == list(range(N))[::-1]


# Of elements that only move nothing is copied out of a structure, or lost in it.
@pytest.mark.regression("T12")
@every(lambda kind: not kind.copyable)
@layouts
def test_structures_of_elements_that_only_move_refuse_to_copy_them(kind, layout):
    a = np.zeros(3, dtype=dtype_of(kind, layout))
    b = np.zeros(3, dtype=a.dtype)
    before = kind.stats()["live"]
    for refused in (
        a.copy,
        lambda: a.take([0]),
        lambda: a[[0, 1]],
        lambda: a.__setitem__(0, b[1]),
        lambda: b.__setitem__(slice(None), a),
        lambda: np.place(a, [True, False, True], b),
        lambda: a.flat.__setitem__(0, b[0]),
        lambda: setattr(a, "flat", b),
        lambda: np.concatenate([a, b]),
        lambda: a.tolist(),
        lambda: pickle.dumps(a),
    ):
        with pytest.raises((TypeError, ValueError), match="copyable|pickled|single item"):
            refused()
    gc.collect()
    assert kind.stats()["live"] == before
    resized(a, 5)


@pytest.mark.regression("T41")
@every_copyable
def test_fields_of_packed_records_are_objects_too(kind):
    packed = np.zeros(6, dtype=[("pad", "u1"), ("x", kind.element)])
    a = kind.make(6)
    packed["x"] = a

    def work():
        copied = packed[::-1].copy()
        copied["x"][1:3] = packed["x"][[0, 0]]
        return kind.read(copied["x"])

    texts = kind.read(a)
    read, change = kind.counted(work)
    assert read == [texts[5], texts[0], texts[0], *texts[2::-1]]
    assert change["live"] == 0
    if kind.adds:
        assert kind.plains(packed["x"] + packed["x"]) == kind.sums(a, a)
        packed["x"] += a
        assert kind.plains(packed["x"]) == kind.sums(a, a)
