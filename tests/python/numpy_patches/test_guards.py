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


RECORD = np.dtype([("pad", "u1"), ("x", Number.dtype)])
NESTED = np.dtype([("i", "i4"), ("in", RECORD)])
#: What makes an array over bytes that another library filled.
OVER_BYTES = {
    "ndarray": lambda dtype, data, path: np.ndarray(2, dtype, data),
    "ndarray by name": lambda dtype, data, path: np.ndarray(2, dtype=dtype, buffer=data),
    "memmap": lambda dtype, data, path: np.memmap(path, dtype=dtype, mode="r+", shape=2),
    "memmap of a new file": lambda dtype, data, path: np.memmap(path, dtype, "w+", shape=(2, 2)),
    "a class derived from ndarray": lambda dtype, data, path: Derived(2, dtype, data),
    "ndarray for a class": lambda dtype, data, path: np.ndarray.__new__(Derived, 2, dtype, data),
    "a class with a constructor": lambda dtype, data, path: Constructed(2, dtype, data),
    "recarray": lambda dtype, data, path: np.recarray(2, dtype=dtype, buf=data),
    "rec.fromstring": lambda dtype, data, path: np.rec.fromstring(bytes(data), dtype=dtype),
    "masked array": lambda dtype, data, path: np.ma.MaskedArray(np.ndarray(2, dtype, data)),
    "frombuffer": lambda dtype, data, path: np.frombuffer(data, dtype),
    "fromfile": lambda dtype, data, path: np.fromfile(path, dtype),
    "view": lambda dtype, data, path: np.frombuffer(data, "u1").view(dtype),
    "load": lambda dtype, data, path: np.load(path, mmap_mode="r"),
    "shared memory": lambda dtype, data, path: np.ndarray(2, dtype, memoryview(data)),
}


class Derived(np.ndarray):
    pass


class Constructed(np.ndarray):
    def __new__(cls, shape, dtype, buffer):
        return super().__new__(cls, shape, dtype, buffer=buffer)


@pytest.mark.regression("T23", "joblib/joblib#162", "joblib/joblib#163")
@pytest.mark.parametrize("how", OVER_BYTES)
@pytest.mark.parametrize(
    "dtype", [Number.dtype, RECORD, NESTED], ids=["element", "field", "nested"]
)
def test_bytes_of_others_are_never_taken_for_elements(how, dtype, tmp_path):
    data = bytearray(range(1, 2 * dtype.itemsize + 1))
    (tmp_path / "bytes").write_bytes(data)
    with pytest.raises((TypeError, ValueError)):
        OVER_BYTES[how](dtype, data, tmp_path / "bytes")


def test_the_refusal_of_a_buffer_says_what_to_do():
    with pytest.raises(TypeError, match=r"denizen_sorting.Number.*buffer.*np\.empty"):
        np.ndarray(2, Number, bytearray(100))


def test_arrays_over_bytes_of_other_dtypes_and_arrays_without_a_buffer_are_numpys_own():
    for cls in (np.ndarray, Derived, Constructed):
        a = cls(3, "i4", np.arange(3, dtype="i4"))
        assert type(a) is cls and a.tolist() == [0, 1, 2]
    a = np.ndarray.__new__(Derived, shape=3, dtype=Number)
    assert type(a) is Derived and plain(a) == [0, 0, 0] and denizen.owner(a) == "managed"
    assert plain(np.ndarray((2, 2), Number, None)) == [0] * 4
    with pytest.raises(TypeError, match="no_such"):
        np.ndarray(3, dtype=Number, no_such=1)
    with pytest.raises(TypeError):
        np.ndarray(3, "no dtype", bytearray(9))


def test_classes_that_existed_before_denizen_are_guarded_too():
    script = """
import numpy as np
class Before(np.ndarray):
    pass
class Further(Before):
    pass
class Meta(type):
    def __subclasses__(cls):
        raise RuntimeError
class Odd(np.ndarray, metaclass=Meta):
    pass
class Constructed(Further):
    def __new__(cls, *arguments):
        return super().__new__(cls, *arguments)
import denizen
for cls in (Before, Further, Odd, Constructed):
    assert type(np.ndarray.__new__(cls, 3, "i4")) is cls
    assert cls(3, "u1", b"abc").tolist() == [97, 98, 99]
    for make in (cls, lambda *arguments: np.ndarray.__new__(cls, *arguments)):
        try:
            make(1, denizen.Integer, bytearray(b"12345678"))
        except TypeError as error:
            assert "buffer" in str(error), error
        else:
            raise SystemExit(cls)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


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


def test_put_and_putmask_of_elements_that_only_move_are_errors():
    a = np.array(["1", "2", "3", "4"], dtype=sorting.Unique)
    for attempt in (
        lambda: a[::2].put([0], a[3:]),
        lambda: np.put(a, [0, 1], a[1:3]),
        lambda: np.putmask(a[::-1], [True, False, False, True], a[:2]),
        lambda: np.putmask(a, [True] * 4, values=a[::-1]),
    ):
        with pytest.raises(TypeError, match="not copyable"):
            attempt()
    assert a.astype("U1").tolist() == ["1", "2", "3", "4"]


def test_put_and_putmask_through_a_copy_write_back():
    a = np.array([str(x) for x in range(12)], dtype=sorting.Number).reshape(3, 4)
    model = a.astype(object)
    for x in (a, model):
        x.T.put([1, 7, -1], x[0, :3], mode="wrap")
        np.putmask(x[:, ::2], np.arange(6).reshape(3, 2) % 2 == 0, values=x[::-1, 1])
    assert [str(x) for x in a.flat] == [str(x) for x in model.flat]
    with pytest.raises(IndexError):
        a.T.put([0, 99], a[0])
    assert [str(x) for x in a.flat] == [str(x) for x in model.flat]
