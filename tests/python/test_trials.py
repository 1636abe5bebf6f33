"""Trials from public bug reports, for every registered type that they apply to.

Each test is named after its promise; the public thread that the trial comes from stands above it.
Values are compared with the same operation on arrays of Python objects. The `balanced` fixture of
conftest.py counts live objects around every test, by the runtime's books and by the clients' own
counters; where a test says more about the number of objects, it counts them too.
"""

import contextvars
import gc
import threading
import warnings

import denizen_example as example
import denizen_raw as raw
import denizen_sorting as sorting
import numpy as np
import pytest
from kinds import COPYABLE, KINDS

import denizen

DEFAULTS = [name for name, kind in COPYABLE.items() if kind.default is not None]
NO_DEFAULTS = [name for name, kind in KINDS.items() if kind.default is None]
ADDS = [name for name, kind in COPYABLE.items() if kind.plain and kind.default is not None]
NUMBERS = [name for name, kind in COPYABLE.items() if kind.number is not None]
TEXTS = [name for name, kind in COPYABLE.items() if kind.pickles and kind.build is None]


def each(names):
    return pytest.mark.parametrize("kind", [COPYABLE[name] for name in names], ids=list(names))


every_copyable = each(COPYABLE)
every_default = each(DEFAULTS)
every_adding = each(ADDS)
every_number = each(NUMBERS)


def counted(kind, work):
    """What `work` returns, and how many objects it constructed, destroyed, and left alive."""
    gc.collect()
    before = kind.stats()
    result = work()
    gc.collect()
    after = kind.stats()
    return result, {key: after[key] - before[key] for key in ("constructed", "destroyed", "live")}


def sums(kind, left, right):
    """The model's `left + right`, as texts of plain values."""
    plain = np.vectorize(kind.plain, otypes=[object])
    left, right = np.broadcast_arrays(kind.texts(left), kind.texts(right))
    return np.ravel(plain(left) + plain(right)).tolist() if left.size else []


def plain(kind, array):
    return [kind.plain(text) for text in kind.read(array)]


# T01: numpy#10721, numpy#15944
@every_copyable
def test_every_object_of_a_half_overwritten_array_is_destroyed_once(kind):
    a = kind.make()

    def work():
        b = a.copy()
        b[::2] = b[1::2]

    _, change = counted(kind, work)
    assert change["constructed"] == change["destroyed"] > 0
    assert change["live"] == 0


# T02: eigenpy#370
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
    if kind.text_cast is None and kind.default != "?":
        assert str(fresh[0]) == kind.default
        assert kind.default in repr(fresh)
    if kind.ordered:
        assert (fresh == fresh).all() and not (fresh < fresh).any()


# T02: eigenpy#370
@every_adding
def test_skipped_outputs_of_a_ufunc_are_defaults(kind):
    a = kind.make(6)
    where = np.array([True, False] * 3)
    expected = [
        text if yes else kind.plain(kind.default)
        for text, yes in zip(sums(kind, a, a), where, strict=True)
    ]
    assert plain(kind, np.add(a, a, where=where, out=np.empty_like(a))) == expected
    assert plain(kind, np.add(a, a, where=where, out=None)) == expected


# T03: EASTL#485
@every_copyable
def test_assignment_constructs_in_vacant_cells_and_assigns_to_objects(kind):
    a, filler = kind.make(), kind.make()[::-1].copy()
    target = np.empty(8, dtype=kind.element)
    target[::2] = filler[::2]

    def work():
        target[:] = a

    _, change = counted(kind, work)
    assert kind.read(target) == kind.read(a)
    if kind.zero_counts:
        assert change == {"constructed": 4, "destroyed": 0, "live": 4}
        assert all(denizen.inspect(target).bitmap)


# T03, by the type's own counter: assignment makes no object.
@pytest.mark.parametrize("name", ["Bomb", "BoxedBomb", "InlineBomb"])
def test_assignment_to_objects_makes_no_new_ones(name):
    kind = KINDS[name]
    a, target = kind.make(), kind.make()[::-1].copy()
    before = raw.bombs()
    target[:] = a
    assert raw.bombs() == before
    assert kind.read(target) == kind.read(a)


