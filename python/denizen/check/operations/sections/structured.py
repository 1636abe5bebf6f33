"""Elements as fields of records."""

import copy
import pickle
from typing import Any

import numpy as np
from numpy.lib import recfunctions

from ...subject import Subject
from ..inputs import Array, numbers, packed, raised
from ..operation import Table

TABLE = Table("structured dtypes")
add = TABLE.add

ORDERED = frozenset({"ordering"})
ARITHMETIC = frozenset({"arithmetic"})


def records(s: Subject) -> Array:
    """Records of an aligned field `x`, an integer and a second field `y`."""
    made = np.zeros(10, dtype=np.dtype([("x", s.dtype), ("n", "i4"), ("y", s.dtype)], align=True))
    made["x"], made["n"], made["y"] = s.a, np.arange(10), s.b
    return made


def nested(s: Subject) -> Array:
    """Records within records."""
    inner = np.dtype([("tag", "u1"), ("x", s.dtype)])
    made = np.zeros(10, dtype=[("flag", "?"), ("in", inner)])
    made["in"]["x"], made["in"]["tag"] = s.a, 3
    return made


def fields(x: Array) -> Any:
    """All fields as plain arrays."""
    names = x.dtype.names
    if names is None:
        return x.copy()
    return {name: fields(x[name]) for name in names}


