"""Arrays, adopted memory and views through the function table, with what no client would pass."""

import ctypes
import sys
from ctypes import addressof, byref, sizeof

import denizen_raw as raw
import numpy as np
import pytest
from support.c_table import (
    API,
    RELEASE,
    Stats,
    View,
    address,
    constant,
    lengths,
    register,
    spec,
    text,
    vtable,
)

import denizen

# ---- new arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ([-1], ValueError, "negative length -1"),
        ([3, -(2**63)], ValueError, "negative length"),
        ([2**62, 2**62], OverflowError, "larger than memory"),
        ([2**60], OverflowError, "larger than memory"),
        ([0, 2**63 - 1], OverflowError, "larger than memory"),
        ([1] * 65, ValueError, "65 dimensions are more than the 64"),
        ([2**59], MemoryError, "llocat"),
    ],
)
def test_shapes_that_cannot_be_are_refused(integer, shape, error, message):
    before = denizen.stats()["denizen.Integer"]
    with pytest.raises(error, match=message):
        API["empty"](integer, len(shape), lengths(*shape))
    assert denizen.stats()["denizen.Integer"] == before
    assert np.empty(3).sum() is not None and denizen.handler_name() == "default_allocator"


def test_shapes_at_the_border_work(integer):
    assert API["empty"](integer, 0, None).shape == ()
    assert API["empty"](integer, 64, lengths(*[1] * 64)).ndim == 64
    assert API["empty"](integer, 2, lengths(0, 5)).size == 0
    with pytest.raises(ValueError, match="NULL"):
        API["empty"](integer, 1, None)
    with pytest.raises(ValueError, match="dimensions"):
        API["empty"](integer, 2**40, lengths(1))


# ---- adoption ------------------------------------------------------------------------------------


class Lender:
    """Memory to adopt, and how often it was given back."""

    def __init__(self, words=100):
        self.memory = (ctypes.c_uint64 * words)()
        self.released = []
        self.callback = RELEASE(self.released.append)

    def adopt(self, element, shape=(10,), strides=None, offset=0, flags=0, **changes):
        return API["adopt"](
            element,
            changes.get("data", addressof(self.memory) + offset),
            1 if shape is None else len(shape),
            lengths(*shape) if shape is not None else None,
            lengths(*strides) if strides is not None else None,
            addressof(self.memory),
            address(self.callback),
            flags,
        )


BAD_ADOPTIONS = [
    ({"offset": 4}, ValueError, "not aligned to the 8 bytes"),
    ({"strides": (12,)}, ValueError, "not aligned to the 8 bytes"),
    ({"data": None}, ValueError, "is NULL"),
    ({"shape": (-1,)}, ValueError, "negative length -1"),
    ({"shape": (2**62,)}, OverflowError, "larger than memory"),
    ({"shape": (1,) * 65}, ValueError, "65 dimensions"),
    ({"shape": None}, ValueError, "NULL"),
    ({"shape": (2**40,), "strides": (2**40,)}, OverflowError, "beyond the memory"),
    ({"shape": (2, 2), "strides": (2**62, 2**62)}, OverflowError, "beyond the memory"),
    ({"shape": (2,), "strides": (-(2**62),)}, OverflowError, "beyond the memory"),
    ({"flags": 2}, ValueError, "unknown flags 0x2"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD_ADOPTIONS)
def test_an_adoption_that_fails_releases_its_owner_once(word, changes, error, message):
    lender = Lender()
    with pytest.raises(error, match=message):
        lender.adopt(word, **changes)
    assert lender.released == [addressof(lender.memory)]
    # Nothing of the memory is adopted still: it can be lent once more.
    again = lender.adopt(word)
    assert denizen.owner(again) == "adopted" and len(lender.released) == 1
    del again
    assert len(lender.released) == 2


def test_cells_that_overlap_are_not_adopted(module):
    handle = register(module, spec(vtable("ctable.Wide", size=16, vacancy_size=16)))
    lender = Lender()
    with pytest.raises(ValueError, match="16-byte cells of ctable.Wide overlap"):
        lender.adopt(handle, strides=(8,))
    assert len(lender.released) == 1


@pytest.mark.parametrize("storage", ["TAGGED", "BOXED"])
def test_only_inline_types_are_adopted(module, storage):
    name = f"ctable.Adopt{storage}"
    members = {"storage": constant(f"STORAGE_{storage}"), "zero_bytes": constant("ZERO_VACANT")}
    handle = register(module, spec(vtable(name, **members)))
    lender = Lender()
    with pytest.raises((TypeError, ValueError), match=f"{name} is not stored inline"):
        lender.adopt(handle)
    assert len(lender.released) == 1


def test_an_unknown_handle_releases_the_owner_too():
    lender = Lender()
    with pytest.raises(RuntimeError, match="not a handle"):
        lender.adopt(64)
    assert len(lender.released) == 1


def test_memory_of_ours_is_not_adopted(word, module):
    own = API["empty"](word, 1, lengths(10))
    lender = Lender()
    with pytest.raises(ValueError):
        lender.adopt(word, data=own.ctypes.data)
    assert len(lender.released) == 1 and denizen.owner(own) == "managed"


def test_adopted_memory_overlapping_another_adoption_is_refused(word):
    lender, other = Lender(), Lender()
    kept = lender.adopt(word, shape=(10,))
    with pytest.raises(ValueError):
        other.adopt(word, data=addressof(lender.memory) + 40)
    assert len(other.released) == 1 and not lender.released
    assert denizen.owner(kept) == "adopted"


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": ()},
        {"shape": (0,), "data": None},
        {"shape": (10,), "strides": (-8,), "offset": 400},
        {"shape": (1,), "strides": (3,)},
        {"shape": (5, 4), "strides": (8, 40)},
        {"shape": (7,), "flags": constant("ADOPT_READ_ONLY")},
    ],
)
def test_adoptions_of_every_form_are_released_with_the_last_view(word, arguments):
    lender = Lender()
    a = lender.adopt(word, **arguments)
    assert a.shape == arguments["shape"]
    assert a.flags.writeable == ("flags" not in arguments)
    assert (a.ctypes.data == addressof(lender.memory) + arguments.get("offset", 0)) or a.size == 0
    view = a.T
    del a
    assert not lender.released
    del view
    assert len(lender.released) == 1


