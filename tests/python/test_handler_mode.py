"""`denizen.handler`: segments for arrays of every dtype, and the caller's handler back afterwards."""

import asyncio
import contextvars
import ctypes
import gc
import io
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest
from handlers import Handler, OwnHandler, get_handler, handler_in, new_capsule, set_handler

import denizen
from denizen import Integer, _runtime

DEFAULT = denizen.handler_name()
BEFORE_2_5 = np.lib.NumpyVersion(np.__version__) < "2.5.0"


@pytest.fixture(autouse=True)
def caller_keeps_handler():
    before = get_handler()
    yield
    assert get_handler() is before


@pytest.fixture
def own():
    """A user's handler, all of whose memory is given back when the test ends."""
    own = OwnHandler()
    yield own
    gc.collect()
    assert own.live == {} and own.wrong == []


def over(own):
    return f"denizen over {own.handler.name.decode()}"


MODES = {
    "plain": lambda own: denizen.handler(),
    "over_own": lambda own: denizen.handler(under=own.capsule),
    "over_default": lambda own: denizen.handler(under=get_handler()),
}


@pytest.fixture(params=MODES)
def block(request, own):
    """A function that makes a handler block."""
    return lambda: MODES[request.param](own)


# ---- T26, numpy#27327: what is no handler is refused at once -------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(object(), id="object"),
        pytest.param("mem_handler", id="str"),
        pytest.param(np._core._multiarray_umath._ARRAY_API, id="nameless capsule"),
        pytest.param(new_capsule(Handler(b"x", 1), b"memory_handler"), id="other name"),
        pytest.param(new_capsule(Handler(b"empty", 1)), id="empty"),
        pytest.param(OwnHandler(version=0).capsule, id="version 0"),
        pytest.param(OwnHandler(version=2).capsule, id="version 2"),
        *(
            pytest.param(OwnHandler(without=member).capsule, id=f"no {member}")
            for member in ("malloc", "calloc", "realloc", "free")
        ),
    ],
)
def test_what_is_no_handler_is_a_value_error_at_once(wrong):
    with pytest.raises(ValueError):
        denizen.handler(under=wrong)
    assert denizen.handler_name() == DEFAULT


def test_the_refusal_says_what_is_wrong():
    with pytest.raises(ValueError, match="calloc is NULL"):
        denizen.handler(OwnHandler(without="calloc").capsule)
    with pytest.raises(ValueError, match="version 7"):
        denizen.handler(OwnHandler(version=7).capsule)
    with pytest.raises(ValueError, match='named "memory_handler"'):
        denizen.handler(new_capsule(Handler(b"x", 1), b"memory_handler"))


# ---- the handler before is the handler afterwards ------------------------------------------------


def test_arrays_of_every_dtype_are_ours_inside_and_nobodys_outside():
    with denizen.handler():
        assert denizen.handler_name() == "denizen"
        for dtype in ("f8", "i4", "c16", "O", "U5", "S3", "M8[s]", "f8,O", np.dtypes.StringDType()):
            assert denizen.handler_name(np.zeros(3, dtype)) == "denizen"
    assert denizen.handler_name(np.zeros(3)) == DEFAULT


def test_exactly_the_handler_before_is_restored(own):
    previous = set_handler(own.capsule)
    try:
        for _ in range(3):
            with denizen.handler():
                assert denizen.handler_name() == "denizen"
            assert get_handler() is own.capsule
            with pytest.raises(KeyError), denizen.handler(under=own.capsule):
                assert denizen.handler_name() == "denizen over users_own"
                raise KeyError
            assert get_handler() is own.capsule
    finally:
        set_handler(previous)


def test_a_handler_that_was_left_in_the_block_goes_with_it(own):
    before = get_handler()
    with denizen.handler():
        set_handler(own.capsule)
        a = np.zeros(3)
    assert get_handler() is before
    assert denizen.handler_name(a) == "users_own"


def test_blocks_nest(own):
    with denizen.handler():
        outer = get_handler()
        a = np.arange(10.0)
        with denizen.handler(under=own.capsule):
            b = a + 1
            with denizen.handler():
                c = b + 1
                assert denizen.handler_name() == "denizen"
            assert denizen.handler_name() == "denizen over users_own"
        assert get_handler() is outer
    assert [denizen.handler_name(x) for x in (a, b, c)] == ["denizen", over(own), "denizen"]


