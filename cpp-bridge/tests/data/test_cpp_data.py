"""What the C++ header does with arrays: views, arrays, adoption, single values.

Every test ends with as many C++ objects, and objects in arrays, as it began with."""

import gc
import itertools
import sys

import cpp_data
import numpy as np
import pytest
from support.balance import OWN_COUNTERS

import denizen

OWN_COUNTERS["cpp_data"] = {"live": lambda module: module.counters()[0]}

KINDS = {"inline": "Inline", "tagged": "Tagged", "boxed": "Boxed"}
FILL, REFUSE, KEEP = 0, 1, 2


@pytest.fixture
def data():
    yield cpp_data
    cpp_data.throw_after(-1)
    cpp_data.shared_drop()


class Kind:
    """The functions of the module for one element type."""

    def __init__(self, module, name, class_name):
        self.module, self.name = module, name
        self.dtype = getattr(module, class_name)
        self.full_name = f"cpp_data.{class_name}"

    def __getattr__(self, function):
        return getattr(self.module, f"{function}_{self.name}")

    def module_dtype(self):
        """What array<T>::dtype() returns."""
        return getattr(self.module, f"dtype_{self.name}")()

    def array(self, shape, start=1):
        """start, start + 1, .. in C order."""
        count = int(np.prod(shape))
        return self.take(list(range(start, start + count)), -1, [*np.atleast_1d(shape).tolist()])

    def live(self):
        gc.collect()
        return denizen.stats()[self.full_name]["live"]


@pytest.fixture(params=KINDS)
def kind(request, data):
    return Kind(data, request.param, KINDS[request.param])


@pytest.fixture
def inline(data):
    return Kind(data, "inline", "Inline")


@pytest.fixture
def boxed(data):
    return Kind(data, "boxed", "Boxed")


@pytest.fixture
def sole(data):
    return Kind(data, "sole", "Sole")


def values(kind, array):
    """As Python sees them."""
    return [int(str(x)) for x in array.ravel()]


LAYOUTS = {
    "whole": lambda a: a,
    "every second": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1, ::-1],
    "columns": lambda a: a.T,
    "a column": lambda a: a[:, 1],
    "one": lambda a: a[1, 2],
    "broadcast": lambda a: np.broadcast_to(a[:1], (3, 4)),
    "a broadcast row": lambda a: np.broadcast_to(a[0, :1], (5,)),
    "blocks": lambda a: a.reshape(3, 2, 2)[:, ::-1, 1:],
    "one axis of one": lambda a: a[:, None, ::3],
    "no dimension": lambda a: a[1, 2, ...],
    "empty": lambda a: a[1:1],
    "empty rows": lambda a: a[:, 4:],
}


# ---- views ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "one"])
def test_a_view_visits_every_element_in_c_order_whatever_the_strides(kind, layout):
    a = LAYOUTS[layout](kind.array((3, 4)))
    expected = LAYOUTS[layout](np.arange(1, 13).reshape(3, 4)).ravel().tolist()
    assert kind.values(a, FILL) == kind.indexed(a) == kind.values(a, REFUSE) == expected
    assert kind.backwards(a) == expected[::-1]
    ndim, shape, strides, size, empty = kind.geometry(a)
    assert (ndim, tuple(shape), tuple(strides)) == (a.ndim, a.shape, a.strides)
    assert (size, empty) == (a.size, a.size == 0)


@pytest.mark.short
@pytest.mark.parametrize("layout", ["whole", "every second", "backwards", "columns", "blocks"])
def test_what_a_view_writes_numpy_sees(kind, layout):
    a = kind.array((3, 4), 50)
    view = LAYOUTS[layout](a)
    kind.fill(view, 1)
    assert values(kind, view) == list(range(1, view.size + 1))
    untouched = np.arange(50, 62).reshape(3, 4)
    LAYOUTS[layout](untouched)[...] = np.arange(1, view.size + 1).reshape(view.shape)
    assert values(kind, a) == untouched.ravel().tolist()


