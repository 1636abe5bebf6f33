"""What is built in a cell, assigned to it and ended, and where its memory is."""

import gc
import warnings

import numpy as np
import pytest
from support.kind import every, every_adding, every_copyable, every_default

import denizen


@pytest.mark.regression("T01", "numpy/numpy#10721", "numpy/numpy#15944")
@every_copyable
def test_every_object_of_a_half_overwritten_array_is_destroyed_once(kind):
    a = kind.make()

    def work():
        b = a.copy()
        b[::2] = b[1::2]

    _, change = kind.counted(work)
    assert change["constructed"] == change["destroyed"] > 0
    assert change["live"] == 0


@pytest.mark.regression("T02", "stack-of-tasks/eigenpy#370")
@every_default
@pytest.mark.parametrize("make", ["zeros", "empty", "empty_like", "full"])
def test_unfilled_cells_read_as_the_default(kind, make):
    if make == "empty_like":
        fresh = np.empty_like(kind.make(6))
    elif make == "full":
        fresh = np.full(6, np.zeros(1, dtype=kind.element)[0], dtype=kind.element)
    else:
        fresh = getattr(np, make)(6, dtype=kind.element)
    assert kind.read(fresh) == [kind.default] * 6
    assert kind.read(fresh.copy()) == kind.read(fresh[[5, 0]]) * 3
    if kind.has_text:
        assert str(fresh[0]) == kind.default
        assert kind.default in repr(fresh)
    if kind.ordered:
        assert (fresh == fresh).all() and not (fresh < fresh).any()


@pytest.mark.regression("T02", "stack-of-tasks/eigenpy#370")
@every_adding
def test_skipped_outputs_of_a_ufunc_are_defaults(kind):
    a = kind.make(6)
    where = np.array([True, False] * 3)
    expected = [
        text if yes else kind.plain(kind.default)
        for text, yes in zip(kind.sums(a, a), where, strict=True)
    ]
    assert kind.plains(np.add(a, a, where=where, out=np.empty_like(a))) == expected
    assert kind.plains(np.add(a, a, where=where, out=None)) == expected


@pytest.mark.regression("T03", "electronicarts/EASTL#485")
@every_copyable
def test_assignment_constructs_in_vacant_cells_and_assigns_to_objects(kind):
    a, filler = kind.make(), kind.make()[::-1].copy()
    target = np.empty(8, dtype=kind.element)
    target[::2] = filler[::2]

    def work():
        target[:] = a

    _, change = kind.counted(work)
    assert kind.read(target) == kind.read(a)
    if kind.zero_counts:
        assigned = {"constructed": 4, "destroyed": 0, "live": 4}
        # Objects that may run Python code are made beside the array, and end afterwards.
        replaced = {"constructed": 8, "destroyed": 4, "live": 4}
        assert change in (assigned, replaced)
        assert all(denizen.inspect(target).bitmap)


@pytest.mark.regression("T04", "dealii/dealii#13005")
@every_copyable
def test_filling_and_copying_over_a_full_array_keeps_the_count(kind):
    a, target = kind.make(), kind.make()
    value = a[4]

    def work():
        target.fill(value)
        filled = kind.read(target)
        np.copyto(target, a, where=np.arange(8) % 2 == 0)
        np.copyto(target, a)
        target[...] = a
        np.take(a, np.arange(8)[::-1], out=target)
        return filled

    filled, change = kind.counted(work)
    assert filled == [kind.read(a)[4]] * 8
    assert kind.read(target) == kind.read(a)[::-1]
    if kind.zero_counts:
        assert change["live"] == 0


@pytest.mark.regression("T04", "dealii/dealii#13005")
@every_adding
def test_an_output_over_a_full_array_keeps_the_count(kind):
    a, target = kind.make(), kind.make()
    expected = kind.sums(a, a)

    def work():
        for _ in range(3):
            np.add(a, a, out=target)

    _, change = kind.counted(work)
    assert kind.plains(target) == expected
    if kind.zero_counts:
        assert change["live"] == 0
    twice = kind.sums(target, a)
    target += a
    assert kind.plains(target) == twice
    np.add(target[:-1], a[1:], out=target[1:])


