"""Handler mode: what arrays made in a block hold, and who frees them."""

import ctypes
import gc
import io
import pickle
import sys
import weakref

import numpy as np
import pytest
from support.handler_mode import DEFAULT
from support.handlers import OwnHandler, get_handler, handler_in, set_handler

import denizen
from denizen import Integer, _runtime

pytestmark = pytest.mark.usefixtures("caller_keeps_handler")

BEFORE_2_5 = np.lib.NumpyVersion(np.__version__) < "2.5.0"


# ---- memory of all dtypes ------------------------------------------------------------------------


def battery():
    """Results of operations that allocate in every way NumPy knows."""
    rng = np.random.default_rng(7)
    floats = rng.random(3000)
    words = np.array([f"w{i % 97}" * (i % 5) for i in range(500)])
    records = np.zeros(200, dtype=[("a", "i8"), ("b", "f8", (2,)), ("c", "O"), ("d", "U4")])
    records["a"] = rng.permutation(200)
    records["b"] = rng.random((200, 2))
    records["c"] = [str(i) for i in range(200)]
    records["d"] = words[:200].astype("U4")
    strings = words.astype(np.dtypes.StringDType())
    objects = np.array([2**70 + i if i % 3 else str(i) for i in range(300)], dtype=object)
    numbers = np.array([(i * 37) % 101 for i in range(300)], dtype=object)
    for array in (floats, words, records, strings, objects, numbers):
        yield array.copy()
        yield np.concatenate([array, array[::-1]])
        yield array[np.arange(0, len(array), 3)]
        yield array[array == array[0]]
        yield np.tile(array, 3)
        yield pickle.loads(pickle.dumps(array))
        for size in (len(array) * 7, 3, 0, 50):
            resized = array.copy()
            resized.resize(size, refcheck=False)
            yield resized.copy()
            resized.resize(20, refcheck=False)
            yield resized
        yield array[: 2 * (len(array) // 2)].reshape(2, -1).T.copy()
        yield np.ascontiguousarray(array[::2])
    for array in (floats, words, strings, numbers):
        for kind in ("quicksort", "stable"):
            yield np.sort(array, kind=kind)
        yield np.argsort(array, kind="stable")
        yield np.partition(array, 5)[5:6] if array is not strings else array[:1]
        yield np.unique(array)
    yield np.sort(records, order=["a"])
    yield np.lexsort([floats, -floats])
    yield np.fromiter((i * i for i in range(1000)), dtype="i8")
    yield np.fromiter((str(i) for i in range(700)), dtype=object)
    yield np.loadtxt(io.StringIO("1 2\n3 4\n" * 300))
    yield np.frombuffer(b"12345678" * 10, "i8") + 1
    yield np.bincount(np.arange(1000) % 17)
    yield np.add.reduce(floats.reshape(30, 100), axis=1)
    yield np.cumsum(floats)
    yield np.einsum("i,j->ij", floats[:50], floats[:60])
    yield floats.astype("f4").astype("O").astype("f8")
    yield np.where(floats > 0.5, floats, 0)
    yield np.zeros((2, 0, 2))
    yield np.array(7.5)
    yield np.zeros(3, "V0")
    yield np.empty(0)
    yield np.zeros(1 << 17)
    yield np.histogram(floats, 11)[0]
    yield np.fft.rfft(floats)
    yield np.linalg.inv(floats[:2500].reshape(50, 50) + 50 * np.eye(50))


def test_memory_of_every_dtype_is_right(block):
    def printed(arrays):
        return [(a.dtype, a.shape, repr(a.tolist())) for a in arrays]

    expected = printed(battery())
    with block():
        results = list(battery())
        inside = printed(results)
    assert inside == expected
    # Some results outlive the block, and are resized and freed outside.
    for array in results[:40]:
        if array.flags.owndata:
            array.resize(5, refcheck=False)
    del results, array


def test_objects_in_object_arrays_are_held_once(block):
    class Object:
        pass

    kept = [Object() for _ in range(50)]
    before = [sys.getrefcount(item) for item in kept]
    gone = weakref.ref(Object())
    with block():
        a = np.array([*kept, Object()], dtype=object)
        gone = weakref.ref(a[-1])
        b = np.concatenate([a, a])[::2]
        b = np.where(np.arange(51) % 2 == 0, b, a)
        a.resize(500, refcheck=False)
        a.resize(20, refcheck=False)
        struct = np.zeros(50, dtype=[("o", "O"), ("x", "i4")])
        struct["o"] = kept
        struct = struct.copy()
    del a, b, struct
    gc.collect()
    assert gone() is None
    assert [sys.getrefcount(item) for item in kept] == before


# ---- T27, numpy#17582: each array goes by the handler that made it -------------------------------


@pytest.mark.regression("T27", "numpy/numpy#17582")
def test_arrays_made_on_one_side_are_resized_and_freed_on_the_other(block):
    made = {}
    outside = np.arange(100)
    with block():
        made["block"] = np.arange(100)
        outside.resize(1000, refcheck=False)
        assert denizen.handler_name(outside) == DEFAULT
        del outside
        own_after = OwnHandler(b"another")
        previous = set_handler(own_after.capsule)
        try:
            other = np.arange(50)
            made["block"].resize(1000, refcheck=False)
        finally:
            set_handler(previous)
        other.resize(500, refcheck=False)
    assert made["block"][:100].tolist() == list(range(100)) and not made["block"][100:].any()
    made["block"].resize(10, refcheck=False)
    assert made["block"].tolist() == list(range(10))
    assert other[:50].tolist() == list(range(50))
    made.clear()
    del other
    assert own_after.live == {} and own_after.wrong == []


def test_a_handler_under_ours_lives_as_long_as_an_array(own):
    def references():
        gc.collect()
        return sys.getrefcount(own.capsule)

    before = references()
    with denizen.handler(under=own.capsule):
        a = np.arange(1000)
    assert len(own.live) == 1
    assert references() == before + 1
    a.resize(2000, refcheck=False)
    assert a[:1000].tolist() == list(range(1000))
    del a
    assert own.live == {}
    assert references() == before


def test_memory_comes_from_the_handler_under_ours(own):
    with denizen.handler(under=own.capsule):
        calls = own.calls
        a = np.zeros(10_000)
        assert own.calls == calls + 1
        # Header and cells are in one block of the upstream handler.
        (block,) = own.live.items()
        assert block[0] < a.ctypes.data and a.ctypes.data + a.nbytes <= sum(block)
        assert a.ctypes.data % 64 == 0
        del a
        assert own.live == {}


def test_a_host_without_memory_is_a_memory_error():
    poor = OwnHandler(b"poor")
    full = handler_in(poor.capsule)[0]
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(lambda c, n: None)
    address = ctypes.cast(nothing, ctypes.c_void_p).value
    with denizen.handler(under=poor.capsule):
        a = np.arange(10)
    full.allocator.malloc = address
    with denizen.handler(under=poor.capsule):
        with pytest.raises(MemoryError):
            np.empty(10)
        # The functions were taken over when the block was made.
        a.resize(100, refcheck=False)
    assert a[:10].tolist() == list(range(10))
    del a
    assert poor.live == {}


def test_a_host_that_hands_on_our_own_memory_is_refused():
    with denizen.handler():
        ours = handler_in(get_handler())[1]
    wrapper = OwnHandler(b"wrapper")
    allocator = wrapper.handler.allocator
    functions = {
        "malloc": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
            lambda _, size: ours["malloc"](None, size)
        ),
        "calloc": ctypes.CFUNCTYPE(
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
        )(lambda _, count, size: ours["calloc"](None, count, size)),
        "free": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
            lambda _, pointer, size: ours["free"](None, pointer, size)
        ),
    }
    for name, function in functions.items():
        setattr(allocator, name, ctypes.cast(function, ctypes.c_void_p).value)
    with denizen.handler(under=wrapper.capsule):
        for make in (np.empty, np.zeros):
            with pytest.raises(MemoryError):
                make(10)