# T04: dealii#13005
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

    filled, change = counted(kind, work)
    assert filled == [kind.read(a)[4]] * 8
    assert kind.read(target) == kind.read(a)[::-1]
    if kind.zero_counts:
        assert change["live"] == 0


# T04: dealii#13005
@every_adding
def test_an_output_over_a_full_array_keeps_the_count(kind):
    a, target = kind.make(), kind.make()
    expected = sums(kind, a, a)

    def work():
        for _ in range(3):
            np.add(a, a, out=target)

    _, change = counted(kind, work)
    assert plain(kind, target) == expected
    if kind.zero_counts:
        assert change["live"] == 0
    twice = sums(kind, target, a)
    target += a
    assert plain(kind, target) == twice
    np.add(target[:-1], a[1:], out=target[1:])


# T05: numpy#10897, eigenpy
SELECTIONS = {
    "take": lambda x: x.take([0, 3, 3, 5]),
    "take of rows": lambda x: x.reshape(4, 2).take([3, 0, 3], axis=0),
    "repeat": lambda x: x.repeat(3),
    "tile": lambda x: np.tile(x, 2),
    "roll": lambda x: np.roll(x, 3),
    "where": lambda x: np.where(np.arange(len(x)) % 2 == 0, x, x[::-1]),
    "choose": lambda x: np.choose(np.arange(len(x)) % 2, [x, x[::-1]]),
    "compress": lambda x: x.compress(np.arange(len(x)) % 3 != 0),
    "delete": lambda x: np.delete(x, [1, 2]),
    "insert": lambda x: np.insert(x, 2, x[:2]),
    "pad": lambda x: np.pad(x, 2, mode="edge"),
    "flatten": lambda x: x.reshape(2, -1).T.flatten(),
    "fancy": lambda x: x[[1, 1, 0]],
    "fancy 2-d": lambda x: x.reshape(2, 4)[[1, 0], [2, 2]],
    "mask": lambda x: x[np.arange(len(x)) > 2],
    "concatenate": lambda x: np.concatenate([x, x[:3]]),
    "stack": lambda x: np.stack([x, x], axis=1),
    "append": lambda x: np.append(x, x[:1]),
    "flip": lambda x: np.flip(x).copy(),
    "broadcast": lambda x: np.broadcast_to(x, (3, len(x))).copy(),
    "block": lambda x: np.block([[x[:2], x[2:4]], [x[4:6], x[6:8]]]),
    "rot90": lambda x: np.rot90(x.reshape(2, 4)).copy(),
    "split": lambda x: np.concatenate(np.array_split(x, 3)[::-1]),
    "ravel": lambda x: x.reshape(2, 4).T.ravel(),
    "copy in Fortran's order": lambda x: x.reshape(2, 2, 2).copy(order="F"),
    "take_along_axis": lambda x: np.take_along_axis(x, np.arange(8)[::-1], axis=0),
    "select": lambda x: np.select([np.arange(8) < 3, np.arange(8) > 4], [x, x[::-1]], x[0]),
}


@every_copyable
@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_are_independent_copies_of_as_many_objects(kind, name):
    a = kind.make()
    expected = SELECTIONS[name](kind.texts(a)).ravel().tolist()
    result, change = counted(kind, lambda: SELECTIONS[name](a))
    assert result.dtype == a.dtype and denizen.owner(result) == "managed"
    if kind.zero_counts:
        assert change["live"] == result.size
        assert denizen.inspect(result).live == result.size
    a[:] = a[3]
    assert kind.read(result) == expected
    a = None
    gc.collect()
    assert kind.read(result) == expected


# T05
@every_copyable
def test_what_writes_in_place_writes_what_it_writes_to_python_objects(kind):
    a = kind.make()
    model = kind.texts(a)

    def write(array):
        np.put(array, [0, 4], array[[1, 2]])
        np.putmask(array, np.arange(len(array)) % 3 == 0, array[::-1].copy())
        np.place(array, np.arange(len(array)) > 5, array[:3].copy())
        np.put_along_axis(array, np.array([2, 1]), array[[7, 6]], axis=0)
        array[[3, 3, 5]] = array[[0, 1, 2]]
        array[array == array[0] if kind.ordered else slice(0, 0)] = array[5]
        array[1:] = array[:-1]
        array[::-1] = array
        return array

    _, change = counted(kind, lambda: write(a))
    assert kind.read(a) == write(model).tolist()
    if kind.zero_counts:
        assert change["live"] == 0