add("fields of aligned records", lambda s: fields(records(s)))
add("fields of packed records", lambda s: fields(packed(s, s.a)))
add("fields of nested records", lambda s: fields(nested(s)))
add(
    "zeros of records",
    lambda s: fields(np.zeros(3, records(s).dtype)),
    lambda s: {"x": s.zeros(3), "n": np.zeros(3, "i4"), "y": s.zeros(3)},
    needs={"default"},
)
add(
    "empty of records",
    lambda s: np.empty(3, records(s).dtype)["x"],
    lambda s: s.zeros(3),
    needs={"default"},
)
add("assign a field", lambda s: _assign(records(s), "x", s.b))
add("assign an element of a field", lambda s: _assign(records(s)["x"], 3, s.b[4]).copy())
add("assign an unaligned element", lambda s: _assign(packed(s, s.a)["x"], 3, s.b[4]).copy())
add("assign a tuple", lambda s: _assign(records(s), 3, (s.b[4], 7, s.a[4])))
add(
    "assign a list of tuples",
    lambda s: _assign(records(s), slice(0, 2), [(s.b[4], 7, s.a[4]), (s.b[5], 8, s.a[5])]),
)
add(
    "array of tuples",
    lambda s: fields(np.array([(s.a[1], 1, s.b[1]), (s.a[2], 2, s.b[2])], records(s).dtype)),
)
add("assign records", lambda s: _assign(records(s), slice(1, None), records(s)[:-1]))
add(
    "assign records of another layout",
    lambda s: _assign(packed(s, s.a), slice(None), packed(s, s.b).astype(packed(s, s.b).dtype)),
)
add("assign one record to all", lambda s: _assign(records(s), slice(None), records(s)[4]))
add("assign a record scalar", lambda s: _assign(records(s), 2, records(s)[7]))
add("assign a field of a record scalar", lambda s: _record_field(s))
add("get a record", lambda s: (records(s)[3]["x"], records(s)[3].item(), tuple(records(s)[3])))
add("records as tuples", lambda s: records(s).tolist())
add("copy", lambda s: (fields(records(s).copy()), fields(packed(s, s.a)[::-2].copy())))
add("copy.deepcopy", lambda s: fields(copy.deepcopy(records(s))))
add(
    "take, repeat and fancy get",
    lambda s: (
        fields(records(s).take([3, 0, 3])),
        fields(records(s).repeat(2)),
        fields(packed(s, s.a)[[1, 1, 9]]),
        fields(nested(s)[s.mask]),
    ),
)
add("put and putmask", lambda s: _put(s))
add("concatenate", lambda s: fields(np.concatenate([packed(s, s.a), packed(s, s.b)])))
add("where", lambda s: fields(np.where(s.mask, packed(s, s.a), packed(s, s.b))))
add(
    "tile, roll and flip",
    lambda s: (
        fields(np.tile(records(s), 2)),
        fields(np.roll(records(s), 3)),
        fields(np.flip(records(s))),
    ),
)
add(
    "insert and delete",
    lambda s: (
        fields(np.delete(records(s), [1, 2])),
        fields(np.insert(records(s), 1, records(s)[8])),
    ),
)
add("resize", lambda s: _resize(s), needs={"default"})
add("several fields", lambda s: fields(records(s)[["y", "n"]]))
add(
    "assign several fields", lambda s: _assign(records(s), ["x", "y"], records(s)[["x", "y"]][::-1])
)
add("sort by a plain field", lambda s: fields(np.sort(packed(s, s.a)[::-1], order="tag")))
add(
    "sort by an element",
    lambda s: np.sort(packed(s, s.a), order="x")["x"],
    lambda s: np.sort(s.a),
    needs=ORDERED,
)
add(
    "argsort by an element",
    lambda s: np.argsort(packed(s, s.a), order="x"),
    lambda s: np.argsort(s.a),
    needs=ORDERED,
)
add(
    "sort of nested records",
    lambda s: np.sort(nested(s))["in"]["x"],
    lambda s: np.sort(s.a),
    needs=ORDERED,
)
add(
    "equal records",
    lambda s: (records(s) == records(s), records(s) != records(s)[::-1]),
    needs={"equality"},
)
add(
    "arithmetic of a field",
    lambda s: (records(s)["x"] + records(s)["y"], packed(s, s.a)["x"] + packed(s, s.b)["x"]),
    needs=ARITHMETIC,
)
add("arithmetic in a field", lambda s: _add_in_field(s), needs=ARITHMETIC)
add(
    "sum of a field",
    lambda s: (packed(s, s.a)["x"].sum(), records(s)["y"].cumsum()),
    needs=ARITHMETIC,
)
add("sort of a field", lambda s: _sort_field(s), needs=ORDERED)
add("compare a field", lambda s: packed(s, s.a)["x"] < s.b, needs=ORDERED)
add(
    "a field as numbers",
    lambda s: packed(s, numbers(s))["x"].astype(float),
    lambda s: numbers(s).astype(float),
    needs={"numbers"},
)
add(
    "a field from numbers",
    lambda s: _assign(packed(s, s.a), "x", np.arange(10))["x"],
    lambda s: numbers(s, np.arange(10)),
    needs={"numbers"},
)
add("a field as objects", lambda s: packed(s, s.a)["x"].astype(object))
add("a field's text", lambda s: [str(x) for x in packed(s, s.a)["x"]], needs={"text"})
add("a field of views", lambda s: packed(s, s.a)[::-2]["x"][1:3].copy())
add("matmul of a field", lambda s: packed(s, s.a)["x"] @ s.b, needs=ARITHMETIC)
add("a subarray", lambda s: _subarray(s), lambda s: (s.m, s.m[1, 2]))
add(
    "astype to another layout",
    lambda s: fields(records(s).astype([("x", s.dtype), ("n", "i8"), ("y", s.dtype)])),
)
add(
    "astype of a field to numbers",
    lambda s: _field_to_numbers(s),
    lambda s: np.arange(1, 4),
    needs={"numbers"},
)
add(
    "view of records as bytes",
    lambda s: _forbidden(lambda: packed(s, s.a).view(np.uint8)),
    lambda s: "refused",
)
add("shuffle", lambda s: _shuffle(s), lambda s: list(range(10)))
add(
    "pickle",
    lambda s: [fields(pickle.loads(pickle.dumps(packed(s, s.a), p))) for p in range(6)],
    needs={"codec"},
)
add("recarray", lambda s: (records(s).view(np.recarray).x, records(s).view(np.recarray)[3].y))
add("recarray set", lambda s: _recarray_set(s))
add("rec.fromarrays", lambda s: np.rec.fromarrays([s.a, np.arange(10)], names="x,n").x)
add(
    "rec.fromrecords",
    lambda s: (
        np.rec.fromrecords([(s.a[i], i) for i in range(3)], dtype=[("x", s.dtype), ("n", int)]).x
    ),
)
add(
    "recfunctions.append_fields",
    lambda s: recfunctions.append_fields(packed(s, s.a), "z", np.arange(10), usemask=False)["x"],
)
add("recfunctions.drop_fields", lambda s: fields(recfunctions.drop_fields(records(s), "n")))
add(
    "recfunctions.rename_fields",
    lambda s: recfunctions.rename_fields(records(s), {"x": "w"})["w"].copy(),
)
add(
    "recfunctions.stack_arrays",
    lambda s: recfunctions.stack_arrays([packed(s, s.a), packed(s, s.b)], usemask=False)["x"],
)
add(
    "recfunctions.structured_to_unstructured",
    lambda s: recfunctions.structured_to_unstructured(records(s)[["x", "y"]]),
)
add("a 0-d record", lambda s: records(s)[3:4].reshape(())["x"][()])
add(
    "a record out of bounds",
    lambda s: (
        raised(lambda: records(s)[10], IndexError),
        raised(lambda: records(s)["z"], ValueError),
    ),
)
add("fill records", lambda s: _fill(s))
add("unique records", lambda s: np.unique(packed(s, s.a)[["tag"]]).shape)