def test_memory_may_be_adopted_without_a_release_function(word):
    lender = Lender()
    a = API["adopt"](word, addressof(lender.memory), 1, lengths(3), None, None, None, 0)
    assert denizen.owner(a) == "adopted"


@ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_ssize_t,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
def build_sevens(_context, cells, stride, count, _report):
    for index in range(count):
        ctypes.c_uint64.from_address(cells + index * stride).value = 7
    return 0


@pytest.mark.parametrize("has_default", [True, False])
def test_an_owner_s_cells_are_never_left_without_an_object(module, has_default):
    construct = address(build_sevens) if has_default else 0
    changes = {"zero_bytes": constant("ZERO_VACANT"), "construct": construct}
    handle = register(module, spec(vtable(f"{module.__name__}.Seven{has_default}", **changes)))
    lender = Lender()
    lender.memory[:] = [5] * 100
    a = lender.adopt(handle)
    vacant = np.zeros(10, dtype=a.dtype)
    if has_default:
        a[2:6] = vacant[:4]
        assert lender.memory[:10] == [5, 5, 7, 7, 7, 7, 5, 5, 5, 5]
    else:
        with pytest.raises(denizen.VacantError):
            a[2:6] = vacant[:4]
        assert lender.memory[:10] == [5] * 10


# ---- views ---------------------------------------------------------------------------------------

WRITE = constant("VIEW_WRITE")


def test_views_of_the_wrong_thing_are_refused_and_lend_nothing(word):
    a = API["empty"](word, 1, lengths(10))
    read_only = a.view()
    read_only.flags.writeable = False
    packed = np.zeros(3, dtype=[("pad", "u1"), ("cell", a.dtype)])["cell"]
    view = View(struct_size=sizeof(View))

    def attempt(array, flags=0, into=view):
        API["view"](id(array), word, flags, byref(into))

    for other in [np.zeros(3), np.zeros(3, dtype=denizen.Integer), [1], None, a[0]]:
        with pytest.raises(TypeError, match=r"expected an array of ctable\.Word"):
            attempt(other)
    with pytest.raises(ValueError, match="read-only"):
        attempt(read_only, WRITE)
    with pytest.raises(ValueError, match="not aligned"):
        attempt(packed)
    with pytest.raises(ValueError, match="unknown flags 0x8"):
        attempt(a, 8)
    with pytest.raises(ValueError, match="`struct_size`, 100, is smaller"):
        attempt(a, 0, View(struct_size=100))
    with pytest.raises(TypeError, match="NULL"):
        API["view"](None, word, 0, byref(view))
    with pytest.raises(TypeError, match="NULL"):
        API["view"](id(a), word, 0, None)
    assert (view.array, view.token, view.data) == (0, 0, 0)
    references = sys.getrefcount(a)
    attempt(a, WRITE)
    assert view.data == a.ctypes.data and view.shape[0] == 10 and view.strides[0] == 8
    assert sys.getrefcount(a) == references + 1
    API["release_view"](byref(view))
    assert sys.getrefcount(a) == references