def test_odd_calls_of_the_functions(block):
    with block():
        capsule = get_handler()
    handler, functions = handler_in(capsule)
    context = handler.allocator.context
    malloc, calloc, realloc, free = (
        functions[name] for name in ("malloc", "calloc", "realloc", "free")
    )
    free(context, None, 100)
    pointer = realloc(context, None, 100)
    ctypes.memset(pointer, 0x5A, 100)
    for size in (1, 100, 0, 1_000_000, 1, 64):
        before = ctypes.string_at(pointer, 1)
        pointer = realloc(context, pointer, size)
        assert ctypes.string_at(pointer, 1) == before
    # Sizes that lie.
    free(context, pointer, 1 << 60)
    # NumPy's own calloc wants the GIL from 1024 bytes on, which a foreign function call gives up.
    free(context, calloc(context, 700, 1), 0)
    free(context, malloc(context, 0), 17)
    assert calloc(context, 1 << 40, 1 << 40) is None
    assert malloc(context, (1 << 64) - 1) is None
    pointer = malloc(context, 10)
    assert realloc(context, pointer, 1 << 62) is None
    free(context, pointer, 10)


# ---- our own dtypes beside the mode --------------------------------------------------------------


@pytest.mark.regression("T27", "numpy/numpy#17582")
def test_arrays_of_ours_have_denizens_own_memory_whatever_is_current(block, own):
    with block():
        a = np.array([2**100, 0, -5], dtype=Integer)
        calls = own.calls
        b = np.concatenate([a * a, a])
        b.resize(100, refcheck=False)
        assert own.calls == calls
        assert denizen.handler_name(a) == denizen.handler_name(b) == "denizen"
        assert denizen.owner(b) == "managed" and denizen.inspect(b).live == 4
        floats = b.astype("f8")
        indices = np.argsort(b)
        assert denizen.handler_name(floats) == denizen.handler_name()
    assert b[:6].tolist() == [2**200, 0, 25, 2**100, 0, -5]
    assert floats[0] == 2.0**200 and b[indices[-1]] == 2**200


