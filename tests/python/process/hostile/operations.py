"""Operations on the array at hand: those of `denizen check`, and some that leave no view and no
iterator behind, in the middle of which the array may be resized."""

import copy
import pickle

import numpy as np

import denizen
from denizen.check.operations import Table, tables

DIRECT = Table("direct")
add = DIRECT.add

#: Of the check: sections about files, threads and processes of their own, and operations that are
#: not about arrays at hand.
LEFT_OUT = {"threads", "random"}
#: Of the direct ones: those that hold a view of the array or an iterator over it, which keep pointers
#: to its cells between the calls of loops.
HOLD_VIEWS = {
    "direct: " + name
    for name in (
        "assign itself backwards",
        "assign flat",
        "ufunc over a neighbour",
        "reduce rows",
        "matmul",
        "outer",
        "hash",
        "repr",
        "str",
        "nditer",
        "buffered nditer",
        "np.resize",
        "delete",
        "insert",
        "append",
        "roll",
        "tile",
    )
}


def _out(s, work):
    out = s.empty(10)
    work(out)
    return out


def _stays(s):
    scalar = s.a[3]
    s.a[3] = 12
    s.a.sort()
    return str(scalar)


def _resized(s, size):
    x = s.a
    x.resize(size, refcheck=False)
    return x


def _records(s, layout):
    x = np.zeros(10, dtype=layout(s.dtype))
    x["x"] = s.a
    return x


def packed_layout(dtype):
    return [("tag", "u1"), ("x", dtype)]


def aligned_layout(dtype):
    return [("x", dtype), ("n", "i8")]


