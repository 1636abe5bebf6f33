"""Bytes of cells are neither given away nor taken in, for arrays and records of elements; other dtypes
see no difference."""

import array
import copy
import ctypes
import hashlib
import io
import mmap
import pickle
import socket
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

import denizen

raw = pytest.importorskip("denizen_raw")
Integer = denizen.Integer
BIG = 2**200

FLAT = np.dtype([("x", Integer), ("n", "i8")])
PACKED = np.dtype([("pad", "u1"), ("x", Integer)])
NESTED = np.dtype([("i", "i4"), ("in", PACKED), (("a title", "y"), Integer)], align=True)
try:
    SUBARRAY = np.dtype([("x", Integer, (2,)), ("n", "i8")])
except TypeError:  # NumPy 2.5
    SUBARRAY = FLAT


class Derived(np.ndarray):
    """Made after the import."""


def records(dtype):
    a = np.zeros(2, dtype)
    fill(a)
    return a


def fill(a):
    for name in a.dtype.names or ():
        if a.dtype[name].names:
            fill(a[name])
        elif a.dtype[name] == Integer.dtype or a.dtype[name].subdtype:
            a[name] = BIG


#: name -> an array (or a structured scalar) with elements, whose bytes are not given away.
HOLDERS = {
    "array": lambda: np.array([3, BIG, 2], dtype=Integer),
    "other type": lambda: np.array(["word"] * 3, dtype=raw.Shared),
    "view": lambda: np.array([3, BIG, 2, 5], dtype=Integer)[:2],
    "copy": lambda: np.array([3, BIG, 2, 5], dtype=Integer)[::2].copy(),
    "0-d": lambda: np.array(BIG, dtype=Integer),
    "one element": lambda: np.array([BIG], dtype=Integer),
    "read-only": lambda: np.broadcast_to(np.array([BIG], dtype=Integer), (1,)),
    "matrix": lambda: np.array([[3, BIG]], dtype=Integer).view(np.matrix),
    "derived": lambda: np.array([3, BIG], dtype=Integer).view(Derived),
    "masked": lambda: np.ma.array(np.array([3, BIG], dtype=Integer)),
    "unpickled": lambda: pickle.loads(pickle.dumps(np.array([3, BIG], dtype=Integer))),
    "records": lambda: records(FLAT),
    "packed records": lambda: records(PACKED),
    "nested records": lambda: records(NESTED),
    "subarrays": lambda: records(SUBARRAY),
    "recarray": lambda: records(FLAT).view(np.recarray),
    "inner record": lambda: records(NESTED)[:1]["in"].copy(),
    "structured scalar": lambda: records(FLAT)[0],
    "record scalar": lambda: records(FLAT).view(np.recarray)[0],
    "own structured scalar": lambda: copy.copy(records(FLAT)[0]),
    # The other fields are holes in these, whose dtypes do not name them.
    "other fields": lambda: records(FLAT)[["n"]],
    "other fields of one": lambda: records(FLAT)[["n"]][0],
    "other fields of a scalar": lambda: records(FLAT)[0][["n"]],
}


def through_socket(b):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\xff" * 8)
        ours.recv_into(b)