def integers_in_untyped_segments():
    """Works on arrays of ours whose memory no loop of ours was told of."""
    a = np.array([2**100, 0, -5, 2**90], dtype=Integer)
    b = np.concatenate([a, a * a])
    b.resize(500, refcheck=False)
    b[200:204] = a
    b.resize(202, refcheck=False)
    c = pickle.loads(pickle.dumps(b))
    c.resize(300, refcheck=False)
    d = np.sort(b)
    d[:3] = 2**99
    d[:3] = 0
    return b[:8].tolist(), b[200:].tolist(), c.tolist(), d[-1], d[:3].tolist()


def test_arrays_of_ours_in_untyped_segments_live_by_their_cells(block):
    expected = integers_in_untyped_segments()
    _runtime._set_arming(False)
    try:
        with block():
            assert denizen.handler_name(np.zeros(2, Integer)) == denizen.handler_name()
            before = denizen.stats()["denizen.Integer"]["live"]
            assert integers_in_untyped_segments() == expected
            assert denizen.stats()["denizen.Integer"]["live"] == before
    finally:
        _runtime._set_arming(True)


def test_structured_arrays_in_untyped_segments_live_by_their_cells(block):
    with block():
        a = np.zeros(50, dtype=[("x", "f8"), ("n", Integer.dtype), ("o", "O"), ("y", "f8")])
        a["x"] = a["y"] = np.pi
        a["n"] = [2**80 + i for i in range(50)]
        a["o"] = "text"
        before = denizen.stats()["denizen.Integer"]["live"]
        b = a.copy()
        b.resize(90, refcheck=False)
        b.resize(20, refcheck=False)
        assert denizen.stats()["denizen.Integer"]["live"] == before + 20
        assert b["n"].tolist() == [2**80 + i for i in range(20)]
        assert (b["x"] == np.pi).all() and (b["y"] == np.pi).all()
        seen = denizen.inspect(b["n"])
        assert (seen.cells, seen.live, seen.owner) == (20, 20, "managed")
        assert seen.heap_bytes == denizen.inspect(b["n"].copy()).heap_bytes
        b["n"] = 0
        assert denizen.inspect(b["n"]).live == 0
        b["n"][3] = 2**70
        c = np.concatenate([b, a])
        del b
    assert c["n"][3] == 2**70 and denizen.inspect(c["n"]).live == 51


