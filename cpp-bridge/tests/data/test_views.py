"""Views, spans and handles of arrays as C++ code sees them."""

import sys

import numpy as np
import pytest
from data_storages import FILL, KEEP, REFUSE, Storage, values

import denizen


@pytest.fixture
def sole(data):
    return Storage(data, "sole", "Sole")


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
def test_a_view_visits_every_element_in_c_order_whatever_the_strides(storage, layout):
    a = LAYOUTS[layout](storage.array((3, 4)))
    expected = LAYOUTS[layout](np.arange(1, 13).reshape(3, 4)).ravel().tolist()
    assert storage.values(a, FILL) == storage.indexed(a) == storage.values(a, REFUSE) == expected
    assert storage.backwards(a) == expected[::-1]
    ndim, shape, strides, size, empty = storage.geometry(a)
    assert (ndim, tuple(shape), tuple(strides)) == (a.ndim, a.shape, a.strides)
    assert (size, empty) == (a.size, a.size == 0)


@pytest.mark.short
@pytest.mark.parametrize("layout", ["whole", "every second", "backwards", "columns", "blocks"])
def test_what_a_view_writes_numpy_sees(storage, layout):
    a = storage.array((3, 4), 50)
    view = LAYOUTS[layout](a)
    storage.fill(view, 1)
    assert values(storage, view) == list(range(1, view.size + 1))
    untouched = np.arange(50, 62).reshape(3, 4)
    LAYOUTS[layout](untouched)[...] = np.arange(1, view.size + 1).reshape(view.shape)
    assert values(storage, a) == untouched.ravel().tolist()


@pytest.mark.parametrize("layout", ["whole", "every second", "backwards", "columns", "a column"])
def test_the_algorithms_of_the_standard_library_sort_through_a_view(storage, layout):
    a = storage.array((3, 4))
    expected = np.arange(1, 13).reshape(3, 4)
    a[0], a[2] = a[2].copy(), a[0].copy()
    expected[[0, 2]] = expected[[2, 0]]
    view, plain = LAYOUTS[layout](a), LAYOUTS[layout](expected)
    storage.sort(view)
    plain[...] = np.sort(plain, axis=None).reshape(plain.shape)
    assert values(storage, a) == expected.ravel().tolist()


def test_vacant_cells_are_filled_before_a_view_lends_them(storage):
    a = np.empty((2, 3), dtype=storage.dtype)
    a[0, 1] = "5"
    live = storage.live()
    assert storage.values(a[:, 1:], FILL) == [5, 0, 0, 0]
    assert storage.live() - live == 3
    assert storage.values(a, FILL) == [0, 5, 0, 0, 0, 0]
    assert storage.live() - live == 5
    storage.fill(a, 7)
    assert values(storage, a) == [7, 8, 9, 10, 11, 12]


def test_vacant_cells_are_refused_by_their_index_where_the_client_says_so(storage):
    a = storage.array((2, 3)).copy()
    b = np.empty((3, 3), dtype=storage.dtype)
    b[:2] = a
    b[2, :2] = a[0, :2]
    with pytest.raises(denizen.VacantError, match=r"vacant \(index \[2, 2\]\)"):
        storage.values(b, REFUSE)
    live = storage.live()
    assert storage.values(b[:2], REFUSE) == [1, 2, 3, 4, 5, 6]
    assert storage.live() == live, "nothing was filled"


def test_vacant_cells_are_kept_and_built_where_the_client_says_so(storage):
    a = np.empty(5, dtype=storage.dtype)
    a[1] = "8"
    live = storage.live()
    assert storage.values(a, KEEP) == [None, 8, None, None, None]
    with pytest.raises(denizen.VacantError, match=r"the cell at index \(3,\) is vacant"):
        storage.at(a, [3])
    assert storage.live() == live
    assert storage.build(a[::2]) == 3
    assert storage.live() == live + 3
    assert storage.values(a, KEEP) == [0, 8, 100, None, 200]
    assert denizen.inspect(a).live == 4