@pytest.mark.parametrize("layout", ["whole", "every second", "backwards", "columns", "a column"])
def test_the_algorithms_of_the_standard_library_sort_through_a_view(kind, layout):
    a = kind.array((3, 4))
    expected = np.arange(1, 13).reshape(3, 4)
    a[0], a[2] = a[2].copy(), a[0].copy()
    expected[[0, 2]] = expected[[2, 0]]
    view, plain = LAYOUTS[layout](a), LAYOUTS[layout](expected)
    kind.sort(view)
    plain[...] = np.sort(plain, axis=None).reshape(plain.shape)
    assert values(kind, a) == expected.ravel().tolist()


def test_vacant_cells_are_filled_before_a_view_lends_them(kind):
    a = np.empty((2, 3), dtype=kind.dtype)
    a[0, 1] = "5"
    live = kind.live()
    assert kind.values(a[:, 1:], FILL) == [5, 0, 0, 0]
    assert kind.live() - live == 3
    assert kind.values(a, FILL) == [0, 5, 0, 0, 0, 0]
    assert kind.live() - live == 5
    kind.fill(a, 7)
    assert values(kind, a) == [7, 8, 9, 10, 11, 12]


def test_vacant_cells_are_refused_by_their_index_where_the_client_says_so(kind):
    a = kind.array((2, 3)).copy()
    b = np.empty((3, 3), dtype=kind.dtype)
    b[:2] = a
    b[2, :2] = a[0, :2]
    with pytest.raises(denizen.VacantError, match=r"vacant \(index \[2, 2\]\)"):
        kind.values(b, REFUSE)
    live = kind.live()
    assert kind.values(b[:2], REFUSE) == [1, 2, 3, 4, 5, 6]
    assert kind.live() == live, "nothing was filled"


def test_vacant_cells_are_kept_and_built_where_the_client_says_so(kind):
    a = np.empty(5, dtype=kind.dtype)
    a[1] = "8"
    live = kind.live()
    assert kind.values(a, KEEP) == [None, 8, None, None, None]
    with pytest.raises(denizen.VacantError, match=r"the cell at index \(3,\) is vacant"):
        kind.at(a, [3])
    assert kind.live() == live
    assert kind.build(a[::2]) == 3
    assert kind.live() == live + 3
    assert kind.values(a, KEEP) == [0, 8, 100, None, 200]
    assert denizen.inspect(a).live == 4


def test_a_throwing_constructor_leaves_its_cell_vacant(kind):
    a = np.empty(5, dtype=kind.dtype)
    live = kind.live()
    kind.module.throw_after(2)
    with pytest.raises(RuntimeError, match="a subject that throws"):
        kind.build(a)
    kind.module.throw_after(-1)
    assert kind.values(a, KEEP) == [0, 100, None, None, None]
    assert kind.live() == live + 2
    kind.module.throw_after(1)
    with pytest.raises(RuntimeError, match="a subject that throws"):
        kind.values(a, FILL)
    kind.module.throw_after(-1)
    assert kind.values(a, FILL) == [0, 100, 0, 0, 0]


def test_an_element_without_a_default_is_refused_by_its_index_and_can_be_built(sole):
    a = np.empty((2, 2), dtype=sole.dtype)
    with pytest.raises(denizen.VacantError, match=r"index \[0, 0\]"):
        sole.values(a, FILL)
    assert sole.build(a) == 4
    assert sole.values(a, FILL) == [0, 100, 200, 300]
    sole.fill(a, 3)
    sole.sort(a[::-1])
    assert sole.values(a, FILL) == [5, 6, 3, 4]


@pytest.mark.parametrize(
    "index, message",
    [
        ([3, 0], r"index \(3, 0\) is outside the shape \(3, 4\)"),
        ([0, 4], r"index \(0, 4\) is outside"),
        ([-1, 0], r"index \(-1, 0\) is outside"),
        ([1], r"index \(1,\) is outside the shape \(3, 4\)"),
        ([], r"index \(\) is outside"),
        ([0, 0, 0], r"index \(0, 0, 0\) is outside"),
        ([2**63 - 1, 0], r"is outside"),
    ],
)
def test_a_checked_index_outside_is_an_index_error_that_names_it(kind, index, message):
    a = kind.array((3, 4))
    assert kind.at(a, [2, 1]) == 10
    with pytest.raises(IndexError, match=message):
        kind.at(a, index)


