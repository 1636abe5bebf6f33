"""NEP 49 handlers made in Python, for tests of what ours does beside them."""

import ctypes

import numpy as np


class Allocator(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")
    ]


class Handler(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("allocator", Allocator),
    ]


_libc = ctypes.CDLL(None)
_libc.malloc.restype = _libc.calloc.restype = _libc.realloc.restype = ctypes.c_void_p
for _function in (_libc.malloc, _libc.calloc, _libc.realloc, _libc.free):
    _function.argtypes = None

_pointer, _size = ctypes.c_void_p, ctypes.c_size_t
_MALLOC = ctypes.CFUNCTYPE(_pointer, _pointer, _size)
_CALLOC = ctypes.CFUNCTYPE(_pointer, _pointer, _size, _size)
_REALLOC = ctypes.CFUNCTYPE(_pointer, _pointer, _pointer, _size)
_FREE = ctypes.CFUNCTYPE(None, _pointer, _pointer, _size)

#: Capsules only point to their content and to their name.
_KEPT = []


def new_capsule(content, name=b"mem_handler"):
    """A capsule around a ctypes object, which then lives for ever."""
    function = ctypes.pythonapi.PyCapsule_New
    function.restype = ctypes.py_object
    function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    _KEPT.append((content, name))
    return function(ctypes.addressof(content), name, None)


class OwnHandler:
    """A handler of the user's: libc's functions behind C thunks, which check what they are given.

    `live` holds the size of each block that is given out, by address; `wrong` what was asked
    against the rules.
    """

    CONTEXT = 0x5EED

    def __init__(self, name=b"users_own", version=1, without=None):
        self.live = {}
        self.wrong = []
        self.calls = 0
        functions = {
            "malloc": _MALLOC(self._malloc),
            "calloc": _CALLOC(self._calloc),
            "realloc": _REALLOC(self._realloc),
            "free": _FREE(self._free),
        }
        addresses = {
            member: None if member == without else ctypes.cast(function, _pointer).value
            for member, function in functions.items()
        }
        self.handler = Handler(name, version, Allocator(self.CONTEXT, **addresses))
        self.capsule = new_capsule(self.handler)
        _KEPT.append((functions, self))

    def _given(self, context, pointer, size):
        self.calls += 1
        if context != self.CONTEXT:
            self.wrong.append(f"context {context}")
        if pointer:
            self.live[pointer] = size
        return pointer

    def _malloc(self, context, size):
        pointer = _libc.malloc(_size(size))
        if pointer:
            ctypes.memset(pointer, 0xA5, min(size, 1 << 16))
        return self._given(context, pointer, size)

    def _calloc(self, context, count, size):
        return self._given(context, _libc.calloc(_size(count), _size(size)), count * size)

    def _realloc(self, context, pointer, size):
        if pointer and self.live.pop(pointer, None) is None:
            self.wrong.append(f"realloc of {pointer:#x}")
        return self._given(context, _libc.realloc(_pointer(pointer), _size(size)), size)

    def _free(self, context, pointer, size):
        self.calls += 1
        if context != self.CONTEXT:
            self.wrong.append(f"context {context}")
        if pointer and self.live.pop(pointer, None) is None:
            self.wrong.append(f"free of {pointer:#x}")
        _libc.free(_pointer(pointer))


def set_handler(capsule):
    """`PyDataMem_SetHandler`, entry 304 of NumPy's table: returns the handler before."""
    return _entry(304, ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object))(capsule)


def get_handler():
    """`PyDataMem_GetHandler`, entry 305 of NumPy's table."""
    return _entry(305, ctypes.PYFUNCTYPE(ctypes.py_object))()


def handler_in(capsule):
    """The struct in a handler's capsule, with functions that Python can call."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    handler = Handler.from_address(get_pointer(capsule, b"mem_handler"))
    allocator = handler.allocator
    types = {"malloc": _MALLOC, "calloc": _CALLOC, "realloc": _REALLOC, "free": _FREE}
    functions = {name: kind(getattr(allocator, name)) for name, kind in types.items()}
    return handler, functions


def _entry(index, kind):
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = get_pointer(np._core._multiarray_umath._ARRAY_API, None)
    return kind(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[index])