def test_a_throwing_constructor_leaves_its_cell_vacant(storage):
    a = np.empty(5, dtype=storage.dtype)
    live = storage.live()
    storage.module.throw_after(2)
    with pytest.raises(RuntimeError, match="a subject that throws"):
        storage.build(a)
    storage.module.throw_after(-1)
    assert storage.values(a, KEEP) == [0, 100, None, None, None]
    assert storage.live() == live + 2
    storage.module.throw_after(1)
    with pytest.raises(RuntimeError, match="a subject that throws"):
        storage.values(a, FILL)
    storage.module.throw_after(-1)
    assert storage.values(a, FILL) == [0, 100, 0, 0, 0]


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
def test_a_checked_index_outside_is_an_index_error_that_names_it(storage, index, message):
    a = storage.array((3, 4))
    assert storage.at(a, [2, 1]) == 10
    with pytest.raises(IndexError, match=message):
        storage.at(a, index)


def test_a_view_refuses_what_is_no_array_of_its_dtype(storage, data):
    name = storage.full_name.replace(".", r"\.")
    cases = [
        (np.zeros(3), "got an array of float64"),
        (np.zeros(3, dtype=object), "got an array of object"),
        (np.zeros(3, dtype=data.Point), r"got an array of cpp_data\.Point|got an array of Point"),
        ([1, 2], "got <class 'list'>"),
        (None, "got <class 'NoneType'>"),
    ]
    for wrong, got in cases:
        for function in (
            lambda a: storage.values(a, FILL),
            lambda a: storage.fill(a, 0),
            storage.build,
        ):
            references = sys.getrefcount(wrong)
            with pytest.raises(TypeError, match=f"expected an array of {name}, {got}"):
                function(wrong)
            assert wrong is None or sys.getrefcount(wrong) == references


def test_a_view_of_a_type_that_is_not_registered_says_so(data):
    with pytest.raises(TypeError, match="no element type in this module.*denizen::element<T>"):
        data.view_of_unknown(np.zeros(3))


def test_a_read_only_array_is_read_and_not_written(storage):
    a = storage.array(3)
    a.flags.writeable = False
    assert storage.values(a, FILL) == [1, 2, 3]
    with pytest.raises(ValueError, match="the array is read-only, and the view would write"):
        storage.fill(a, 0)
    assert storage.values(a, FILL) == [1, 2, 3]


def test_unaligned_cells_are_refused(storage):
    packed = np.empty(3, dtype=np.dtype([("c", "u1"), ("x", storage.dtype)]))["x"]
    with pytest.raises(ValueError, match=r"not aligned to the 8 bytes that cpp_data\.\w+ needs"):
        storage.values(packed, FILL)


def test_a_field_of_a_structured_array_is_lent(storage):
    records = np.zeros(3, dtype=np.dtype([("n", "i8"), ("x", storage.dtype)]))
    storage.fill(records["x"], 4)
    assert storage.values(records["x"][::-1], FILL) == [6, 5, 4]
    assert records["n"].tolist() == [0, 0, 0]


def test_cells_that_are_the_same_are_read_and_not_written(storage):
    a = storage.array(2)
    twice = np.broadcast_to(a, (3, 2))
    twice.flags.writeable = True
    assert storage.values(twice, FILL) == [1, 2, 1, 2, 1, 2]
    with pytest.raises(denizen.BorrowError, match="overlap, so they cannot be lent to write"):
        storage.fill(twice, 0)
    storage.fill(a, 5)
    assert storage.values(twice, FILL) == [5, 6, 5, 6, 5, 6]


@pytest.mark.filterwarnings("ignore:Setting the strides:DeprecationWarning")
def test_cells_that_overlap_by_a_part_are_refused(data):
    a = np.zeros(4, dtype=data.Point)[:3]
    with pytest.raises(TypeError, match="keeps its strides"):
        a.strides = (8,)


def test_readers_share_and_a_writer_excludes_everyone(storage):
    a, b = storage.array(6), storage.array(6)
    read, write = lambda a: storage.values(a, FILL), lambda a: storage.fill(a, 9)
    assert storage.hold(a, False, lambda: read(a)) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(denizen.BorrowError):
        storage.hold(a, False, lambda: write(a))
    with pytest.raises(denizen.BorrowError):
        storage.hold(a, True, lambda: read(a))
    with pytest.raises(denizen.BorrowError):
        storage.hold(a, True, lambda: a.sort())
    with pytest.raises(denizen.BorrowError):
        storage.hold(a, True, lambda: a[2])
    # Other elements of the same array, and other arrays, are free.
    storage.hold(a[:3], True, lambda: write(a[3:]))
    storage.hold(a, True, lambda: write(b))
    assert read(a) == [1, 2, 3, 9, 10, 11]
    assert storage.hold(a, True, lambda: None) is None
    storage.fill(a, 0)


