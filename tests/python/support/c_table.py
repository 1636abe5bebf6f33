"""The function table as Python's ctypes sees it, for tests that call it with what no client of
ours would pass. Layouts come from the runtime, which test_c_client compares with the header."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    byref,
    c_char,
    c_int32,
    c_size_t,
    c_ssize_t,
    c_uint32,
    c_void_p,
    cast,
    py_object,
    sizeof,
)

from denizen import _runtime

ROWS = _runtime._abi_layout()
VALUES = {name: value for name, value, _ in ROWS}


def constant(name):
    return VALUES[f"DENIZEN_{name}"]


def structure(name, **special):
    """A ctypes struct like `denizen_<name>`; pointers and sizes are integers."""
    prefix = f"denizen_{name}."
    fields = [(row.removeprefix(prefix), size) for row, _, size in ROWS if row.startswith(prefix)]
    integers = {8: c_size_t, 4: c_uint32}
    types = [(field, special.get(field) or integers[size]) for field, size in fields]
    made = type(name, (ctypes.Structure,), {"_fields_": types})
    assert sizeof(made) == VALUES[f"denizen_{name}"]
    return made


VTable = structure("element_vtable")
Operand = structure("operand")
Loop = structure("loop")
Cast = structure("cast", **{"from": Operand, "to": Operand})
Identity = structure("identity")
Spec = structure("element_spec")
ErrorOut = structure("error", message=c_char * constant("MESSAGE_SIZE"))
Lengths = c_ssize_t * constant("MAX_DIMENSIONS")
View = structure("view", shape=Lengths, strides=Lengths)
Stats = structure("stats")

RELEASE = CFUNCTYPE(None, c_void_p)

# PYFUNCTYPE keeps the GIL and raises the exception that a function has set.
PROTOTYPES = {
    "register_element": PYFUNCTYPE(c_int32, c_void_p, py_object, POINTER(c_void_p)),
    "find_element": PYFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t, c_void_p),
    "dtype": PYFUNCTYPE(py_object, c_void_p),
    "empty": PYFUNCTYPE(py_object, c_void_p, c_size_t, c_void_p),
    "adopt": PYFUNCTYPE(
        py_object, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p, c_uint32
    ),
    "view": PYFUNCTYPE(c_int32, c_void_p, c_void_p, c_uint32, c_void_p),
    "release_view": PYFUNCTYPE(None, c_void_p),
    "stats": PYFUNCTYPE(c_int32, c_void_p, c_void_p),
    "segment_of": PYFUNCTYPE(c_void_p, c_void_p),
    "raise": PYFUNCTYPE(None, c_void_p),
    "register_type": PYFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(c_void_p)),
    "touch": PYFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(c_void_p)),
    "peek": PYFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(c_void_p)),
    "store": PYFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p),
    "vacate": PYFUNCTYPE(c_int32, c_void_p, c_void_p),
    "sweep": PYFUNCTYPE(c_size_t, c_void_p),
    "import_element": PYFUNCTYPE(c_void_p, c_void_p),
}


def _table():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [py_object, ctypes.c_char_p], c_void_p
    table = structure("api").from_address(get(_runtime._C_API, b"denizen._runtime._C_API"))
    return {name: made(getattr(table, name)) for name, made in PROTOTYPES.items()}


API = _table()


def text(value):
    """A C string that lives as long as the process, as registered names need not but may."""
    buffer = ctypes.create_string_buffer(value.encode())
    _KEPT.append(buffer)
    return ctypes.addressof(buffer)


_KEPT = []


@CFUNCTYPE(c_int32, c_void_p, c_void_p, c_ssize_t, c_void_p, c_ssize_t, c_size_t, POINTER(ErrorOut))
def copy_words(_context, to, to_stride, source, source_stride, count, _report):
    for index in range(count):
        ctypes.memmove(to + index * to_stride, source + index * source_stride, 8)
    return 0


@CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(ErrorOut))
def no_loop(*_arguments):
    return 0


def address(function):
    return cast(function, c_void_p).value


def vtable(full_name, **changes):
    """A correct vtable of an inline type of 8 bytes, zero being its default, with changes."""
    members = {
        "struct_size": sizeof(VTable),
        "abi_version": constant("ABI_VERSION"),
        "flags": constant("ELEMENT_TRIVIALLY_RELOCATABLE"),
        "name": text(full_name),
        "size": 8,
        "align": 8,
        "zero_bytes": constant("ZERO_DEFAULT"),
        "vacancy_size": 8,
        "copy_construct": address(copy_words),
    }
    return VTable(**(members | changes))


def operands(*kinds):
    """Operands of a loop: "self" or a type number of NumPy."""
    made = [operand(kind) for kind in kinds]
    array = (Operand * len(made))(*made)
    _KEPT.append(array)
    return ctypes.addressof(array)


def operand(kind):
    if kind == "self":
        return Operand(kind=constant("OPERAND_SELF"))
    return Operand(kind=constant("OPERAND_NUMPY"), numpy_type=kind)


def loop(**changes):
    members = {
        "struct_size": sizeof(Loop),
        "ufunc": text("negative"),
        "operands": operands("self", "self"),
        "input_count": 1,
        "output_count": 1,
        "function": address(no_loop),
    }
    return Loop(**(members | changes))


def cast_spec(source=12, target="self", **changes):
    members = {
        "struct_size": sizeof(Cast),
        "from": operand(source),
        "to": operand(target),
        "level": constant("CAST_SAFE"),
        "function": address(no_loop),
    }
    return Cast(**(members | changes))


def identity(**changes):
    members = {"struct_size": sizeof(Identity), "ufunc": text("add"), "construct": 1}
    return Identity(**(members | changes))


def spec(table, loops=(), casts=(), identities=(), **changes):
    """A spec, with what it points to kept alive."""
    members = {"struct_size": sizeof(Spec), "vtable": ctypes.addressof(table)}
    kept = [table]
    lists = [("loop", Loop, loops), ("cast", Cast, casts), ("identity", Identity, identities)]
    plural = {"loop": "loops", "cast": "casts", "identity": "identities"}
    for name, kind, entries in lists:
        if entries:
            array = (kind * len(entries))(*entries)
            kept.append(array)
            members[plural[name]] = ctypes.addressof(array)
            members[f"{name}_count"] = len(entries)
    made = Spec(**(members | changes))
    made.kept = kept
    return made


def register(module, made):
    """Registers; the handle."""
    handle = c_void_p()
    assert API["register_element"](ctypes.addressof(made), module, byref(handle)) == 0
    return handle.value


def lengths(*values):
    return (c_ssize_t * max(len(values), 1))(*values)