@pytest.mark.regression("T08", "T09", "numpy/numpy#26859", "numpy/numpy#22686")
@every_copyable
@pytest.mark.parametrize("size", [0, 1, 5, 8, 9, 100, 30_000])
def test_resize_moves_objects_and_ends_the_rest(kind, size):
    a = kind.make()
    expected = kind.read(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        kept = min(size, 8)
        _, change = kind.counted(lambda: a.resize(size, refcheck=False))
        if kind.zero_counts:
            assert change == {"constructed": 0, "destroyed": 8 - kept, "live": kept - 8}
        assert kind.read(a[:kept]) == expected[:kept]
        if kind.default is None:
            assert denizen.inspect(a).live == kept
            if size > kept:
                with pytest.raises(denizen.VacantError):
                    a[kept]
        else:
            assert kind.read(a[kept : kept + 50]) == [kind.default] * min(size - kept, 50)
        if size > kept:
            a[-1] = kind.make(1)[0]
            assert kind.read(a[-1:]) == expected[:1]
        a.resize(3, refcheck=False)
        a.resize(20, refcheck=False)
    assert kind.read(a[: min(3, kept)]) == expected[: min(3, kept)]


@pytest.mark.regression("T25", "numpy/numpy#19663")
@every()
@pytest.mark.parametrize("shape", [(2, 0, 2), (0,), (), (1,), (3, 1)], ids=str)
@pytest.mark.parametrize("make", [np.zeros, np.empty])
def test_odd_shapes_have_a_segment_of_their_own(kind, shape, make):
    x = make(shape, dtype=kind.element)
    assert x.shape == shape and denizen.owner(x) == "managed"
    seen = denizen.inspect(x)
    assert (seen.live, seen.type) == (0, kind.name) and seen.cells >= x.size
    if kind.default is not None:
        assert kind.read(x) == [kind.default] * x.size
    if x.size and kind.copyable:
        x[...] = kind.make(1)[0]
        assert kind.read(x) == kind.read(kind.make(1)) * x.size


@pytest.mark.regression("T31", "numpy/numpy#11255", "numpy/numpy#8129", "numpy/numpy#20673")
@every_copyable
def test_storage_outlives_the_last_view(kind):
    a = kind.make()
    texts = kind.texts(a)
    view = a.reshape(2, 4)[:, 1:3].T
    flat = a.ravel()
    one = a[3:4].reshape(())
    iterator = a.flat
    del a, iterator
    gc.collect()
    assert kind.read(view) == texts.reshape(2, 4)[:, 1:3].T.ravel().tolist()
    flat.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        flat[0] = texts[0]
    del flat
    gc.collect()
    assert denizen.owner(view) == denizen.owner(one) == "managed"
    assert kind.read(one) == [texts[3]]
    # The storage is that of the first array; nothing else can be made of its address.
    with pytest.raises((TypeError, ValueError)):
        view.view("u1")

    class Borrower:
        __array_interface__ = view.__array_interface__

    with pytest.raises((TypeError, ValueError)):
        np.asarray(Borrower())


@pytest.mark.regression("T35", "numpy/numpy#15944", "stack-of-tasks/eigenpy#370")
@every(lambda kind: kind.default is None)
def test_unbuilt_cells_of_a_type_without_a_default_are_seen_and_never_read(kind):
    a = kind.make(4)
    text = kind.read(a)[0]
    for fresh in (np.empty(6, dtype=kind.element), np.zeros((2, 3), dtype=kind.element)):
        assert denizen.inspect(fresh).live == 0
        with pytest.raises(denizen.VacantError):
            fresh.ravel()[1]
        with pytest.raises(denizen.VacantError):
            fresh < fresh
        with pytest.raises(denizen.VacantError):
            np.sort(fresh)
        with pytest.raises(denizen.VacantError):
            fresh.astype(str)
        fresh.ravel()[1] = a[0]
        assert kind.read(fresh.ravel()[1:2]) == [text]
        assert denizen.inspect(fresh).live == 1
    a.resize(9, refcheck=False)
    assert (
        denizen.inspect(a).live == 4 and list(denizen.inspect(a).bitmap) == [True] * 4 + [False] * 5
    )
    with pytest.raises(denizen.VacantError):
        a[6]
    # A copy of an unbuilt cell is an unbuilt cell.
    b = a[[0, 6, 1]]
    assert denizen.inspect(b).live == 2
    with pytest.raises(denizen.VacantError):
        b[1]
    a[0:3] = a[5:8]
    assert denizen.inspect(a).live == 1


@pytest.mark.regression("T38", "bevyengine/bevy#2295")
@every()
def test_arrays_of_no_elements_are_made_and_dropped(kind):
    def work():
        for _ in range(100):
            x = np.empty(0, dtype=kind.element)
            x.resize(0, refcheck=False)
            x = np.zeros((3, 0), dtype=kind.element)
            if kind.copyable:
                x = np.concatenate([x.copy(), x[:, :0]], axis=1)
            if kind.ordered:
                x.sort()
            assert x.tolist() == [[]] * 3

    _, change = kind.counted(work)
    assert change == {"constructed": 0, "destroyed": 0, "live": 0}
    x = np.empty(0, dtype=kind.element)
    x.resize(4, refcheck=False)
    if kind.default is not None:
        assert kind.read(x) == [kind.default] * 4


@pytest.mark.regression("T42", "FyroxEngine/Fyrox#481")
@every_copyable
def test_memory_is_given_back_with_the_layout_it_was_taken_with(kind):
    a = kind.make(1)
    text = kind.read(a)
    for size in (3, 64, 65, 1000, 999, 20_000, 500, 70_000, 2, 1):
        a.resize(size, refcheck=False)
        a[-1:] = a[:1]
        assert kind.read(a[:1]) == kind.read(a[-1:]) == text