# T06: numpy#11075
@each([name for name in NUMBERS if name != "Old"])
def test_assigning_a_number_builds_and_ends_one_scratch_object(kind):
    x = kind.make(8)
    one = kind.number(1)

    def work():
        x[:] = one
        x[1:] = one
        x[::3] = one
        x[2] = one

    _, change = counted(kind, work)
    assert plain(kind, x) == [1] * 8
    assert change["live"] == 0 or not kind.zero_counts


# T07: numpy#22686
@every_number
@pytest.mark.parametrize("size", [1, 16, 17, 31, 1000])
def test_small_buffers_and_odd_tails_are_cleared(kind, size):
    numbers = (np.arange(size) % 50).astype(kind.number)
    x = numbers.astype(kind.element)
    expected = numbers.tolist()

    def work():
        old = np.setbufsize(16)
        try:
            assert x.astype(kind.number).tolist() == expected
            assert numbers.astype(kind.element).astype(kind.number).tolist() == expected
            strided = np.zeros((size, 2), dtype=kind.number)
            strided[:, 1] = numbers
            assert strided[:, 1].astype(kind.element).astype(kind.number).tolist() == expected
            if kind.name in {KINDS[name].name for name in ADDS}:
                twice = np.add(x, numbers, dtype=type(x.dtype))
                assert twice.astype(kind.number).tolist() == [2 * v for v in expected]
                np.add(numbers, x, out=twice[::-1])
                assert twice[::-1].astype(kind.number).tolist() == [2 * v for v in expected]
        finally:
            np.setbufsize(old)

    _, change = counted(kind, work)
    assert change["live"] == 0


@every_number
@pytest.mark.parametrize("buffersize", [1, 16, 64])
@pytest.mark.parametrize("delay", [False, True])
def test_buffered_iterators_clear_their_buffers(kind, buffersize, delay):
    numbers = (np.arange(67) % 50).astype(kind.number)
    flags = ["buffered", "refs_ok", "external_loop"] + ["delay_bufalloc"] * delay

    def work(stop):
        iterator = np.nditer(
            [numbers, None],
            flags=flags,
            op_flags=[["readonly"], ["writeonly", "allocate"]],
            op_dtypes=[np.dtype(kind.element), np.dtype(kind.element)],
            casting="unsafe",
            buffersize=buffersize,
        )
        with iterator:
            if delay:
                iterator.reset()
            for source, target in iterator:
                target[...] = source[::-1][::-1]
                if stop:
                    break
            return None if stop else iterator.operands[1]

    result = work(stop=False)
    assert result.astype(kind.number).tolist() == numbers.tolist()
    del result
    # An iteration that is given up leaves nothing behind.
    _, change = counted(kind, lambda: work(stop=True))
    assert change["live"] == 0


# T08 and T09: numpy#26859, numpy#22686, mpfdtype
@every_copyable
@pytest.mark.parametrize("size", [0, 1, 5, 8, 9, 100, 30_000])
def test_resize_moves_objects_and_ends_the_rest(kind, size):
    a = kind.make()
    expected = kind.read(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        kept = min(size, 8)
        _, change = counted(kind, lambda: a.resize(size, refcheck=False))
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


# T14: numpy#32013
@each(TEXTS)
def test_arrays_from_iterators_share_no_state(kind):
    dtype = np.dtype(kind.element)
    texts = [kind.sources[i % len(kind.sources)] for i in range(50)]
    one = np.fromiter(iter(texts), dtype=dtype)
    two = np.fromiter(iter(texts), dtype=dtype, count=50)
    one[0] = texts[3]
    assert kind.read(two) == kind.read(np.array(texts, dtype=dtype))
    assert kind.read(one)[1:] == kind.read(two)[1:]
    del one
    gc.collect()
    assert len(kind.read(two)) == 50


@each(TEXTS)
def test_an_iterator_that_fails_or_ends_early_leaves_nothing_behind(kind):
    text = kind.sources[0]

    def failing():
        yield from [text] * 11
        raise KeyError("stop")

    def work():
        for count in (-1, 40):
            with pytest.raises(KeyError):
                np.fromiter(failing(), dtype=kind.element, count=count)
        with pytest.raises(ValueError, match="too short"):
            np.fromiter(iter([text] * 3), dtype=kind.element, count=60)
        with pytest.raises(TypeError):
            np.fromiter(iter([text, object()]), dtype=kind.element)
        assert len(np.fromiter(iter([text] * 9), dtype=kind.element, count=4)) == 4

    _, change = counted(kind, work)
    assert change["constructed"] == change["destroyed"]


# T19: numpy#16131
LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: x[:, ::-1, ::2],
    "transposed": lambda x: x.transpose(2, 0, 1),
    "0-d": lambda x: x[0, 0, 0],
    "column": lambda x: x[..., 1],
    "broadcast": lambda x: np.broadcast_to(x[0], (2, 3, 4)),
    "empty": lambda x: x[:0],
    "new axes": lambda x: x[:, None, ::2],
    "diagonal": lambda x: np.diagonal(x),
}