def test_an_array_that_is_lent_is_not_resized(storage):
    a = storage.array(4)
    for writes in (False, True):
        with pytest.raises((ValueError, denizen.BorrowError)):
            storage.hold(a, writes, lambda: a.resize(2000))
    assert storage.values(a, FILL) == [1, 2, 3, 4]
    a.resize(6)
    assert storage.values(a, FILL) == [1, 2, 3, 4, 0, 0]


@pytest.mark.parametrize(
    "how, error, message",
    [
        (0, RuntimeError, "thrown while a view is open"),
        (1, RuntimeError, r"unknown C\+\+ exception"),
        (2, KeyError, "raised while a view is open"),
    ],
)
def test_an_exception_while_a_view_is_open_gives_the_view_back(storage, how, error, message):
    a = storage.array(3)
    references = sys.getrefcount(a)
    with pytest.raises(error, match=message):
        storage.fail(a, how)
    assert sys.getrefcount(a) == references
    storage.fill(a, 4)
    assert storage.values(a, FILL) == [4, 5, 6]


class Own(Exception):
    pass


def test_a_python_exception_passes_through_a_view_as_itself(storage):
    a = storage.array(3)
    exception = Own("mine")

    def raises():
        raise exception

    for writes in (False, True):
        with pytest.raises(Own) as caught:
            storage.hold(a, writes, raises)
        assert caught.value is exception
    storage.fill(a, 0)


def test_a_view_keeps_its_array_and_lets_it_go(storage):
    arrays = [storage.array(3)]
    references = sys.getrefcount(arrays[0])
    storage.values(arrays[0], FILL)
    try:
        storage.hold(arrays[0], True, lambda: storage.fill(arrays[0], 0))
    except denizen.BorrowError:
        refused = True
    assert refused
    after = sys.getrefcount(arrays[0])
    assert after == references
    live = storage.live()
    storage.hold(arrays[0], True, lambda: arrays.clear())
    assert storage.live() == live - 3


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_arrays_without_elements_are_viewed(storage, shape):
    a = np.empty(shape, dtype=storage.dtype)
    assert storage.values(a, FILL) == storage.values(a, REFUSE) == storage.backwards(a) == []
    storage.fill(a, 0)
    storage.sort(a)
    assert storage.hold(a, True, lambda: storage.fill(a, 0)) is None
    assert storage.build(a) == 0


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


def test_an_array_handle_counts_references_as_python_does(storage):
    a = storage.empty([2, 3])
    assert sys.getrefcount(a) == 2
    assert a.shape == (2, 3) and a.dtype == storage.module_dtype() and denizen.owner(a) == "managed"
    assert values(storage, a) == [0] * 6
    b = storage.same(a)
    assert b is a and sys.getrefcount(a) == 3
    assert storage.sizes(a[:, 1:]) == (4, 4, "(2, 2)")
    assert storage.sizes(a[0]) == (3, 3, "(3,)")
    assert sys.getrefcount(a) == 3
    dtype = storage.module_dtype()
    assert isinstance(dtype, np.dtype) and dtype == np.dtype(storage.dtype)


def test_an_array_handle_refuses_other_objects_and_says_what_it_got(storage, data):
    name = storage.full_name.replace(".", r"\.")
    for wrong, got in [
        (np.zeros(2), "got an array of float64"),
        ([1], "got <class 'list'>"),
        (storage.array(1)[0], "got <class 'cpp_data"),
        (None, "got <class 'NoneType'>"),
    ]:
        references = sys.getrefcount(wrong)
        with pytest.raises(TypeError, match=f"expected an array of {name}, {got}"):
            storage.same(wrong)
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
def test_a_shape_that_cannot_be_is_a_python_exception(storage, shape, error):
    with pytest.raises(error):
        storage.empty(shape)