def test_a_view_refuses_what_is_no_array_of_its_dtype(kind, data):
    name = kind.full_name.replace(".", r"\.")
    cases = [
        (np.zeros(3), "got an array of float64"),
        (np.zeros(3, dtype=object), "got an array of object"),
        (np.zeros(3, dtype=data.Point), r"got an array of cpp_data\.Point|got an array of Point"),
        ([1, 2], "got <class 'list'>"),
        (None, "got <class 'NoneType'>"),
    ]
    for wrong, got in cases:
        for function in (lambda a: kind.values(a, FILL), lambda a: kind.fill(a, 0), kind.build):
            references = sys.getrefcount(wrong)
            with pytest.raises(TypeError, match=f"expected an array of {name}, {got}"):
                function(wrong)
            assert wrong is None or sys.getrefcount(wrong) == references


def test_a_view_of_a_type_that_is_not_registered_says_so(data):
    with pytest.raises(TypeError, match="no element type in this module.*denizen::element<T>"):
        data.view_of_unknown(np.zeros(3))


def test_a_read_only_array_is_read_and_not_written(kind):
    a = kind.array(3)
    a.flags.writeable = False
    assert kind.values(a, FILL) == [1, 2, 3]
    with pytest.raises(ValueError, match="the array is read-only, and the view would write"):
        kind.fill(a, 0)
    assert kind.values(a, FILL) == [1, 2, 3]


def test_unaligned_cells_are_refused(kind):
    packed = np.empty(3, dtype=np.dtype([("c", "u1"), ("x", kind.dtype)]))["x"]
    with pytest.raises(ValueError, match=r"not aligned to the 8 bytes that cpp_data\.\w+ needs"):
        kind.values(packed, FILL)


def test_a_field_of_a_structured_array_is_lent(kind):
    records = np.zeros(3, dtype=np.dtype([("n", "i8"), ("x", kind.dtype)]))
    kind.fill(records["x"], 4)
    assert kind.values(records["x"][::-1], FILL) == [6, 5, 4]
    assert records["n"].tolist() == [0, 0, 0]


def test_cells_that_are_the_same_are_read_and_not_written(kind):
    a = kind.array(2)
    twice = np.broadcast_to(a, (3, 2))
    twice.flags.writeable = True
    assert kind.values(twice, FILL) == [1, 2, 1, 2, 1, 2]
    with pytest.raises(denizen.BorrowError, match="overlap, so they cannot be lent to write"):
        kind.fill(twice, 0)
    kind.fill(a, 5)
    assert kind.values(twice, FILL) == [5, 6, 5, 6, 5, 6]


@pytest.mark.filterwarnings("ignore:Setting the strides:DeprecationWarning")
def test_cells_that_overlap_by_a_part_are_refused(data):
    a = np.zeros(4, dtype=data.Point)[:3]
    with pytest.raises(TypeError, match="keeps its strides"):
        a.strides = (8,)


def test_readers_share_and_a_writer_excludes_everyone(kind):
    a, b = kind.array(6), kind.array(6)
    read, write = lambda a: kind.values(a, FILL), lambda a: kind.fill(a, 9)
    assert kind.hold(a, False, lambda: read(a)) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(denizen.BorrowError):
        kind.hold(a, False, lambda: write(a))
    with pytest.raises(denizen.BorrowError):
        kind.hold(a, True, lambda: read(a))
    with pytest.raises(denizen.BorrowError):
        kind.hold(a, True, lambda: a.sort())
    with pytest.raises(denizen.BorrowError):
        kind.hold(a, True, lambda: a[2])
    # Other elements of the same array, and other arrays, are free.
    kind.hold(a[:3], True, lambda: write(a[3:]))
    kind.hold(a, True, lambda: write(b))
    assert read(a) == [1, 2, 3, 9, 10, 11]
    assert kind.hold(a, True, lambda: None) is None
    kind.fill(a, 0)


def test_an_array_that_is_lent_is_not_resized(kind):
    a = kind.array(4)
    for writes in (False, True):
        with pytest.raises((ValueError, denizen.BorrowError)):
            kind.hold(a, writes, lambda: a.resize(2000))
    assert kind.values(a, FILL) == [1, 2, 3, 4]
    a.resize(6)
    assert kind.values(a, FILL) == [1, 2, 3, 4, 0, 0]


