"""Libraries that are closed while their functions are in use stay."""

import ctypes
import types

import numpy as np
import pytest
from support.c_extension import build
from support.c_table import (
    loop,
    register,
    spec,
    vtable,
)
from support.process import run

import denizen

# ---- libraries that are closed -------------------------------------------------------------------

CLOSING = """
import _ctypes, ctypes, gc, os, shutil, sys, types
from ctypes import addressof, c_long, c_longlong, c_void_p
import numpy as np
import denizen
from support.c_table import API, Spec, VTable, lengths, loop, operands, register, spec, vtable

path = sys.argv[1]

def loaded(path):
    with open("/proc/self/maps") as maps:
        return path in maps.read()

def opened(path):
    library = ctypes.CDLL(path)
    library.closable_spec.restype = library.closable_memory.restype = c_void_p
    library.closable_live.restype = c_longlong
    return library

def close(library, times=3):
    # More often than it was opened: a library that is closed too often stays for its other users.
    for _ in range(times):
        try:
            _ctypes.dlclose(library._handle)
        except OSError:
            break

# Without a registration it goes.
copy = path + ".copy.so"
shutil.copy(path, copy)
library = opened(copy)
close(library, 1)
assert not loaded(copy), "this library is never unloaded, whatever happens"
"""


@pytest.fixture(scope="session")
def closable(tmp_path_factory):
    """Path of the library."""
    return str(build("closable", tmp_path_factory.mktemp("closable")))


def closing(closable, code):
    return run(f"sys.argv[1:] = [{closable!r}]\n" + CLOSING + code, arrays=False)


def test_a_library_that_is_closed_while_arrays_live_stays(closable):
    closing(
        closable,
        """
library = opened(path)
module = types.ModuleType("closable")
handle = c_void_p()
assert API["register_element"](library.closable_spec(), module, ctypes.byref(handle)) == 0
live = library.closable_live
a = +np.zeros(1000, dtype=module.Box)
assert live() == 1000
close(library)
assert loaded(path)
b = +a
assert np.concatenate([a, b]).astype(int).sum() == 3000
a[::2] = b[::2]
a.resize(1500, refcheck=False)
scalar = a[0]
del a
gc.collect()
assert live() == 1001
del b, scalar
gc.collect()
assert live() == 0
""",
    )


def test_a_library_of_a_bare_type_stays(closable):
    closing(
        closable,
        """
library = opened(path)
table = VTable.from_address(Spec.from_address(library.closable_spec()).vtable)
bare = VTable.from_buffer_copy(table)
bare.zero_bytes = 0
assert API["register_type"](addressof(bare), None, None) == 0
close(library)
assert loaded(path)
""",
    )


def test_the_library_of_a_release_function_stays(closable):
    closing(
        closable,
        """
library = opened(path)
module = types.ModuleType("closable")
handle = register(module, spec(vtable("closable.Word")))
released = c_long(0)
release = ctypes.cast(library.closable_release, c_void_p).value
cells = (c_long * 4)(1, 2, 3, 4)
a = API["adopt"](handle, addressof(cells), 1, lengths(4), None, addressof(released), release, 0)
assert denizen.owner(a) == "adopted"
close(library)
assert loaded(path)
a[1] = a[3]
view = a[2:]
del a
gc.collect()
assert released.value == 0
del view
gc.collect()
assert released.value == 1
""",
    )


def test_the_library_of_adopted_memory_stays(closable):
    closing(
        closable,
        """
library = opened(path)
module = types.ModuleType("closable")
handle = register(module, spec(vtable("closable.Word")))
a = API["adopt"](handle, library.closable_memory(), 1, lengths(4), None, None, None, 0)
close(library)
assert loaded(path)
a[:2] = a[2:]
assert c_long.from_address(a.ctypes.data).value == 3
""",
    )


def test_the_library_of_a_handler_under_ours_stays(closable):
    closing(
        closable,
        """
library = opened(path)
library.closable_handler.restype = c_void_p
new = ctypes.pythonapi.PyCapsule_New
new.argtypes, new.restype = [c_void_p, ctypes.c_char_p, c_void_p], ctypes.py_object
with denizen.handler(under=new(library.closable_handler(), b"mem_handler", None)):
    a = np.arange(1000.0)
    assert "closable" in denizen.handler_name(a)
close(library)
assert loaded(path)
a.resize(5000, refcheck=False)
assert a.sum() == 499500
del a
gc.collect()
""",
    )


def test_a_registration_that_fails_keeps_no_library(closable):
    closing(
        closable,
        """
library = opened(path)
bad = loop(operands=operands("self", 99))
whole = Spec.from_buffer_copy(Spec.from_address(library.closable_spec()))
whole.loops = addressof(bad)
try:
    API["register_element"](addressof(whole), types.ModuleType("closable"), None)
except ValueError as error:
    assert "numpy_type" in str(error)
else:
    raise AssertionError
close(library, 1)
assert not loaded(path)
""",
    )


def test_a_library_that_cannot_be_kept_is_refused(closable):
    """One of another namespace of the loader, which has all its libraries of its own."""
    if not hasattr(ctypes.CDLL(None), "dlmopen"):
        pytest.skip("the C library has one namespace")
    closing(
        closable,
        """
dlmopen = ctypes.CDLL(None).dlmopen
dlmopen.argtypes, dlmopen.restype = [c_long, ctypes.c_char_p, ctypes.c_int], c_void_p
handle = dlmopen(-1, path.encode(), os.RTLD_NOW)
if not handle:
    sys.exit()
library = ctypes.CDLL(None, handle=handle)
library.closable_spec.restype = c_void_p
module = types.ModuleType("closable")
try:
    API["register_element"](library.closable_spec(), module, None)
except ValueError as error:
    message = str(error)
else:
    raise AssertionError("it was registered")
assert path in message and "cannot be kept loaded" in message, message
assert "closable.Box: `context` is in" in message, message
assert not hasattr(module, "Box") and "closable.Box" not in denizen.types()
""",
    )


def test_functions_in_no_library_are_their_owners_to_keep():
    """As those of ctypes above: what libffi makes belongs to no library."""
    module = types.ModuleType("closable")
    register(module, spec(vtable("closable.NoLibrary"), [loop()]))
    assert np.zeros(3, dtype=module.NoLibrary).copy().shape == (3,)
    assert "closable.NoLibrary" in denizen.types()