add("copy", lambda s: s.a.copy())
add("deepcopy", lambda s: copy.deepcopy(s.a))
add("copy.copy", lambda s: copy.copy(s.a))
add("assign an array", lambda s: s.a.__setitem__(Ellipsis, s.b))
add("assign itself backwards", lambda s: s.a.__setitem__(Ellipsis, s.a[::-1]))
add("assign a scalar", lambda s: s.a.__setitem__(Ellipsis, s.values[3]))
add("assign a list", lambda s: s.a.__setitem__(Ellipsis, list(range(10))))
add("assign texts", lambda s: s.a.__setitem__(Ellipsis, [str(i) for i in range(10)]))
add("assign numbers", lambda s: s.a.__setitem__(Ellipsis, np.arange(10)))
add("assign floats", lambda s: s.a.__setitem__(Ellipsis, np.arange(10.0)))
add("assign objects", lambda s: s.a.__setitem__(Ellipsis, np.array(s.values[:10], dtype=object)))
add("assign strings", lambda s: s.a.__setitem__(Ellipsis, np.arange(10).astype("U5")))
add("assign a slice", lambda s: s.a.__setitem__(slice(2, 5), s.b[:3]))
add("assign one", lambda s: s.a.__setitem__(3, 12))
add("assign one scalar", lambda s: s.a.__setitem__(3, s.values[5]))
add("assign by indices", lambda s: s.a.__setitem__([3, 1, 1], s.b[:3]))
add("assign by a mask", lambda s: s.a.__setitem__(s.mask, s.b[: s.mask.sum()]))
add("assign flat", lambda s: s.a.flat.__setitem__(slice(None), s.b))
add("get one", lambda s: (s.a[3], s.a.item(4)))
add("get by indices", lambda s: s.a[[3, 1, 1]])
add("get by a mask", lambda s: s.a[s.mask])
add("take", lambda s: s.a.take([1, 5, 5]))
add("take with out=", lambda s: _out(s, lambda out: s.a.take(np.arange(10), out=out)))
add("put", lambda s: s.a.put([1, 5], s.b[:2]))
add("putmask", lambda s: np.putmask(s.a, s.mask, s.b))
add("place", lambda s: np.place(s.a, s.mask, s.b[:3]))
add("copyto", lambda s: np.copyto(s.a, s.b))
add("copyto with where=", lambda s: np.copyto(s.a, s.b, where=s.mask))
add("where", lambda s: np.where(s.mask, s.a, s.b))
add("choose", lambda s: np.choose(s.mask.astype(int), [s.a, s.b]))
add("compress", lambda s: s.a.compress(s.mask))
add("repeat", lambda s: s.a.repeat(3))
add("concatenate", lambda s: np.concatenate([s.a, s.b]))
add("fill", lambda s: s.a.fill(s.values[2]))
add("fill with a number", lambda s: s.a.fill(3))
add("sort", lambda s: s.a.sort())
add("stable sort", lambda s: s.a.sort(kind="stable"))
add("argsort", lambda s: s.a.argsort())
add("partition", lambda s: s.a.partition(4))
add("searchsorted", lambda s: s.a.searchsorted(s.b))
add("unique", lambda s: np.unique(s.a))
add("argmax", lambda s: (s.a.argmax(), s.a.argmin()))
add("nonzero", lambda s: np.nonzero(s.a))
add("any", lambda s: (s.a.any(), s.a.all()))
add("ufunc", lambda s: s.a + s.b)
add("ufunc on itself", lambda s: np.add(s.a, s.a))
add("ufunc with out=", lambda s: _out(s, lambda out: np.multiply(s.a, s.b, out=out)))
add("ufunc in place", lambda s: np.add(s.a, s.b, out=s.a))
add("ufunc in place over itself", lambda s: np.add(s.a, s.a, out=s.a))
add("ufunc over a neighbour", lambda s: np.add(s.a[1:], s.b[1:], out=s.a[:-1]))
add("ufunc that keeps the output", lambda s: np.square(s.b, out=s.a))
add("ufunc that keeps the output, in place", lambda s: np.square(s.a, out=s.a))
add("ufunc with where=", lambda s: np.add(s.a, s.b, out=s.a, where=s.mask))
add("ufunc with a number", lambda s: (np.left_shift(s.a, 1), s.a + 1))
add("ufunc of two results", lambda s: np.modf(s.a))
add("predicate", lambda s: np.isfinite(s.a))
add("compare", lambda s: (s.a == s.b, s.a < s.b))
add("maximum", lambda s: np.maximum(s.a, s.b))
add("reduce", lambda s: (s.a.sum(), s.a.max()))
add("reduce with where=", lambda s: np.add.reduce(s.a, where=s.mask))
add("reduce rows", lambda s: (s.m.sum(axis=0), s.m.sum(axis=1)))
add("accumulate", lambda s: np.add.accumulate(s.a))
add("accumulate in place", lambda s: np.add.accumulate(s.a, out=s.a))
add("reduceat", lambda s: np.add.reduceat(s.a, [0, 3, 7]))
add("add.at", lambda s: np.add.at(s.a, [1, 1, 4], s.b[:3]))
add("outer", lambda s: np.add.outer(s.a[:3], s.b[:3]))
add("matmul", lambda s: (s.a @ s.b, s.m @ s.m.T))
add("dot", lambda s: np.dot(s.a, s.b))
add("to float", lambda s: s.a.astype(float))
add("to int", lambda s: s.a.astype(int))
add("to objects", lambda s: s.a.astype(object))
add("to texts", lambda s: s.a.astype("U20"))
add("to bools", lambda s: s.a.astype(bool))
add("from float", lambda s: np.arange(10.0).astype(s.dtype))
add("from texts", lambda s: np.arange(10).astype("U5").astype(s.dtype))
add("from objects", lambda s: np.array(s.values[:10], dtype=object).astype(s.dtype))
add("tolist", lambda s: s.a.tolist())
add("repr", lambda s: repr(s.a))
add("str", lambda s: str(s.a))
add("hash", lambda s: [hash(x) for x in s.a[:3]])
add("iterate", lambda s: list(s.a))
add("pickle", lambda s: pickle.loads(pickle.dumps(s.a)))
add("unpickle over itself", lambda s: s.a[:0].__setstate__(s.b.__reduce__()[2]))
add("nditer", lambda s: [x.copy() for x in np.nditer(s.a, flags=["refs_ok"])])
add("buffered nditer", lambda s: _buffered(s))
add("resize to more", lambda s: _resized(s, 30))
add("resize to much more", lambda s: _resized(s, 3000))
add("resize to less", lambda s: _resized(s, 3))
add("np.resize", lambda s: np.resize(s.a, 23))
add("delete", lambda s: np.delete(s.a, [1, 2]))
add("insert", lambda s: np.insert(s.a, 2, s.b[:2]))
add("append", lambda s: np.append(s.a, s.b))
add("inspect", lambda s: denizen.inspect(s.a))
add("zeros", lambda s: s.zeros(5).tolist())
add("an array dies", lambda s: [s.array(s.values[:10]) for _ in range(2)] and None)
add("scalars compute", lambda s: (s.a[0] + s.a[1], -s.a[2], s.a[3] * 2))
add("scalars compare", lambda s: (s.a[0] == s.a[1], s.a[0] < s.a[1], s.a[0] == 5))
add("scalars as numbers", lambda s: (float(s.a[0]), int(s.a[1]), bool(s.a[2])))
add("scalars as texts", lambda s: (str(s.a[0]), repr(s.a[1]), f"{s.a[2]}"))
add("scalars are copied", lambda s: (copy.copy(s.a[0]), copy.deepcopy(s.a[1])))
add("scalars are pickled", lambda s: pickle.loads(pickle.dumps([s.a[0], s.a[1]])))
add("scalars as arrays", lambda s: (np.array(s.a[0]), np.array([s.a[1], s.a[2]])))
add("a scalar stays while its cell is written", lambda s: _stays(s))
add("roll", lambda s: np.roll(s.a, 3))
add("tile", lambda s: np.tile(s.a, 3))
add("clip", lambda s: s.a.clip(s.values[0], s.values[2]))
for layout in (packed_layout, aligned_layout):
    called = layout.__name__.removesuffix("_layout")

    def named(what, work, layout=layout, called=called):
        add(f"{called} records: {what}", lambda s: work(s, _records(s, layout)))

    named("copy", lambda s, x: x.copy())
    named("assign", lambda s, x: x.__setitem__(Ellipsis, x[::-1].copy()))
    named("assign a field", lambda s, x: x["x"].__setitem__(Ellipsis, s.b))
    named("resize to more", lambda s, x: x.resize(30, refcheck=False))
    named("resize to less", lambda s, x: x.resize(3, refcheck=False))
    named("take", lambda s, x: x.take([1, 5, 5]))
    named("sort a field", lambda s, x: x["x"].sort())
    named("cast", lambda s, x: x["x"].astype(float))
    named("pickle", lambda s, x: pickle.loads(pickle.dumps(x)))