@pytest.mark.parametrize(
    "how, error, message",
    [
        (0, RuntimeError, "thrown while a view is open"),
        (1, RuntimeError, r"unknown C\+\+ exception"),
        (2, KeyError, "raised while a view is open"),
    ],
)
def test_an_exception_while_a_view_is_open_gives_the_view_back(kind, how, error, message):
    a = kind.array(3)
    references = sys.getrefcount(a)
    with pytest.raises(error, match=message):
        kind.fail(a, how)
    assert sys.getrefcount(a) == references
    kind.fill(a, 4)
    assert kind.values(a, FILL) == [4, 5, 6]


class Own(Exception):
    pass


def test_a_python_exception_passes_through_a_view_as_itself(kind):
    a = kind.array(3)
    exception = Own("mine")

    def raises():
        raise exception

    for writes in (False, True):
        with pytest.raises(Own) as caught:
            kind.hold(a, writes, raises)
        assert caught.value is exception
    kind.fill(a, 0)


def test_a_view_keeps_its_array_and_lets_it_go(kind):
    arrays = [kind.array(3)]
    references = sys.getrefcount(arrays[0])
    kind.values(arrays[0], FILL)
    try:
        kind.hold(arrays[0], True, lambda: kind.fill(arrays[0], 0))
    except denizen.BorrowError:
        refused = True
    assert refused
    after = sys.getrefcount(arrays[0])
    assert after == references
    live = kind.live()
    kind.hold(arrays[0], True, lambda: arrays.clear())
    assert kind.live() == live - 3


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_arrays_without_elements_are_viewed(kind, shape):
    a = np.empty(shape, dtype=kind.dtype)
    assert kind.values(a, FILL) == kind.values(a, REFUSE) == kind.backwards(a) == []
    kind.fill(a, 0)
    kind.sort(a)
    assert kind.hold(a, True, lambda: kind.fill(a, 0)) is None
    assert kind.build(a) == 0


# ---- spans ---------------------------------------------------------------------------------------


def test_a_span_is_the_memory_of_the_array(data, inline):
    a = inline.array(5)[::-1].copy()
    assert data.span_sort(a) == 15
    assert inline.values(a, FILL) == [1, 2, 3, 4, 5]
    assert data.span_sort(np.empty(0, dtype=inline.dtype)) == 0
    b = inline.array((2, 3))
    assert data.span_sort(b) == 21


def test_a_span_of_strided_elements_is_refused_by_its_strides(data, inline):
    a = inline.array((3, 4))
    for strided, strides in [
        (a[:, ::2], r"\(32, 16\)"),
        (a.T, r"\(8, 32\)"),
        (a[0, ::-1], r"\(-8,\)"),
    ]:
        message = rf"the array of cpp_data\.Inline is not contiguous: shape .*strides {strides} for elements of 8"
        with pytest.raises(ValueError, match=message):
            data.span_sort(strided)
    assert inline.values(a, FILL) == list(range(1, 13))


# ---- arrays --------------------------------------------------------------------------------------


def test_an_array_handle_counts_references_as_python_does(kind):
    a = kind.empty([2, 3])
    assert sys.getrefcount(a) == 2
    assert a.shape == (2, 3) and a.dtype == kind.module_dtype() and denizen.owner(a) == "managed"
    assert values(kind, a) == [0] * 6
    b = kind.same(a)
    assert b is a and sys.getrefcount(a) == 3
    assert kind.sizes(a[:, 1:]) == (4, 4, "(2, 2)")
    assert kind.sizes(a[0]) == (3, 3, "(3,)")
    assert sys.getrefcount(a) == 3
    dtype = kind.module_dtype()
    assert isinstance(dtype, np.dtype) and dtype == np.dtype(kind.dtype)


def test_an_array_handle_refuses_other_objects_and_says_what_it_got(kind, data):
    name = kind.full_name.replace(".", r"\.")
    for wrong, got in [
        (np.zeros(2), "got an array of float64"),
        ([1], "got <class 'list'>"),
        (kind.array(1)[0], "got <class 'cpp_data"),
        (None, "got <class 'NoneType'>"),
    ]:
        references = sys.getrefcount(wrong)
        with pytest.raises(TypeError, match=f"expected an array of {name}, {got}"):
            kind.same(wrong)
        assert wrong is None or sys.getrefcount(wrong) == references


