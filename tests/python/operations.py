"""Operations of NumPy's on arrays of integers of any element type, as one table: the tests make an
element fail at each place of each operation.
"""

import pickle
import warnings

import numpy as np

N = 10
SOURCE = [5, -3, 17, 2, 40, 11, -8, 9, 1, 6]
MASK = np.arange(N) % 3 != 0


def buffered(a, b):
    """A buffered iteration that casts both ways."""
    iterator = np.nditer(
        [np.arange(N), a],
        flags=["buffered", "refs_ok", "external_loop"],
        op_flags=[["readonly"], ["readwrite"]],
        op_dtypes=[a.dtype, np.dtype(np.int64)],
        casting="unsafe",
        buffersize=4,
    )
    with iterator:
        for source, target in iterator:
            target[...] += 1
            source.copy()


def small_buffers(operation):
    old = np.setbufsize(16)
    try:
        return operation()
    finally:
        np.setbufsize(old)


def resize(a, size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        a.resize(size, refcheck=False)


#: Each gets a full array `a`, another one `b`, and a half-built one `h`, all fresh.
OPERATIONS = {
    "copy": lambda a, b, h: a.copy(),
    "copy of a half-built array": lambda a, b, h: h.copy(),
    "fill": lambda a, b, h: a.fill(b[3]),
    "fill of a half-built array": lambda a, b, h: h.fill(b[3]),
    "np.full": lambda a, b, h: np.full(N, b[3], dtype=a.dtype),
    "setitem": lambda a, b, h: a.__setitem__(slice(None), b),
    "setitem in a half-built array": lambda a, b, h: h.__setitem__(slice(None), b),
    "setitem of a scalar": lambda a, b, h: a.__setitem__(3, b[4]),
    "setitem of texts": lambda a, b, h: h.__setitem__(slice(None), [str(x) for x in SOURCE]),
    "setitem of numbers": lambda a, b, h: h.__setitem__(slice(None), np.arange(N)),
    "setitem that overlaps": lambda a, b, h: a.__setitem__(slice(1, None), a[:-1]),
    "fancy get": lambda a, b, h: a[[3, 1, 1, 9]],
    "fancy get 2-d": lambda a, b, h: a.reshape(2, 5)[[1, 0], [2, 2]],
    "fancy set": lambda a, b, h: h.__setitem__([3, 1, 8, 9], b[:4]),
    "mask get": lambda a, b, h: a[MASK],
    "mask set": lambda a, b, h: h.__setitem__(MASK, b[MASK]),
    "take": lambda a, b, h: a.take([0, 3, 3, 5]),
    "take with an output": lambda a, b, h: b.take([0, 3, 3, 5], out=h[2:6], mode="clip"),
    "put": lambda a, b, h: np.put(h, [1, 2, 3], b[:3]),
    "putmask": lambda a, b, h: np.putmask(h, MASK, b),
    "place": lambda a, b, h: np.place(h, MASK, b[:3]),
    "copyto": lambda a, b, h: np.copyto(h, b, where=MASK),
    "choose": lambda a, b, h: np.choose(MASK.astype(int), [a, b]),
    "where": lambda a, b, h: np.where(MASK, a, b),
    "repeat": lambda a, b, h: a.repeat(2),
    "tile": lambda a, b, h: np.tile(a, 2),
    "concatenate": lambda a, b, h: np.concatenate([a, h, b]),
    "delete": lambda a, b, h: np.delete(a, [1, 5]),
    "insert": lambda a, b, h: np.insert(a, 2, b[:2]),
    "roll": lambda a, b, h: np.roll(a, 3),
    "flat get": lambda a, b, h: a.flat[2:7],
    "flat set": lambda a, b, h: h.flat.__setitem__(slice(1, 8), b[:7]),
    "flat assignment": lambda a, b, h: setattr(h, "flat", b[:3]),
    "resize to more": lambda a, b, h: resize(a, 3 * N),
    "resize to fewer": lambda a, b, h: resize(a, 3),
    "np.resize": lambda a, b, h: np.resize(a, 15),
    "add": lambda a, b, h: a + b,
    "add with vacant cells": lambda a, b, h: a + h,
    "add in place": lambda a, b, h: np.add(a, b, out=a),
    "add with an output": lambda a, b, h: np.add(a, b, out=h),
    "add reversed": lambda a, b, h: np.add(a, b[::-1], out=h[::-1]),
    "add where": lambda a, b, h: np.add(a, b, out=h, where=MASK),
    "add of numbers": lambda a, b, h: a + np.arange(N),
    "add in small buffers": lambda a, b, h: small_buffers(lambda: np.add(a, np.arange(N))),
    "add of 2-d": lambda a, b, h: a.reshape(2, 5).T + b.reshape(5, 2),
    "add.at": lambda a, b, h: np.add.at(a, [0, 0, 3], b[:3]),
    "add.outer": lambda a, b, h: np.add.outer(a[:3], b[:3]),
    "sum": lambda a, b, h: a.sum(),
    "sum of rows": lambda a, b, h: a.reshape(2, 5).sum(axis=0),
    "sum of a half-built array": lambda a, b, h: h.sum(),
    "cumsum": lambda a, b, h: np.cumsum(a),
    "accumulate in place": lambda a, b, h: np.add.accumulate(a, out=a),
    "less": lambda a, b, h: a < b,
    "equal": lambda a, b, h: a == b,
    "sort": lambda a, b, h: a.sort(),
    "sort of a half-built array": lambda a, b, h: h.sort(),
    "sort of columns": lambda a, b, h: a.reshape(5, 2).sort(axis=0),
    "argsort": lambda a, b, h: a.argsort(),
    "unique": lambda a, b, h: np.unique(a),
    "argmax": lambda a, b, h: a.argmax(),
    "max": lambda a, b, h: a.max(),
    "searchsorted": lambda a, b, h: a.searchsorted(b[3]),
    "np.array of texts": lambda a, b, h: np.array([str(x) for x in SOURCE], dtype=a.dtype),
    "np.array of scalars": lambda a, b, h: np.array([a[0], b[1], a[2]], dtype=a.dtype),
    "np.array of numbers": lambda a, b, h: np.array(SOURCE, dtype=a.dtype),
    "fromiter": lambda a, b, h: np.fromiter(map(str, SOURCE), dtype=a.dtype),
    "astype to numbers": lambda a, b, h: a.astype(np.int64),
    "astype of a half-built array": lambda a, b, h: h.astype(np.int64),
    "astype from numbers": lambda a, b, h: np.arange(N).astype(a.dtype),
    "astype to text": lambda a, b, h: a.astype("U5"),
    "astype from text": lambda a, b, h: np.array([str(x) for x in SOURCE]).astype(a.dtype),
    "astype to objects": lambda a, b, h: a.astype(object),
    "astype from objects": lambda a, b, h: a.astype(object).astype(a.dtype),
    "buffered iteration": lambda a, b, h: buffered(a, b),
    "tolist": lambda a, b, h: h.tolist(),
    "repr": lambda a, b, h: repr(a),
    "pickle": lambda a, b, h: pickle.loads(pickle.dumps(a)),
    "shuffle": lambda a, b, h: np.random.default_rng(1).shuffle(a),
    "records": lambda a, b, h: record(a),
}


def record(a):
    packed = np.zeros(N, dtype=[("pad", "u1"), ("x", a.dtype)])
    packed["x"] = a
    packed[::2] = packed[1::2].copy()
    return packed["x"] + a


#: Operations that move what is in `a` around, so that a failure may leave any order.
REORDERS = {"sort", "sort of columns", "shuffle"}