def test_a_block_is_entered_once_at_a_time_and_may_be_used_again():
    block = denizen.handler()
    for _ in range(2):
        with block:
            with pytest.raises(RuntimeError, match="entered already"):
                block.__enter__()
            assert denizen.handler_name() == "denizen"
        assert denizen.handler_name() == DEFAULT
    with pytest.raises(RuntimeError, match="not entered"):
        block.__exit__(None, None, None)


def test_blocks_are_left_in_order():
    outer, inner = denizen.handler(), denizen.handler()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="after the blocks inside"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)


def test_a_block_is_left_where_it_was_entered():
    block = denizen.handler()
    with block:
        for context in (contextvars.Context(), contextvars.copy_context()):
            with pytest.raises(RuntimeError, match="context"):
                context.run(block.__exit__, None, None, None)
        assert denizen.handler_name() == "denizen"


def test_one_of_our_handlers_over_another_is_that_handler(own):
    with denizen.handler(under=own.capsule):
        inside = get_handler()
        with denizen.handler(under=inside):
            assert get_handler() is inside
    with denizen.handler():
        inside = get_handler()
        with denizen.handler(under=inside):
            assert get_handler() is inside and np.zeros(3).sum() == 0


# ---- T28: threads, tasks, generators -------------------------------------------------------------


def test_threads_have_their_own_handler():
    seen = {}

    def work():
        seen["thread"] = denizen.handler_name(np.zeros(3))
        with denizen.handler():
            seen["block"] = denizen.handler_name(np.zeros(3))
            seen["integers"] = denizen.owner(np.zeros(3, Integer))
        seen["after"] = denizen.handler_name()

    with denizen.handler():
        thread = threading.Thread(target=work, **NO_CONTEXT)
        thread.start()
        thread.join()
        assert denizen.handler_name() == "denizen"
    assert seen == {"thread": DEFAULT, "block": "denizen", "integers": "managed", "after": DEFAULT}


#: A free-threaded interpreter copies the context to threads by default.
NO_CONTEXT = {"context": contextvars.Context()} if sys.version_info >= (3, 14) else {}


def test_many_threads_in_blocks_of_their_own(block):
    errors = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(30):
                with block():
                    a = rng.integers(0, 1000, 500)
                    a.resize(800, refcheck=False)
                    assert (np.sort(a) == sorted(a.tolist())).all()
                assert denizen.handler_name() == DEFAULT
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,), **NO_CONTEXT) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_an_array_may_be_freed_in_another_thread(block):
    with block():
        arrays = [np.arange(1000), np.array([object() for _ in range(10)])]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert arrays == []


def test_tasks_inherit_the_block_they_were_made_in_and_keep_theirs_to_themselves():
    async def inside(own_block):
        names = [denizen.handler_name()]
        with own_block:
            await asyncio.sleep(0)
            names.append(denizen.handler_name(np.zeros(3)))
            await asyncio.sleep(0)
        names.append(denizen.handler_name())
        return names

    async def main():
        with denizen.handler():
            inheriting = asyncio.create_task(inside(denizen.handler()))
        free = asyncio.create_task(inside(denizen.handler()))
        names = []
        for _ in range(5):
            names.append(denizen.handler_name())
            await asyncio.sleep(0)
        return await inheriting, await free, names

    inheriting, free, names = asyncio.run(main())
    assert inheriting == ["denizen"] * 3
    assert free == [DEFAULT, "denizen", DEFAULT]
    assert names == [DEFAULT] * 5


def test_a_generator_gives_the_handler_back_when_it_ends():
    def generator():
        with denizen.handler():
            yield denizen.handler_name(np.zeros(2))
            yield denizen.handler_name(np.zeros(2))

    assert list(generator()) == ["denizen"] * 2
    assert denizen.handler_name() == DEFAULT
    abandoned = generator()
    next(abandoned)
    abandoned.close()
    assert denizen.handler_name() == DEFAULT


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
        # Header and cells are in one block of the host.
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