@pytest.mark.parametrize(
    "shape, error",
    [
        ([-1], ValueError),
        ([2**62, 2**62], OverflowError),
        ([2**46], MemoryError),
        ([1] * 65, ValueError),
    ],
)
def test_a_shape_that_cannot_be_is_a_python_exception(kind, shape, error):
    with pytest.raises(error):
        kind.empty(shape)


# ---- adoption ------------------------------------------------------------------------------------


def test_an_adopted_vector_is_the_memory_of_the_array_until_the_last_view_is_gone(data, inline):
    live = data.counters()[0]
    a = data.adopt_vector([3, 1, 2])
    assert data.counters()[0] == live + 3
    assert denizen.owner(a) == "adopted" and not a.flags.owndata and a.flags.writeable
    inline.fill(a, 5)
    a[0] = "9"
    a.sort()
    assert values(inline, a) == inline.values(a, REFUSE) == [6, 7, 9]
    assert data.counters()[0] == live + 3, "nothing was built or ended"
    view = a[::-1][:2]
    with pytest.raises(ValueError):
        a.resize(10)
    with pytest.raises(ValueError):
        a.resize(10, refcheck=False)
    del a
    gc.collect()
    assert values(inline, view) == [9, 7]
    assert data.counters()[0] == live + 3
    del view
    gc.collect()
    assert data.counters()[0] == live


def test_nothing_that_numpy_does_to_an_adopted_array_vacates_a_cell(data, inline):
    live, a = data.counters()[0], data.adopt_vector([5, 3, 1, 4, 2, 6])
    a[::2].sort()
    a[1:] = a[:-1].copy()
    a[[0, 1]] = a[[1, 0]]
    a[a.argsort()[:2]] = "7"
    np.copyto(a[:2], a[4:])
    np.put(a, [0], a[1:2])
    np.take(a, [1, 2], out=a[:2], mode="clip")
    np.concatenate([a[3:].copy(), a[:3].copy()], out=a)
    a.reshape(2, 3)[...] = a[:3].copy()
    a.partition(2)
    assert None not in inline.values(a, KEEP)
    gc.collect()
    assert data.counters()[0] == live + 6
    del a
    gc.collect()
    assert data.counters()[0] == live


def test_a_new_array_shares_nothing_with_the_adopted_one(data, inline):
    a = data.adopt_vector([1, 2, 3])
    b = a.copy()
    assert denizen.owner(b) == "managed"
    b.resize(5)
    inline.fill(a, 7)
    assert values(inline, b) == [1, 2, 3, 0, 0]


def test_an_adopted_vector_takes_a_shape_that_fits(data, inline):
    a = data.adopt_vector(range(6), [2, 3])
    assert a.shape == (2, 3) and a.flags.c_contiguous
    assert inline.values(a[:, 1], FILL) == [1, 4]
    for shape in ([7], [2, 2], [], [0]):
        with pytest.raises(ValueError, match="6 elements do not fit the shape"):
            data.adopt_vector(range(6), shape)


def test_a_vector_that_cpp_shares_is_seen_by_both(data, inline):
    live = data.counters()[0]
    a = data.adopt_shared([1, 2, 3], False)
    inline.fill(a, 7)
    assert data.shared_values() == [7, 8, 9]
    data.shared_drop()
    gc.collect()
    assert values(inline, a) == [7, 8, 9] and data.counters()[0] == live + 3
    del a
    gc.collect()
    assert data.counters()[0] == live


def test_a_shared_vector_outlives_its_array(data, inline):
    a = data.adopt_shared([1, 2], False)
    del a
    gc.collect()
    assert data.shared_values() == [1, 2]


def test_a_vector_of_constants_is_read_only(data, inline):
    a = data.adopt_shared([1, 2], True)
    assert not a.flags.writeable
    assert inline.values(a, FILL) == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        inline.fill(a, 0)
    with pytest.raises(ValueError):
        a.flags.writeable = True
    assert data.shared_values() == [1, 2]