def test_a_view_is_released_once_however_often_it_is_given_back(word):
    a = API["empty"](word, 1, lengths(10))
    view, other = View(struct_size=sizeof(View)), View(struct_size=sizeof(View))
    references = sys.getrefcount(a)
    API["view"](id(a), word, WRITE, byref(view))
    with pytest.raises(denizen.BorrowError):
        API["view"](id(a), word, 0, byref(other))
    for _ in range(3):
        API["release_view"](byref(view))
    API["view"](id(a), word, 0, byref(other))
    API["release_view"](byref(view))
    API["release_view"](byref(other))
    assert sys.getrefcount(a) == references


#: Each reads cells of `a` and writes cells of `b`, which have twelve each.
LENT = {
    "copy": (lambda a, b: np.copyto(b[6:10], a[2:6]), range(2, 6), range(6, 10)),
    "copy from the end": (lambda a, b: np.copyto(b[9:5:-1], a[5:1:-1]), range(2, 6), range(6, 10)),
    "cast from": (lambda a, b: a[2:6].astype("i8"), range(2, 6), ()),
    "cast to": (lambda a, b: np.copyto(b[6:10], np.arange(4)), (), range(6, 10)),
    "add": (lambda a, b: np.add(a[5:1:-1], a[2:6], out=b[6:10]), range(2, 6), range(6, 10)),
    "matmul": (
        lambda a, b: np.matmul(
            a[2:6].reshape(2, 2), a[2:6].reshape(2, 2), out=b[6:10].reshape(2, 2)
        ),
        range(2, 6),
        range(6, 10),
    ),
    "matmul from the end": (
        lambda a, b: np.matmul(a[5:1:-1].reshape(2, 2), a[4:2:-1], out=b[9:7:-1]),
        range(2, 6),
        range(8, 10),
    ),
    "sort": (lambda a, b: b[6:10].sort(), (), range(6, 10)),
    "argsort": (lambda a, b: a[2:6].argsort(), range(2, 6), ()),
    "argmax": (lambda a, b: a[2:6].argmax(), range(2, 6), ()),
    "setitem": (lambda a, b: b.__setitem__(6, 5), (), [6]),
    "getitem": (lambda a, b: a[2], [2], ()),
}


@pytest.mark.parametrize("element", [denizen.Integer, raw.Tracer, raw.HeldTracer])
@pytest.mark.parametrize("operation", LENT)
def test_what_is_lent_is_refused_to_the_cell(element, operation):
    work, reads, writes = LENT[operation]
    a, b = np.arange(12).astype(element), np.arange(12).astype(element)
    handle = API["find_element"](text(str(a.dtype)), a.itemsize, a.dtype.alignment, None)
    for array, flags, taken in [(a, 0, ()), (a, WRITE, reads), (b, 0, writes), (b, WRITE, writes)]:
        for cell in range(12):
            view, part = View(struct_size=sizeof(View)), array[cell : cell + 1]
            API["view"](id(part), handle, flags, byref(view))
            try:
                if cell in taken:
                    with pytest.raises(denizen.BorrowError):
                        work(a, b)
                else:
                    work(a, b)
            finally:
                API["release_view"](byref(view))


# ---- the rest ------------------------------------------------------------------------------------


def test_stats_fill_what_the_client_has_room_for(integer):
    with pytest.raises(ValueError, match="`struct_size`"):
        API["stats"](integer, byref(Stats(struct_size=0)))
    with pytest.raises(ValueError, match="`struct_size`"):
        API["stats"](integer, None)
    stats = Stats(struct_size=Stats.destroyed.offset, destroyed=77, reconciled=78)
    a = np.array([10**40], dtype=denizen.Integer)
    assert API["stats"](integer, byref(stats)) == 0
    assert stats.live == denizen.stats()["denizen.Integer"]["live"] >= len(a)
    assert (stats.destroyed, stats.reconciled) == (77, 78)
    assert stats.struct_size == Stats.destroyed.offset


def test_a_segment_is_found_from_inside_and_only_there(word):
    a = API["empty"](word, 1, lengths(100))
    start = a.ctypes.data
    assert API["segment_of"](start) == API["segment_of"](start + 799) == start
    assert API["segment_of"](None) is None
    assert API["segment_of"](np.zeros(100).ctypes.data) is None
