"""Copies: selections, casts in buffers, iterators, memory layouts."""

import gc

import numpy as np
import pytest
from support.kind import every, every_adding, every_copyable, every_number, every_text
from support.selections import SELECTIONS

import denizen


@pytest.mark.regression("T05", "numpy/numpy#10897")
@every_copyable
@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_are_independent_copies_of_as_many_objects(kind, name):
    a = kind.make()
    expected = SELECTIONS[name](kind.texts(a)).ravel().tolist()
    result, change = kind.counted(lambda: SELECTIONS[name](a))
    assert result.dtype == a.dtype and denizen.owner(result) == "managed"
    if kind.zero_counts:
        assert change["live"] == result.size
        assert denizen.inspect(result).live == result.size
    a[:] = a[3]
    assert kind.read(result) == expected
    a = None
    gc.collect()
    assert kind.read(result) == expected


@pytest.mark.regression("T05")
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

    _, change = kind.counted(lambda: write(a))
    assert kind.read(a) == write(model).tolist()
    if kind.zero_counts:
        assert change["live"] == 0


@pytest.mark.regression("T06", "numpy/numpy#11075")
@every(lambda kind: kind.number is not None and kind.name != "denizen_raw.Old")
def test_assigning_a_number_builds_and_ends_one_scratch_object(kind):
    x = kind.make(8)
    one = kind.number(1)

    def work():
        x[:] = one
        x[1:] = one
        x[::3] = one
        x[2] = one

    _, change = kind.counted(work)
    assert kind.plains(x) == [1] * 8
    assert change["live"] == 0 or not kind.zero_counts


@pytest.mark.regression("T07", "numpy/numpy#22686")
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
            if kind.adds:
                twice = np.add(x, numbers, dtype=type(x.dtype))
                assert twice.astype(kind.number).tolist() == [2 * v for v in expected]
                np.add(numbers, x, out=twice[::-1])
                assert twice[::-1].astype(kind.number).tolist() == [2 * v for v in expected]
        finally:
            np.setbufsize(old)

    _, change = kind.counted(work)
    assert change["live"] == 0


@pytest.mark.regression("T07", "numpy/numpy#22686")
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
    _, change = kind.counted(lambda: work(stop=True))
    assert change["live"] == 0


@pytest.mark.regression("T14", "numpy/numpy#32013")
@every_text
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


@pytest.mark.regression("T14", "numpy/numpy#32013")
@every_text
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

    _, change = kind.counted(work)
    assert change["constructed"] == change["destroyed"]


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


@pytest.mark.regression("T19", "numpy/numpy#16131")
@every_adding
@pytest.mark.parametrize("layout", LAYOUTS)
def test_addition_is_right_in_every_memory_layout(kind, layout):
    x = LAYOUTS[layout](kind.make(24).reshape(2, 3, 4))
    x = np.asarray(x, dtype=kind.element)
    expected = kind.sums(x, x)
    assert kind.plains(x + x) == expected
    assert kind.plains(np.add(x, x, order="F")) == expected
    out = np.empty((2, *x.shape), dtype=kind.element)[1, ...].T
    np.add(x.T, x.T, out=out)
    assert kind.plains(out.T) == expected
    # The outer sum broadcasts each operand.
    flat = x.reshape(-1)[:3]
    outer = kind.sums(flat[:, None], flat)
    assert kind.plains(flat[:, None] + flat) == kind.plains(np.add.outer(flat, flat)) == outer


@pytest.mark.regression("T19", "numpy/numpy#16131")
@every_adding
def test_addition_whose_operands_overlap_is_that_of_copies(kind):
    for target, left, right in [
        (slice(1, None), slice(0, -1), slice(1, None)),
        (slice(None), slice(None, None, -1), slice(None)),
        (slice(0, 4), slice(2, 6), slice(4, 8)),
    ]:
        a = kind.make()
        expected = kind.sums(a[left].copy(), a[right].copy())
        np.add(a[left], a[right], out=a[target])
        assert kind.plains(a[target]) == expected