#: name -> what reads or writes bytes of a buffer.
ASKING = {
    "readinto": lambda b: io.BytesIO(b"\xff" * b.nbytes).readinto(b),
    "recv_into": through_socket,
    "pack_into": lambda b: struct.pack_into("q", b, 0, 1),
    "unpack_from": lambda b: struct.unpack_from("q", b),
    "md5": hashlib.md5,
    "compress": zlib.compress,
    "crc32": zlib.crc32,
    "join": lambda b: b"".join([b]),
    "BytesIO": io.BytesIO,
    "write": lambda b: io.BytesIO().write(b),
    "bytearray": bytearray,
    "extend": lambda b: bytearray().extend(b),
    "slice": lambda b: bytearray(8).__setitem__(slice(0, 8), b),
    "frombytes": lambda b: array.array("q").frombytes(b),
    "memoryview": memoryview,
    "memoryview copy": lambda b: memoryview(bytearray(8)).__setitem__(slice(0, 8), b),
    "PickleBuffer": pickle.PickleBuffer,
    "frombuffer": lambda b: np.frombuffer(b, "u1"),
    "ndarray": lambda b: np.ndarray(8, "u1", b),
    "ctypes": lambda b: (ctypes.c_char * 8).from_buffer(b),
    "ctypes copy": lambda b: (ctypes.c_char * 8).from_buffer_copy(b),
    "mmap": lambda b: mmap.mmap(-1, 64).write(b),
    "data": lambda b: bytes(b.data),
    "tobytes": lambda b: b.tobytes(),
    "__array_struct__": lambda b: b.__array_struct__,
}
if sys.version_info >= (3, 12):
    ASKING["__buffer__"] = lambda b: b.__buffer__(0)
    ASKING["__buffer__ of the class"] = lambda b: (
        np.void if isinstance(b, np.void) else np.ndarray
    ).__buffer__(b, 0)


@pytest.mark.parametrize("holder", HOLDERS)
def test_bytes_of_cells_are_neither_given_nor_taken(holder):
    b = HOLDERS[holder]()
    before = str(b.tolist())
    given = []
    for name, ask in ASKING.items():
        try:
            ask(b)
        except (TypeError, ValueError, BufferError, AttributeError):
            continue
        given.append(name)
    assert given == []
    assert str(b.tolist()) == before


def test_bytes_of_an_element_are_what_python_says():
    """Not a list of bytes out of the array's memory."""
    with pytest.raises((TypeError, ValueError)):
        bytes(np.array([3, BIG], dtype=Integer))


def test_the_refusal_says_what_to_do():
    a = np.array([BIG], dtype=Integer)
    for ask in (hashlib.md5, memoryview, lambda a: a.tobytes()):
        with pytest.raises(TypeError, match=r"denizen\.Integer.*pointers.*astype.*pickle"):
            ask(a)
    assert not hasattr(a, "__array_struct__")


@pytest.mark.filterwarnings("ignore:Setting the strides:DeprecationWarning")
def test_cells_are_found_where_they_begin():
    for a in (np.array([3, BIG, 2, 5], dtype=Integer), records(FLAT)["x"], records(PACKED)["x"]):
        for strides in ((1,), (4,), (8,), (0,)):
            with pytest.raises(TypeError, match="keeps its strides"):
                a[:2].strides = strides


def test_structured_scalars_are_pickled_and_copied():
    scalars = [HOLDERS[name]() for name in HOLDERS if "scalar" in name or "of one" in name]
    for scalar in scalars:
        for same in (pickle.loads(pickle.dumps(scalar)), copy.copy(scalar), copy.deepcopy(scalar)):
            assert same.tolist() == scalar.tolist() and type(same) in (type(scalar), np.ndarray)
    assert pickle.loads(pickle.dumps(np.float64(1.5))) == 1.5
    assert bytes(pickle.loads(pickle.dumps(np.void(b"abc")))) == b"abc"


def test_fields_of_numbers_are_lent_as_ever():
    a = records(FLAT)
    memoryview(a["n"])[0] = 7
    assert a["n"].tolist() == [7, 0] and a["x"].tolist() == [BIG, BIG]
    # A copy of a part has no cells in its holes.
    assert len(bytes(a[["n"]].copy())) > 0