def _assign(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return fields(x) if x.dtype.names else x


def _record_field(s: Subject) -> Any:
    x = records(s)
    record = x[3]
    record["x"] = s.b[4]
    record["n"] = 99
    return fields(x)


def _put(s: Subject) -> Any:
    x, y = packed(s, s.a), packed(s, s.b)
    np.put(x, [1, 2], y[:2])
    np.putmask(x, ~s.mask, y)
    return fields(x)


def _resize(s: Subject) -> Any:
    x = packed(s, s.a)
    x.resize(14, refcheck=False)
    if s.is_oracle:
        x["x"][10:] = s.zeros(4)
    grown = fields(x)
    x.resize(3, refcheck=False)
    return grown, fields(x)


def _add_in_field(s: Subject) -> Any:
    x = packed(s, s.a)
    x["x"] += s.b
    np.add(x["x"][1:], s.b[1:], out=x["x"][:-1])
    return fields(x)


def _sort_field(s: Subject) -> Any:
    x = packed(s, s.a)
    x["x"].sort()
    return fields(x)


def _subarray(s: Subject) -> Any:
    x = np.zeros(4, dtype=[("v", s.dtype, (5,))])
    x["v"] = s.m
    return x["v"].copy(), x["v"][1, 2]


def _field_to_numbers(s: Subject) -> Any:
    x = packed(s, numbers(s, [1, 2, 3]))
    return x.astype([("tag", "u1"), ("x", "i8"), ("name", "S3")])["x"]


def _forbidden(work: Any) -> str:
    try:
        work()
    except TypeError:
        return "refused"
    return "allowed"


def _shuffle(s: Subject) -> Any:
    x = packed(s, s.a)
    s.rng.shuffle(x)
    order = x["tag"]
    # Each record stayed whole.
    assert [str(value) for value in x["x"]] == [str(s.a[place]) for place in order]
    return sorted(order.tolist())


def _recarray_set(s: Subject) -> Any:
    x = records(s).view(np.recarray)
    x.x = s.b
    x[2].y = s.a[9]
    return fields(x)


def _fill(s: Subject) -> Any:
    x = packed(s, s.a)
    x.fill(x[4])
    return fields(x)
