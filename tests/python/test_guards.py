"""What older NumPys would corrupt or crash is guarded, and other dtypes see no difference."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import denizen

sorting = pytest.importorskip("denizen_sorting")
Number = sorting.Number


@pytest.fixture(autouse=True)
def balanced():
    gc.collect()
    live = sorting.live()
    yield
    gc.collect()
    assert sorting.live() == live


def plain(a):
    return [int(str(x)) for x in a.ravel()]


@pytest.mark.parametrize(
    "element", [Number, sorting.Compared, denizen.Integer, denizen.Rational, sorting.Ticket]
)
def test_flat_assignment_copies_and_repeats(element):
    a = np.array([str(i) for i in range(12)], dtype=element).reshape(3, 4)
    a.flat = np.array(["7", "8", "9"], dtype=element)
    assert [str(x) for x in a.ravel()] == ["7", "8", "9"] * 4
    a.flat = np.array(["5"], dtype=element)[0]
    assert [str(x) for x in a.ravel()] == ["5"] * 12
    a.T[::2].flat = np.array(["1", "2"], dtype=element)
    assert [str(x) for x in a.T[::2].ravel()] == ["1", "2"] * 3


def test_flat_assignment_of_an_overlapping_view_copies_it_where_numpy_does():
    for reverse in (False, True):
        a = np.array(["1", "2", "3", "4"], dtype=Number)
        model = a.astype(object)
        for x in (a, model):
            x.flat = x[::-1] if reverse else x[1:]
        assert [str(x) for x in a] == [str(x) for x in model]


def test_flat_assignment_of_nothing_and_to_nothing_changes_nothing():
    a = np.array([1, 2], dtype=Number)
    a.flat = np.array([], dtype=Number)
    assert plain(a) == [1, 2]
    np.zeros(0, dtype=Number).flat = 5
    zero_dimensional = np.array(3, dtype=Number)
    zero_dimensional.flat = 5
    assert plain(zero_dimensional) == [5]


def test_flat_assignment_that_fails_keeps_what_was_there():
    a = np.array([1, 2, 3], dtype=Number)
    with pytest.raises((TypeError, ValueError)):
        a.flat = ["4", "no number"]
    assert plain(a) == [1, 2, 3]
    a.flags.writeable = False
    with pytest.raises(ValueError):
        a.flat = 5
    with pytest.raises(AttributeError):
        del a.flat


def test_flat_assignment_to_structures_with_elements():
    a = np.zeros(4, dtype=[("i", "i8"), ("x", Number.dtype)])
    b = np.zeros(2, dtype=a.dtype)
    b["x"], b["i"] = [5, 6], [1, 2]
    a.flat = b
    assert plain(a["x"]) == [5, 6, 5, 6]
    assert list(a["i"]) == [1, 2, 1, 2]


def test_flat_assignment_of_other_dtypes_is_numpys_own():
    script = """
import numpy as np, sys
def outcomes():
    result = []
    for dtype in ("f8", "i2", "S3", object, [("a", "i4"), ("b", "f8")], "M8[s]"):
        a = np.zeros((3, 4), dtype=dtype)
        for value in (np.ones(5, "i8"), 3, [1, 2], [], np.arange(12).reshape(4, 3).T):
            try:
                a.flat = value
                result.append(repr(a))
            except Exception as error:
                result.append(repr(error))
    return result
before = outcomes()
import denizen
assert outcomes() == before
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_a_foreign_buffer_is_refused_or_read_by_its_cells():
    buffer = bytearray(3 * Number.dtype.itemsize)
    try:
        a = np.ndarray(3, dtype=Number, buffer=buffer)
    except TypeError:
        return  # newer NumPys refuse dtypes with a finalizer
    assert np.lib.NumpyVersion(np.__version__) < "2.6.0"
    assert plain(a) == [0, 0, 0]
    assert denizen.owner(a) == "foreign"


def test_a_subarray_dtype_is_refused_or_becomes_a_dimension():
    try:
        dtype = np.dtype((Number.dtype, (2,)))
    except TypeError:
        return  # newer NumPys refuse dtypes with a finalizer
    a = np.zeros(3, dtype=dtype)
    a[1] = [4, 5]
    assert a.shape == (3, 2)
    assert plain(a) == [0, 0, 4, 5, 0, 0]
    structure = np.zeros(2, dtype=[("pair", Number.dtype, (2,))])
    structure["pair"][1] = [6, 7]
    assert plain(structure["pair"]) == [0, 0, 6, 7]
    assert plain(structure.copy()["pair"]) == [0, 0, 6, 7]


EINSUMS = ["i->", "i,i", "i,i->i", "ij->i", "ii", "ij,jk->ik", "ij,jk,kl->il"]


@pytest.mark.parametrize("subscripts", EINSUMS)
@pytest.mark.parametrize("optimize", [False, True])
def test_einsum_refuses_elements_instead_of_calling_what_is_no_loop(subscripts, optimize):
    operands = [
        np.full((2,) * len(axes), 2**80, dtype=denizen.Integer)
        for axes in subscripts.split("->")[0].split(",")
    ]
    if optimize and len(operands) > 1:
        pytest.skip("NumPy may take matmul then")
    with pytest.raises(TypeError, match="einsum"):
        np.einsum(subscripts, *operands, optimize=optimize)


def test_einsum_refuses_elements_in_every_disguise():
    numbers = np.arange(4).reshape(2, 2)
    with pytest.raises(TypeError, match="einsum"):
        np.einsum("ij->i", numbers, dtype=denizen.Integer)
    with pytest.raises(TypeError, match="einsum"):
        np.einsum("ij->i", numbers, out=np.zeros(2, dtype=denizen.Integer))
    with pytest.raises(TypeError, match="einsum"):
        np.einsum("i,i", [denizen.Integer(1)], [denizen.Integer(2)])


def test_einsum_of_other_dtypes_is_numpys():
    numbers = np.arange(4.0).reshape(2, 2)
    assert np.einsum("ij,jk->ik", numbers, numbers).tolist() == (numbers @ numbers).tolist()
    assert np.einsum(numbers, [0, 1], [1, 0]).tolist() == numbers.T.tolist()
    assert np.einsum("ii", numbers, dtype=complex) == 3
    out = np.zeros(2)
    assert np.einsum("ij->i", numbers, out=out) is out
    with pytest.raises(ValueError):
        np.einsum("ij->i", np.arange(3))