# ---- T10, T11: structured dtypes whose subarrays arm ---------------------------------------------

LAYOUTS = [
    [("n", Integer.dtype, (2,)), ("x", "f8")],
    [("x", "f8"), ("n", Integer.dtype, (2,))],
    [("x", "i1"), ("n", Integer.dtype, (2,))],
    [("a", Integer.dtype, (2,)), ("x", "f8", (3,)), ("b", Integer.dtype, (3, 1)), ("y", "i4")],
]


@pytest.mark.parametrize("count", [8, 9, 1000])
@pytest.mark.parametrize("layout", LAYOUTS, ids=range(len(LAYOUTS)))
def test_other_fields_beside_subarrays_are_never_taken_for_objects(layout, count):
    """NumPy 2.4 lets such a dtype be; where it gets memory of ours, only our cells are objects."""
    try:
        dtype = np.dtype(layout)
        a = np.zeros(count, dtype=dtype)
    except TypeError:
        assert not BEFORE_2_5
        return
    ours = [name for name in dtype.names if dtype[name].base == Integer.dtype]
    others = [name for name in dtype.names if name not in ours]
    per_record = sum(int(np.prod(dtype[name].shape)) for name in ours)

    def fill(array):
        for name in others:
            array[name] = -7 if array[name].dtype.kind == "i" else -1.2345e-200
        for index in range(len(array)):
            for name in ours:
                array[name][index] = 2**80 + index

    def check(array, records):
        for name in others:
            assert (array[name][:records] != 0).all() and not array[name][records:].any()
        for index in range(records):
            for name in ours:
                assert (array[name][index] == 2**80 + index).all()

    def live():
        gc.collect()
        return denizen.stats()["denizen.Integer"]["live"]

    if BEFORE_2_5:
        # Else this test tests nothing.
        assert denizen.handler_name(a) == "denizen"
    start = live()
    fill(a)
    assert live() == start + count * per_record
    b = a.copy()
    assert live() == start + 2 * count * per_record
    del a
    check(b, count)
    assert live() == start + count * per_record
    b.resize(3 * count + 1, refcheck=False)
    check(b, count)
    b.resize(5, refcheck=False)
    check(b, 5)
    assert live() == start + 5 * per_record
    b.resize(count, refcheck=False)
    fill(b)
    c = np.concatenate([b, b[::-1]])
    for name in ours:
        c[name] = 0
    assert live() == start + count * per_record
    c[::2] = c[0]
    del b, c
    assert live() == start


@pytest.mark.skipif(not BEFORE_2_5, reason="NumPy 2.5 refuses user dtypes in subarrays")
def test_a_state_ends_no_objects_of_records():
    """NumPy would free the old memory without a clear: an array that has items takes no state."""
    dtype = np.dtype([("n", Integer.dtype, (2,)), ("x", "f8")])
    a, b = np.zeros(8, dtype), np.zeros(5, dtype)
    before = denizen.stats()["denizen.Integer"]["live"]
    a["n"], a["x"] = 2**80, -1.2345e-200
    b["n"], b["x"] = 2**81, 3
    with pytest.raises(ValueError, match="has 8 items"):
        a.__setstate__(b.__reduce__()[2])
    assert (a["n"] == 2**80).all() and (a["x"] == -1.2345e-200).all()
    a = a[:0].copy()
    a.__setstate__(b.__reduce__()[2])
    assert a["n"].tolist() == b["n"].tolist() and (a["x"] == 3).all()
    assert denizen.stats()["denizen.Integer"]["live"] == before + 20
