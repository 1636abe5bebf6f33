"""Arrays over the cells of other arrays."""

import hashlib
import io
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from ...subject import Subject
from ..operation import Table

TABLE = Table("views")
add = TABLE.add

add("reshape", lambda s: (s.a.reshape(2, 5), s.m.reshape(-1), s.m.reshape(2, -1, 5)))
add("reshape with order='F'", lambda s: s.m.reshape((5, 4), order="F"))
add("reshape that copies", lambda s: s.m.T.reshape(2, 10))
add("reshape of an empty array", lambda s: s.a[:0].reshape(3, 0))
add("ravel", lambda s: (s.m.ravel(), s.m.T.ravel(), s.m.ravel(order="F"), s.m.T.ravel("K")))
add("flatten", lambda s: (s.m.flatten(), s.m[::2, ::-1].flatten("F")))
add("transpose", lambda s: (s.m.T, s.m.reshape(2, 2, 5).transpose(2, 0, 1)))
add("np.matrix_transpose", lambda s: np.matrix_transpose(s.m))
add("swapaxes", lambda s: s.m.reshape(2, 2, 5).swapaxes(0, 2))
add("np.moveaxis", lambda s: np.moveaxis(s.m.reshape(2, 2, 5), 0, -1))
add("np.rollaxis", lambda s: np.rollaxis(s.m.reshape(2, 2, 5), 2))
add("squeeze", lambda s: s.a[None, :, None].squeeze(axis=2).squeeze())
add("np.expand_dims", lambda s: np.expand_dims(s.m, (0, 2)))
add(
    "np.atleast_1d, 2d, 3d",
    lambda s: (np.atleast_1d(s.a[2]), np.atleast_2d(s.a), np.atleast_3d(s.m)),
)
add("np.broadcast_to", lambda s: np.broadcast_to(s.a, (3, 10)))
add("np.broadcast_arrays", lambda s: np.broadcast_arrays(s.m, s.a[:5], s.b[:4, None]))
add("np.flip", lambda s: (np.flip(s.m), np.flip(s.m, 1), np.fliplr(s.m), np.flipud(s.m)))
add("np.rot90", lambda s: (np.rot90(s.m), np.rot90(s.m, 2), np.rot90(s.m, -1)))
add("ndarray.view", lambda s: s.m.view())
add("view as its own dtype", lambda s: s.a.view(s.dtype))
add("view as a subclass", lambda s: s.a.view(np.matrix).A1)
add("view as integers", lambda s: _forbidden(lambda: s.a.view(np.intp)), lambda s: "refused")
add(
    "view of integers as elements",
    lambda s: _forbidden(lambda: np.arange(64).view(s.dtype)),
    lambda s: "refused",
)
add("view as bytes", lambda s: _forbidden(lambda: s.a.view(np.uint8)), lambda s: "refused")
add(
    "assign a dtype",
    lambda s: _forbidden(lambda: setattr(s.a, "dtype", np.uint8)),
    lambda s: "refused",
)
add("getfield of bytes", lambda s: _forbidden(lambda: s.a.getfield(np.uint8)), lambda s: "refused")
add("ndarray over a buffer", lambda s: _over_a_buffer(s), lambda s: "refused")
add(
    "np.frombuffer",
    lambda s: _forbidden(lambda: np.frombuffer(bytes(640), dtype=s.dtype)),
    lambda s: "refused",
)
add("memoryview", lambda s: _forbidden(lambda: memoryview(s.a)), lambda s: "refused")
add("a buffer of an array's", lambda s: _forbidden(lambda: bytes(s.a.data)), lambda s: "refused")
add("ndarray.tobytes", lambda s: _forbidden(lambda: s.a.tobytes()), lambda s: "refused")
add(
    "buffer without a format",
    lambda s: (
        _forbidden(lambda: io.BytesIO(bytes(640)).readinto(s.a)),
        _forbidden(lambda: hashlib.sha256(s.a)),
        _forbidden(lambda: b"".join([s.a])),
    ),
    lambda s: ("refused",) * 3,
)
add(
    "__array_interface__",
    lambda s: (
        s.m.__array_interface__["shape"],
        s.m.__array_interface__["data"] == (s.m.ctypes.data, False),
    ),
)
add("newbyteorder", lambda s: s.a.byteswap(), lambda s: s.a)
add("byteswap in place", lambda s: (s.a.byteswap(inplace=True) is s.a, s.a), lambda s: (True, s.a))
add("as_strided", lambda s: as_strided(s.a, (8, 3), (s.a.strides[0],) * 2).copy())
add("sliding_window_view", lambda s: sliding_window_view(s.a, 4))
add("sliding_window_view of a matrix", lambda s: sliding_window_view(s.m, (2, 3)))
add("write through a view", lambda s: (s.m.T[::-1, 1:3].__setitem__((0, 0), s.b[3]), s.m))
add("write through a reshaped view", lambda s: (s.m.reshape(-1).__setitem__(7, s.b[3]), s.m))
add("write through a broadcast copy", lambda s: _write_broadcast(s))
add("a view outlives its array", lambda s: _outlive(s))
add(
    "np.shares_memory",
    lambda s: (
        np.shares_memory(s.a[::2], s.a[1::2]),
        np.may_share_memory(s.m, s.m.T),
        np.shares_memory(s.a, s.b),
    ),
)
add(
    "np.byte_bounds",
    lambda s: (lambda low, high: high - low == s.m.nbytes)(
        *np.lib.array_utils.byte_bounds(s.m[::-1].T)
    ),
)
add(
    "flags of a view",
    lambda s: (
        s.m.T.flags.f_contiguous,
        s.m[::2].flags.c_contiguous,
        s.m.T.base is not None,
        s.m.flags.aligned,
    ),
)
add("np.real", lambda s: np.real(s.a), lambda s: s.a)
add("diagonal", lambda s: (s.m.diagonal(), s.m.diagonal(1), s.m.reshape(2, 2, 5).diagonal(0, 1, 2)))
add("flat", lambda s: (list(s.m.T.flat), s.m.flat[7], s.m.flat[2:9], s.m.flat[[3, 1]]))
add("flat of a mask", lambda s: s.a.flat[s.mask])
add("flat copies", lambda s: s.m.T.flat.copy())


def _forbidden(work: Any) -> str:
    """Bytes of elements cannot be read or forged."""
    try:
        work()
    except (TypeError, ValueError, BufferError):
        return "refused"
    return "allowed"


def _over_a_buffer(s: Subject) -> str:
    buffer = bytearray(s.a.nbytes)
    return _forbidden(lambda: np.ndarray((10,), dtype=s.dtype, buffer=buffer))


def _write_broadcast(s: Subject) -> object:
    copy = np.broadcast_to(s.a, (2, 10)).copy()
    copy[0] = s.b
    return copy, s.a


def _outlive(s: Subject) -> object:
    part = s.m.copy().T[1:3]
    return part
