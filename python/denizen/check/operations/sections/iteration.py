"""Iterators over elements, buffered and not."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import COUNTS, Array, counts, numbers, small_buffers
from ..operation import Table

TABLE = Table("iteration")
add = TABLE.add

NUMERIC = frozenset({"counting"})

add("for", lambda s: ([*s.a], [[*row] for row in s.m], [*s.m.T[::2]]))
add("flat", lambda s: ([*s.m.T.flat], s.m.flat.index))
add("flat with coordinates", lambda s: _coordinates(s))
add("ndenumerate", lambda s: list(np.ndenumerate(s.m.T)))
add("ndindex", lambda s: [s.m[index] for index in np.ndindex(2, 3)])
add("unpack", lambda s: (lambda first, *rest: (first, rest))(*s.a))
add("reversed and enumerate", lambda s: (list(reversed(s.a)), list(enumerate(s.m[0]))))
add("zip and map", lambda s: (list(zip(s.a, s.b, strict=True)), list(map(id, s.a))[:0]))
add(
    "in",
    lambda s: (s.a[3] in s.a, s.m[1, 1] in s.m),
    lambda s: (True, True),
    needs={"equality"},
)
add("nditer", lambda s: [x[()] for x in np.nditer(s.m.T, flags=["refs_ok"])])
add(
    "nditer in Fortran order",
    lambda s: [x[()] for x in np.nditer(s.m, flags=["refs_ok"], order="F")],
)
add("nditer without refs_ok", lambda s: [x[()] for x in np.nditer(s.a)])
add("nditer with multi_index", lambda s: _multi_index(s))
add("nditer that writes", lambda s: _written(s))
add(
    "nditer with external loops",
    lambda s: [x.copy() for x in np.nditer(s.m.T, flags=["refs_ok", "external_loop"], order="C")],
)
for size in (1, 3, 16):
    add(
        f"nditer with buffers of {size}",
        lambda s, n=size: [
            x.copy()
            for x in np.nditer(
                s.m.T, flags=["refs_ok", "buffered", "external_loop"], order="C", buffersize=n
            )
        ],
    )
    add(
        f"nditer that casts from numbers in buffers of {size}",
        lambda s, n=size: np.concatenate(
            [
                x.copy()
                for x in np.nditer(
                    np.array(COUNTS),
                    flags=["refs_ok", "buffered", "external_loop"],
                    op_dtypes=[s.dtype],
                    casting="unsafe",
                    buffersize=n,
                )
            ]
        ),
        lambda s: counts(s),
        needs=NUMERIC,
    )
    add(
        f"nditer that casts to numbers in buffers of {size}",
        lambda s, n=size: np.concatenate(
            [
                x.copy()
                for x in np.nditer(
                    counts(s),
                    flags=["refs_ok", "buffered", "external_loop"],
                    op_dtypes=[np.dtype(np.int64)],
                    casting="unsafe",
                    buffersize=n,
                )
            ]
        ),
        lambda s: np.array(COUNTS),
        needs=NUMERIC,
    )
    add(
        f"nditer that writes back in buffers of {size}",
        lambda s, n=size: _written_back(s, n),
        lambda s: counts(s) + numbers(s, [1]),
        needs={"counting"},
    )
    add(
        f"nditer that reduces in buffers of {size}",
        lambda s, n=size: _reduced(s, n),
        lambda s: numbers(s).reshape(2, 5).sum(axis=1),
        needs={"counting", "arithmetic"},
    )
add("nditer that allocates", lambda s: _allocated(s))
add(
    "nditer of several operands",
    lambda s: [(x[()], y[()]) for x, y in np.nditer([s.m, s.b[:5]], flags=["refs_ok"])],
)
add(
    "nditer left midway",
    lambda s: _left_midway(s),
    lambda s: (counts(s)[0], counts(s)),
    needs=NUMERIC,
)
add(
    "nditer that raises midway",
    lambda s: _raised_midway(s),
    lambda s: "RuntimeError",
    needs=NUMERIC,
)
add("nditer copied", lambda s: _copied(s))
add("nested_iters", lambda s: [[y[()] for y in inner] for inner in _nested(s)])
add("broadcast", lambda s: [(x, y) for x, y in np.broadcast(s.m, s.b[:5])])
add(
    "setbufsize",
    lambda s: small_buffers(lambda: numbers(s, np.arange(50)).astype(np.int32)),
    lambda s: np.arange(50, dtype=np.int32),
    needs=NUMERIC,
)


def _coordinates(s: Subject) -> list[Any]:
    flat, seen = s.m.flat, []
    for value in flat:
        seen.append((value, flat.index))
    return seen


def _multi_index(s: Subject) -> list[Any]:
    iterator = np.nditer(s.m, flags=["refs_ok", "multi_index"])
    return [(iterator.multi_index, x[()]) for x in iterator]


def _written(s: Subject) -> Array:
    with np.nditer([s.m, s.b[:5]], ["refs_ok"], [["writeonly"], ["readonly"]]) as iterator:
        for target, source in iterator:
            target[...] = source
    return s.m


def _written_back(s: Subject, size: int) -> Array:
    x = counts(s)
    with np.nditer(
        x,
        ["buffered", "refs_ok", "external_loop"],
        ["readwrite"],
        op_dtypes=[np.dtype(np.int64)],
        casting="unsafe",
        buffersize=size,
    ) as iterator:
        for part in iterator:
            part += 1
    return x


def _reduced(s: Subject, size: int) -> Array:
    x = numbers(s).reshape(2, 5)
    out = numbers(s, [0, 0])
    with np.nditer(
        [x, out],
        ["reduce_ok", "buffered", "refs_ok", "delay_bufalloc"],
        [["readonly"], ["readwrite"]],
        op_axes=[[0, 1], [0, -1]],
        buffersize=size,
    ) as iterator:
        iterator.reset()
        for source, target in iterator:
            target[...] = target + source
    return out


def _allocated(s: Subject) -> Any:
    with np.nditer(
        [s.m.T, None],
        ["refs_ok"],
        [["readonly"], ["writeonly", "allocate"]],
        op_dtypes=[None, s.dtype],
    ) as iterator:
        for source, target in iterator:
            target[...] = source
        return iterator.operands[1]


def _left_midway(s: Subject) -> Any:
    x = counts(s)
    iterator = np.nditer(
        x,
        ["buffered", "refs_ok"],
        ["readonly"],
        op_dtypes=[np.dtype(object)],
        casting="unsafe",
        buffersize=4,
    )
    first = next(iter(iterator))[()]
    del iterator
    return first, x


def _raised_midway(s: Subject) -> Any:
    x = counts(s)
    try:
        with np.nditer(
            x,
            ["buffered", "refs_ok"],
            ["readwrite"],
            op_dtypes=[np.dtype(np.int64)],
            casting="unsafe",
            buffersize=4,
        ) as iterator:
            for index, item in enumerate(iterator):
                item[...] = 1
                if index == 6:
                    raise RuntimeError("midway")
    except RuntimeError:
        return "RuntimeError"
    return x


def _copied(s: Subject) -> Any:
    iterator = np.nditer(s.m, flags=["refs_ok", "buffered"], order="C", buffersize=3)
    next(iterator)
    other = iterator.copy()
    return [x[()] for x in other], [x[()] for x in iterator]


def _nested(s: Subject) -> Any:
    outer, inner = np.nested_iters(s.m, [[0], [1]], flags=["refs_ok"])
    for _ in outer:
        yield inner