@every_adding
@pytest.mark.parametrize("layout", LAYOUTS)
def test_addition_is_right_in_every_memory_layout(kind, layout):
    x = LAYOUTS[layout](kind.make(24).reshape(2, 3, 4))
    x = np.asarray(x, dtype=kind.element)
    expected = sums(kind, x, x)
    assert plain(kind, x + x) == expected
    assert plain(kind, np.add(x, x, order="F")) == expected
    out = np.empty((2, *x.shape), dtype=kind.element)[1, ...].T
    np.add(x.T, x.T, out=out)
    assert plain(kind, out.T) == expected
    # The outer sum broadcasts each operand.
    flat = x.reshape(-1)[:3]
    outer = sums(kind, flat[:, None], flat)
    assert plain(kind, flat[:, None] + flat) == plain(kind, np.add.outer(flat, flat)) == outer


@every_adding
def test_addition_whose_operands_overlap_is_that_of_copies(kind):
    for target, left, right in [
        (slice(1, None), slice(0, -1), slice(1, None)),
        (slice(None), slice(None, None, -1), slice(None)),
        (slice(0, 4), slice(2, 6), slice(4, 8)),
    ]:
        a = kind.make()
        expected = sums(kind, a[left].copy(), a[right].copy())
        np.add(a[left], a[right], out=a[target])
        assert plain(kind, a[target]) == expected


# T25: numpy#19663, NEP 49
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
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