def test_an_empty_pointer_is_refused(data):
    with pytest.raises(ValueError, match="the pointer is empty"):
        data.adopt_nothing()


@pytest.mark.parametrize("adopt", ["adopt_vector", "adopt_shared", "shape"])
def test_a_vector_without_elements_is_adopted(data, inline, adopt):
    if adopt == "shape":
        a = data.adopt_vector([], [3, 0])
    else:
        a = getattr(data, adopt)([], *([False] if adopt == "adopt_shared" else []))
    assert a.size == 0 and values(inline, a) == inline.values(a, FILL) == []
    inline.sort(a)
    assert values(inline, np.concatenate([a.ravel(), inline.array(2)])) == [1, 2]
    del a
    gc.collect()


POINTS = {
    "all": (6, 0, [6], [16], [0, 1, 2, 3, 4, 5]),
    "every second": (6, 0, [3], [32], [0, 2, 4]),
    "backwards": (6, 5, [6], [-16], [5, 4, 3, 2, 1, 0]),
    "columns": (6, 0, [3, 2], [16, 48], [0, 3, 1, 4, 2, 5]),
    "the same": (6, 2, [3], [0], [2, 2, 2]),
    "no dimension": (6, 4, [], [], [4]),
    "none": (6, 0, [0], [16], []),
}


@pytest.mark.parametrize("layout", POINTS)
@pytest.mark.parametrize("constant", [False, True])
def test_memory_is_adopted_with_any_strides_and_its_owner_ends_once(data, layout, constant):
    *how, expected = POINTS[layout]
    ended = data.counters()[1]
    a = data.adopt_points(*how, constant, False)
    assert data.counters()[1] == ended
    assert denizen.owner(a) == ("adopted" if expected else denizen.owner(a))
    assert a.flags.writeable is not constant
    assert data.points(a) == expected
    del a
    gc.collect()
    assert data.counters()[1] == ended + 1


@pytest.mark.parametrize(
    "how, error, message",
    [
        ((6, 0, [3], [8]), ValueError, "overlap"),
        ((6, 0, [3], [17]), ValueError, "not aligned"),
        ((6, 0, [3, 2], [16]), ValueError, r"shape \(3, 2\) and the strides \(16,\) differ"),
        ((6, 0, [-1], [16]), ValueError, "negative length"),
        ((6, 0, [3], [2**62]), OverflowError, "beyond the memory"),
    ],
)
def test_a_failing_adoption_ends_its_owner_once(data, how, error, message):
    ended = data.counters()[1]
    with pytest.raises(error, match=message):
        data.adopt_points(*how, False, False)
    assert data.counters()[1] == ended + 1


def test_a_python_object_keeps_adopted_memory(data):
    owner = [1]
    references = sys.getrefcount(owner)
    a = data.adopt_static(owner)
    view = a[1:]
    assert sys.getrefcount(owner) == references + 1
    del a
    assert data.points(view) == [2, 3]
    del view
    gc.collect()
    assert sys.getrefcount(owner) == references


def test_a_shared_pointer_keeps_adopted_memory(data):
    ended = data.counters()[1]
    a = data.adopt_static(None)
    assert data.points(a) == [1, 2, 3] and data.counters()[1] == ended
    del a
    gc.collect()
    assert data.counters()[1] == ended + 1


def test_no_memory_is_adopted_for_no_elements_only(data):
    owner = [1]
    references = sys.getrefcount(owner)
    a = data.adopt_null(0, owner)
    assert a.shape == (0,) and data.points(a) == []
    with pytest.raises(ValueError, match="is NULL"):
        data.adopt_null(3, owner)
    del a
    gc.collect()
    assert sys.getrefcount(owner) == references


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_owner_that_throws_at_its_end_is_reported_and_nothing_else_happens(data, monkeypatch):
    caught = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda unraisable: caught.append(unraisable.exc_value)
    )
    ended = data.counters()[1]
    a = data.adopt_points(3, 0, [3], [16], False, True)
    del a
    gc.collect()
    assert [str(error) for error in caught] == [
        "the destructor of an adopted array's owner threw an exception"
    ]
    assert data.counters()[1] == ended + 1
    # Also where adoption fails, whose own exception is the one that is seen.
    with pytest.raises(ValueError, match="not aligned"):
        data.adopt_points(3, 0, [2], [17], False, True)
    assert len(caught) == 2 and data.counters()[1] == ended + 2