LARGE = Table("large")
for what, work in {
    "copy": lambda s: s.large.copy(),
    "assign": lambda s: s.large.__setitem__(Ellipsis, s.large[::-1]),
    "assign a scalar": lambda s: s.large.__setitem__(Ellipsis, s.values[3]),
    "assign numbers": lambda s: s.large.__setitem__(Ellipsis, np.arange(600)),
    "ufunc": lambda s: s.large + s.large,
    "ufunc in place": lambda s: np.add(s.large, s.large, out=s.large),
    "ufunc that keeps the output": lambda s: np.square(s.large, out=s.large),
    "compare": lambda s: s.large < s.large[::-1],
    "predicate": lambda s: np.isfinite(s.large),
    "reduce": lambda s: (s.large.sum(), s.large.max()),
    "accumulate": lambda s: np.add.accumulate(s.large),
    "sort": lambda s: s.large.sort(),
    "argsort": lambda s: s.large.argsort(),
    "to float": lambda s: s.large.astype(float),
    "to texts": lambda s: s.large.astype("U20"),
    "from texts": lambda s: s.large.__setitem__(Ellipsis, np.arange(600).astype("U5")),
    "get by a mask": lambda s: s.large[np.arange(600) % 3 > 0],
    "take": lambda s: s.large.take(np.arange(600)),
}.items():
    LARGE.add(what, work)


def _buffered(s):
    out = s.empty(10)
    with np.nditer(
        [s.a, out],
        flags=["refs_ok", "buffered", "external_loop"],
        op_flags=[["readonly"], ["readwrite"]],
        op_dtypes=[s.dtype, s.dtype],
        buffersize=4,
    ) as iterator:
        for x, y in iterator:
            y[...] = x
    return out


def _mixed(module, name):
    """From and to each other type of a module, where there is a cast."""
    table = Table("mixed")
    for other in module.types():
        if other == name:
            continue
        scalar = getattr(module, other)

        def from_it(s, scalar=scalar):
            return np.arange(10).astype(scalar).astype(s.dtype)

        def to_it(s, scalar=scalar):
            return s.a.astype(scalar)

        def into_it(s, scalar=scalar):
            s.a[...] = np.arange(10).astype(scalar)

        def with_it(s, scalar=scalar):
            return np.bitwise_or(s.a, np.arange(10).astype(scalar))

        table.add(f"from {other}", from_it)
        table.add(f"to {other}", to_it)
        table.add(f"assign {other}", into_it)
        table.add(f"ufunc with {other}", with_it)
    return table


def operations(module, name):
    """All operations by their titles."""
    found = (
        [DIRECT, LARGE, _mixed(module, name)]
        if module.__name__ == "cpp_hostile"
        else [DIRECT, LARGE]
    )
    found += [table for table in tables() if table.section not in LEFT_OUT]
    return {operation.title: operation for table in found for operation in table}