def test_buffers_of_other_dtypes_are_numpys_own():
    """Also in classes that are older than the import, and of subclasses of these."""
    code = """
import io, hashlib, sys, warnings
import numpy as np
warnings.simplefilter("ignore")

class Before(np.ndarray):
    pass

class Further(Before):
    pass

def outcomes():
    class After(np.ndarray):
        pass
    result = []
    objects = np.zeros(2, [("o", object), ("n", "i8")])
    for dtype in ("f8", "i2", "S3", "U2", object, "M8[s]", [("a", "i4"), ("b", "f8")], objects.dtype):
        for cls in (np.ndarray, Before, Further, After, np.recarray, np.matrix):
            a = np.zeros((2, 2), dtype).view(cls)
            for b in (a, a[:, :1], a.T, a[0, 0], objects[["n"]], objects[["n"]][0]):
                for ask in (
                    bytes, memoryview, hashlib.md5, lambda b: b.tobytes(),
                    lambda b: b.__array_struct__, lambda b: b.data,
                    lambda b: b.dtype.hasobject or io.BytesIO(b"1234567890").readinto(b),
                    lambda b: b.dtype.hasobject or setattr(b, "strides", (8, 8)),
                ):
                    try:
                        value = ask(b)
                        plain = isinstance(value, int) or b.dtype.hasobject is False
                        plain = plain and isinstance(value, (bytes, int))
                        result.append(value if plain else type(value).__name__)
                    except Exception as error:
                        result.append(repr(error))
    return result

before = outcomes()
import denizen
assert outcomes() == before

# The older classes are guarded, too.
for cls in (Before, Further, np.matrix):
    a = np.zeros((1, 3), denizen.Integer).view(cls)
    for ask in (memoryview, hashlib.md5, bytes, io.BytesIO(b"12345678").readinto):
        try:
            ask(a)
        except TypeError:
            continue
        raise SystemExit("given away")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# ---- memory that an object describes -------------------------------------------------------------


class Describing:
    def __init__(self, descr, data, **more):
        self.__array_interface__ = {
            "shape": (1,),
            "typestr": "|V8",
            "descr": descr,
            "data": data,
            "version": 3,
        } | more


class Changing:
    """Says something else whenever it is asked."""

    def __init__(self, *answers):
        self.answers = list(answers)

    @property
    def __array_interface__(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer.__array_interface__


DESCRIBED = {
    "element": lambda: Integer.dtype,
    "field": lambda: [("x", Integer)],
    "dtype of a field": lambda: np.dtype([("x", Integer)]),
}
MEMORY = {
    "bytearray": lambda: bytearray(b"\xff" * 8),
    "bytes": lambda: b"\xff" * 8,
    "array": lambda: np.full(8, 255, "u1"),
    "address": lambda: (np.full(8, 255, "u1").ctypes.data, False),
}
CONVERSIONS = {
    "array": np.array,
    "array by name": lambda d: np.array(object=d),
    "array copied": lambda d: np.array(d, copy=True),
    "array of objects": lambda d: np.array(d, dtype=object),
    "asarray": np.asarray,
    "asarray by name": lambda d: np.asarray(a=d),
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "masked": np.ma.array,
    "atleast_1d": np.atleast_1d,
    "recarray": np.rec.array,
}


@pytest.mark.parametrize("how", CONVERSIONS)
@pytest.mark.parametrize("descr", DESCRIBED)
def test_memory_that_an_object_describes_is_never_taken_for_elements(descr, how):
    for memory in MEMORY.values():
        with pytest.raises((TypeError, ValueError)):
            CONVERSIONS[how](Describing(DESCRIBED[descr](), memory()))
    harmless = Describing([("x", "i8")], bytes(8))
    for changing in (
        Changing(harmless, Describing(DESCRIBED[descr](), bytearray(b"\xff" * 8))),
        Changing(Describing(DESCRIBED[descr](), bytearray(b"\xff" * 8)), harmless),
    ):
        try:
            made = CONVERSIONS[how](changing)
        except (TypeError, ValueError):
            continue
        assert made.dtype.hasobject is False or made.dtype == object


def test_what_other_objects_describe_is_numpys_own():
    described = Describing([("x", "i8")], bytearray(8))
    a = np.asarray(described)
    assert a.dtype.names == ("x",) and a.base is not None
    assert np.array(described, dtype=object).tolist() == [(0,)]
    lent = np.arange(3.0)

    class Lender:
        __array_interface__ = lent.__array_interface__

    b = np.asarray(Lender())
    b[0] = 7
    assert lent[0] == 7 and np.array(Lender(), "i4").tolist() == [7, 1, 2]
    with pytest.raises(TypeError):
        np.array()
    with pytest.raises(TypeError):
        np.array(Lender(), no_such=1)


# ---- dtypes that change under their arrays -------------------------------------------------------

DTYPES = {
    "flat": FLAT,
    "packed": PACKED,
    "nested": NESTED,
    "subarray field": SUBARRAY,
    "subarray": np.dtype((np.int64, 2)),
    "record": np.dtype((np.record, FLAT)),
    "offsets": np.dtype(
        {"names": ["x", "n"], "formats": [Integer, "i2"], "offsets": [16, 3], "itemsize": 40}
    ),
    "metadata": np.dtype([("x", Integer)], metadata={"unit": "m"}),
    "other": np.dtype([("a", "i4"), ("b", "f8")], align=True),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_structured_dtypes_are_pickled_and_copied(dtype):
    dtype = DTYPES[dtype]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        same = pickle.loads(pickle.dumps(dtype, protocol))
        assert same == dtype and repr(same) == repr(dtype) and same.type is dtype.type
        # Whether it has padding NumPy finds out again.
        assert same.flags & 0xFF == dtype.flags & 0xFF and same.itemsize == dtype.itemsize
        assert same.fields == dtype.fields and same.metadata == dtype.metadata
        assert same.isalignedstruct == dtype.isalignedstruct and same.alignment == dtype.alignment
    for same in (copy.copy(dtype), copy.deepcopy(dtype)):
        assert same == dtype and same.type is dtype.type


def fields_state(fields, size=8, flags=27):
    return (3, "|", None, tuple(fields), fields, size, 1, flags)


@pytest.mark.parametrize("flags", [0, 27, 63])
def test_a_dtype_does_not_change_under_its_arrays(flags):
    ours, plain = {"x": (Integer.dtype, 0)}, {"x": (np.dtype("i8"), 0)}
    nested = {"in": (np.dtype([("x", Integer)]), 0)}
    for dtype in (np.dtype([("x", "i8")]), np.dtype("V8")):
        a = np.full(2, 5, np.dtype([("x", "i8")])).view(dtype)
        for fields in (ours, nested):
            with pytest.raises(TypeError, match="takes no state"):
                a.dtype.__setstate__(fields_state(fields, flags=flags))
        with pytest.raises(TypeError, match="takes no state"):
            a.dtype.__setstate__((3, "|", (Integer.dtype, (1,)), None, None, 8, 1, flags))
        assert a.dtype == dtype and not a.dtype.hasobject
    a = records(FLAT)
    before = a.tolist()
    for fields in (ours, plain):
        with pytest.raises(TypeError, match="takes no state"):
            a.dtype.__setstate__(fields_state(fields, size=16, flags=flags))
    assert a.tolist() == before and a.dtype == FLAT


def test_the_fields_of_a_dtype_are_its_own():
    dtype = np.dtype([("x", "i8")])
    state = dtype.__reduce__()[2]
    for part in (state[4], pickle.loads(pickle.dumps(dtype)).__reduce__()[2][4]):
        part["x"] = (Integer.dtype, 0)
    assert dtype["x"] == np.int64
    given = {"x": (np.dtype("i8"), 0)}
    other = np.dtype("V8")
    other.__setstate__(fields_state(given, flags=0))
    given["x"] = (Integer.dtype, 0)
    assert other == dtype and other["x"] == np.int64
    # A state that is none is an error as it was, and changes nothing.
    for wrong in (None, (), (3,), (9, *fields_state(given)[1:])):
        with pytest.raises((TypeError, ValueError, SystemError)):
            dtype.__setstate__(wrong)
        assert dtype == np.dtype([("x", "i8")])