# T28: numpy#19663
@every_copyable
def test_threads_and_contexts_without_a_handler_make_managed_arrays(kind):
    results = []

    def work():
        a = np.empty(5, dtype=kind.element)
        a[:] = kind.make(5)
        results.append((denizen.owner(a), kind.read(a), denizen.handler_name()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    contextvars.Context().run(work)
    before = denizen.handler_name()
    work()
    expected = ("managed", kind.read(kind.make(5)), "default_allocator")
    assert results == [expected] * 3
    assert denizen.handler_name() == before == denizen.handler_name(np.empty(3))


# T28: an array may die in another thread, or in another context, than the one that made it.
@every_copyable
def test_arrays_die_in_any_thread(kind):
    def work():
        arrays = [kind.make() for _ in range(10)]
        arrays += [a[::2] for a in arrays]
        thread = threading.Thread(target=arrays.clear)
        thread.start()
        thread.join()

    _, change = counted(kind, work)
    assert change["constructed"] == change["destroyed"]


# T29: numpy#21531, heyoka.py#129
def test_arrays_of_other_dtypes_never_see_the_handler():
    for dtype in (float, "U5", object, "M8[s]", [("a", float)]):
        for array in (np.empty(1, dtype=dtype), np.zeros(10, dtype=dtype)):
            assert denizen.handler_name(array) == "default_allocator"
    kind = KINDS["Integer"]
    a = kind.make()
    assert (
        denizen.handler_name(a == a)
        == denizen.handler_name(a.astype(float))
        == ("default_allocator")
    )


# T30: pybind11#1042, nanobind#488
def test_objects_of_an_owner_are_ended_by_the_owner_alone():
    live = example.live_duals()
    a, address = example.adopt_duals([1.0, 2.0, 3.0, 4.0], [2, 2])
    assert a.__array_interface__["data"][0] == address
    a[0, 0] = 7.0
    a[1] = a[0] + a[1]
    assert example.live_duals() == live + 4
    views = [a[0], a.T, a.reshape(4)[::-1]]
    del a
    gc.collect()
    assert example.live_duals() == live + 4
    assert example.strided_view_of(views[2])[2] == [6, 10, 2, 7]
    views.clear()
    gc.collect()
    assert example.live_duals() == live


# T30: pybind11#2271
def test_memory_of_an_owner_never_grows():
    a, address = example.adopt_duals([1.0, 2.0], [2])
    with pytest.raises(ValueError, match="does not own|own its"):
        a.resize(100, refcheck=False)
    with pytest.raises((BufferError, ValueError, TypeError)):
        memoryview(a)
    assert a.__array_interface__["data"][0] == address
    assert example.slice_of(a) == [1, 2]
    copy = a.copy()
    copy.resize(3, refcheck=False)
    assert (denizen.owner(copy), denizen.owner(a)) == ("managed", "adopted")
    assert example.slice_of(copy) == [1, 2, 0]


# T31: numpy#11255, numpy#8129, numpy#20673
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


# T32: pybind11#1152, pybind11#647
def test_client_code_changes_the_arrays_own_memory():
    a = np.zeros((3, 4), dtype=example.Dual)
    a[:, 1] = 2.0
    live = example.live_duals()
    # Unbuilt cells are built before they are lent; the others are the array's own objects.
    example.scale(a[::2, ::-2], 5.0)
    values = [[0, 10, 0, 0], [0, 2, 0, 0], [0, 10, 0, 0]]
    assert example.strided_view_of(a)[2] == np.ravel(values).tolist()
    assert example.live_duals() >= live
    example.scale_slice(a[1], 0.5)
    values[1] = [0, 1, 0, 0]
    assert example.slice_of(a) == np.ravel(values).tolist()
    assert denizen.inspect(a).live == example.live_duals() - live + 3


# T34: pybind11#115, pybind11#487, pybind11#1132
def test_elements_that_only_move_are_moved_or_refused():
    kind = KINDS["Unique"]
    a = kind.make()
    expected = [int(text) for text in kind.read(a)]
    a.sort()
    assert [int(text) for text in kind.read(a)] == sorted(expected)
    refused = {
        "copy": lambda: a.copy(),
        "take": lambda: a.take([0, 1]),
        "fancy": lambda: a[[0, 1]],
        "mask": lambda: a[np.arange(8) > 3],
        "concatenate": lambda: np.concatenate([a, a]),
        "repeat": lambda: a.repeat(2),
        "fill": lambda: np.full(3, a[0]),
        "take out": lambda: a.__setitem__(1, a[0]),
        "assign": lambda: a.__setitem__(slice(0, 2), a[2:4]),
        "copyto": lambda: np.copyto(a[:2], a[2:4]),
        "flatten": lambda: a.reshape(2, 4).flatten(),
        "np.sort": lambda: np.sort(a),
    }
    for name, operation in refused.items():
        with pytest.raises(TypeError, match="copied|copyable"):
            operation()
            pytest.fail(name)
    assert a[0] is a[0] and int(str(a[0])) == min(expected)
    a.resize(20, refcheck=False)
    a.resize(6, refcheck=False)
    a[2] = "77"
    assert [int(text) for text in kind.read(a)] == [
        *sorted(expected)[:2],
        77,
        *sorted(expected)[3:6],
    ]
    rng = np.random.default_rng(3)
    rng.shuffle(a)
    assert sorted(int(text) for text in kind.read(a)) == sorted(
        [*sorted(expected)[:2], 77, *sorted(expected)[3:6]]
    )


# T35: numpy#15944, eigenpy#370
@pytest.mark.parametrize("kind", [KINDS[name] for name in NO_DEFAULTS], ids=NO_DEFAULTS)
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


# T38: bevy#2295
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
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

    _, change = counted(kind, work)
    assert change == {"constructed": 0, "destroyed": 0, "live": 0}
    x = np.empty(0, dtype=kind.element)
    x.resize(4, refcheck=False)
    if kind.default is not None:
        assert kind.read(x) == [kind.default] * 4


# T39: bevy#6615, arrayvec#308
def test_objects_of_size_zero_are_counted_exactly():
    kind = KINDS["Unit"]
    live = raw.units()
    a = np.zeros(10, dtype=raw.Unit)
    assert a.itemsize >= 1 and raw.units() == live
    a[:4] = kind.make(4)
    assert raw.units() == live + 4 and denizen.inspect(a).live == 4
    b = np.concatenate([a[:4], a[:2]])
    assert raw.units() == live + 10
    b.sort()
    b.resize(3, refcheck=False)
    assert raw.units() == live + 7
    a[:2] = b[:2]
    assert raw.units() == live + 7
    del a
    gc.collect()
    assert raw.units() == live + 3
    del b
    gc.collect()
    assert raw.units() == live


# T39, T40: numpy#28318, numpy#28399, pybind11#754
def test_over_aligned_objects_are_at_suitable_addresses_in_every_operation():
    kind = KINDS["Aligned"]
    astray = raw.astray()
    a = kind.make(100)
    b = (a + a)[::-1].copy()
    b.sort()
    b.resize(1000, refcheck=False)
    record = np.zeros(5, dtype=[("pad", "u1"), ("x", kind.element)])
    record["x"] = a[:5]
    old = np.setbufsize(16)
    try:
        assert np.add(a, np.arange(100)).astype(np.int64).tolist() == [
            int(text) + i for i, text in enumerate(kind.read(a))
        ]
    finally:
        np.setbufsize(old)
    assert kind.read(record["x"]) == kind.read(a[:5])
    assert kind.read(record[["x"]].copy()["x"][::2]) == kind.read(a[:5:2])
    assert raw.astray() == astray


# T41: joblib#1254
def test_objects_in_packed_records_are_read_at_suitable_addresses():
    kind = KINDS["Wide"]
    packed = np.zeros(5, dtype=[("pad", "u1"), ("x", kind.element)])
    assert packed.dtype.itemsize == kind.make(1).itemsize + 1
    packed["x"] = kind.make(5)
    assert kind.read(packed["x"]) == ["aligned 2"] * 5
    assert str(packed["x"][3]) == "aligned 2"
    packed["x"][::2] = packed["x"][1]
    assert kind.read(packed.copy()["x"]) == ["aligned 2"] * 5
    aligned = np.zeros(5, dtype=np.dtype([("pad", "u1"), ("x", kind.element)], align=True))
    aligned["x"] = packed["x"]
    assert kind.read(aligned["x"]) == ["aligned 2"] * 5
    assert denizen.stats()[kind.name]["live"] == 10


# T41, for every type
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
    read, change = counted(kind, work)
    assert read == [texts[5], texts[0], texts[0], *texts[2::-1]]
    assert change["live"] == 0
    if kind.plain and kind.default is not None:
        assert plain(kind, packed["x"] + packed["x"]) == sums(kind, a, a)
        packed["x"] += a
        assert plain(kind, packed["x"]) == sums(kind, a, a)


# T42: Fyrox#481
@every_copyable
def test_memory_is_given_back_with_the_layout_it_was_taken_with(kind):
    a = kind.make(1)
    text = kind.read(a)
    for size in (3, 64, 65, 1000, 999, 20_000, 500, 70_000, 2, 1):
        a.resize(size, refcheck=False)
        a[-1:] = a[:1]
        assert kind.read(a[:1]) == kind.read(a[-1:]) == text


# T15 for every type with an order: the same multiset of objects.
@each([name for name, kind in COPYABLE.items() if kind.ordered and kind.plain])
def test_sorting_keeps_every_object(kind):
    a = kind.make(50)
    expected = sorted(plain(kind, a))

    def work():
        a.sort()
        a[::-1].sort()
        a.reshape(5, 10)[:, ::2].sort(axis=0)

    _, change = counted(kind, work)
    assert sorted(plain(kind, a)) == expected
    assert change["live"] == 0
    a.sort(kind="stable")
    assert plain(kind, a) == expected
    assert sorting.live() >= 0