def test_an_adopted_array_is_borrowed_like_any_other(data, inline):
    a = data.adopt_vector([1, 2, 3])
    with pytest.raises(denizen.BorrowError):
        inline.hold(a, True, lambda: inline.values(a, FILL))
    with pytest.raises(denizen.BorrowError):
        inline.hold(a, False, lambda: inline.fill(a, 0))
    assert inline.hold(a, False, lambda: inline.values(a, FILL)) == [1, 2, 3]


# ---- take ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, class_name", [*KINDS.items(), ("sole", "Sole")])
def test_taking_a_vector_moves_its_elements_into_a_new_array(data, name, class_name):
    kind = Kind(data, name, class_name)
    live, runtime = data.counters()[0], kind.live()
    a = kind.take([3, 1, 2], -1)
    assert kind.values(a, REFUSE) == [3, 1, 2] and denizen.owner(a) == "managed"
    assert data.counters()[0] - live == 3 == kind.live() - runtime == denizen.inspect(a).live
    b = kind.take(range(6), -1, [3, 2])
    assert b.shape == (3, 2) and kind.values(b, REFUSE) == [0, 1, 2, 3, 4, 5]
    assert kind.take([], -1).shape == (0,) and kind.take([], -1, [2, 0]).shape == (2, 0)
    with pytest.raises(ValueError, match=r"3 elements do not fit the shape \(2,\)"):
        kind.take([1, 2, 3], -1, [2])
    del a, b
    gc.collect()
    assert (data.counters()[0], kind.live()) == (live, runtime)


@pytest.mark.parametrize("k", range(5))
def test_a_move_that_throws_loses_nothing(boxed, data, k):
    live, runtime = data.counters()[0], boxed.live()
    with pytest.raises(RuntimeError, match="a subject that throws"):
        boxed.take([1, 2, 3, 4, 5], k)
    data.throw_after(-1)
    assert (data.counters()[0], boxed.live()) == (live, runtime)


def test_figures_stay_right_over_everything_that_is_done_to_taken_elements(kind, data):
    live, runtime = data.counters()[0], kind.live()
    for pieces in itertools.product([0, 1, 1000], repeat=2):
        a, b = (kind.take(range(count), -1) for count in pieces)
        c = np.concatenate([a, b])
        c.resize(1500)
        kind.sort(c)
        kind.values(c[::-1], FILL)
        assert data.counters()[0] - live == kind.live() - runtime == 1500 + sum(pieces)
        del a, b, c
    assert (data.counters()[0], kind.live()) == (live, runtime)


# ---- single values -------------------------------------------------------------------------------


def test_a_value_becomes_the_scalar_of_its_class_and_comes_back(kind, data):
    live, runtime = data.counters()[0], kind.live()
    scalar = kind.to_python(7)
    assert type(scalar) is kind.dtype and str(scalar) == "7"
    assert kind.from_python(scalar) == 7
    assert kind.from_python("12") == 12
    assert kind.from_python(kind.array(3)[2]) == 3
    for wrong, error in [
        ("x", ValueError),
        ([1, 2], (TypeError, ValueError)),
        (1.5, TypeError),
        (None, TypeError),
    ]:
        references = sys.getrefcount(wrong)
        with pytest.raises(error):
            kind.from_python(wrong)
        assert wrong is None or sys.getrefcount(wrong) == references
    del scalar
    assert (data.counters()[0], kind.live()) == (live, runtime)


def test_a_value_whose_copy_throws_is_not_lost(kind, data):
    live = kind.live()
    for k in range(2):
        data.throw_after(k)
        with pytest.raises(RuntimeError, match="a subject that throws"):
            kind.to_python(7)
        data.throw_after(-1)
    assert kind.live() == live


def test_a_value_of_zero_bytes_goes_both_ways(data):
    scalar = data.point_to_python(0)
    assert type(scalar) is data.Point and str(scalar) == "0|0"
    assert data.point_from_python(scalar) == 0.0
    assert data.point_from_python(data.point_to_python(4)) == 4.0
