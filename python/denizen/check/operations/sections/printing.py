"""Arrays and elements as text."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..operation import Table

TABLE = Table("printing")
add = TABLE.add

TEXT = frozenset({"text"})


def dense(text: str) -> str:
    """Without white space: how a line is filled depends on the length of the dtype's name."""
    return "".join(text.split())


def shown(s: Subject, text: str, *others: Any) -> str:
    """The text of an array, dense. NumPy shows elements by `repr` before 2.5, then by `str`."""
    text = dense(text)
    for value in [*s.values, *others]:
        text = text.replace(dense(repr(value)), dense(str(value)))
    return text


def body(s: Subject, text: str, *others: Any) -> str:
    """What `repr` shows before the dtype."""
    return shown(s, text, *others).rpartition(",dtype=")[0].removeprefix("array(")


def written(x: Any, between: str = ",") -> str:
    """Nested brackets around the texts of the elements."""
    if not isinstance(x, np.ndarray):
        return dense(str(x))
    return "[" + between.join(written(part, between) for part in x) + "]"


add("repr", lambda s: body(s, repr(s.a)), lambda s: written(s.a), needs=TEXT)
add("repr of a matrix", lambda s: body(s, repr(s.m)), lambda s: written(s.m), needs=TEXT)
add(
    "repr of a half-built array",
    lambda s: body(s, repr(s.h), s.default),
    lambda s: written(s.h),
    needs={"text", "default"},
)
add("repr of nothing", lambda s: shown(s, repr(s.a[:0])).startswith("array([],"), lambda s: True)
add(
    "repr of a 0-d array",
    lambda s: body(s, repr(s.a[2:3].reshape(()))),
    lambda s: dense(str(s.a[2])),
    needs=TEXT,
)
add("repr names the dtype", lambda s: str(s.element_dtype) in repr(s.a), lambda s: True, needs=TEXT)
add("str", lambda s: shown(s, str(s.a)), lambda s: written(s.a, ""), needs=TEXT)
add("str of a matrix", lambda s: shown(s, str(s.m.T)), lambda s: written(s.m.T, ""), needs=TEXT)
add(
    "str of a 0-d array",
    lambda s: shown(s, str(s.a[2:3].reshape(()))),
    lambda s: dense(str(s.a[2])),
    needs=TEXT,
)
add(
    "str of a long array",
    lambda s: shown(s, str(np.tile(s.a, 200))),
    lambda s: written(s.a[:3], "")[:-1] + "..." + written(s.a[-3:], "")[1:],
    needs=TEXT,
)
add("str of a scalar", lambda s: [str(x) for x in s.a], needs=TEXT)
add(
    "repr of a scalar",
    lambda s: [repr(s.a[3]) == repr(s.a[3]), len(repr(s.a[3])) > 0],
    lambda s: [True, True],
    needs=TEXT,
)
add("format of a scalar", lambda s: f"{s.a[3]}|{s.a[4]!s}", needs=TEXT)
add(
    "array2string",
    lambda s: shown(s, np.array2string(s.a, separator=";")),
    lambda s: written(s.a, ";"),
    needs=TEXT,
)
add(
    "array2string with a formatter",
    lambda s: np.array2string(s.a[:3], formatter={"all": lambda x: "<>"}),
)
add(
    "array2string with prefix and width",
    lambda s: shown(s, np.array2string(s.m, prefix="x = ", max_line_width=30)),
    lambda s: written(s.m, ""),
    needs=TEXT,
)
add(
    "array_repr and array_str",
    lambda s: (body(s, np.array_repr(s.a)), shown(s, np.array_str(s.a))),
    lambda s: (written(s.a), written(s.a, "")),
    needs=TEXT,
)
add(
    "printoptions threshold",
    lambda s: _threshold(s),
    lambda s: written(s.a[:2], "")[:-1] + "..." + written(s.a[-2:], "")[1:],
    needs=TEXT,
)
add("printoptions linewidth", lambda s: _linewidth(s), lambda s: written(s.m, ""), needs=TEXT)
add(
    "printoptions precision and suppress",
    lambda s: _precision(s),
    lambda s: written(s.a, ""),
    needs=TEXT,
)
add("printoptions legacy", lambda s: _legacy(s), lambda s: written(s.a, ""), needs=TEXT)
add("print of a record", lambda s: _record(s), lambda s: f"({dense(str(s.a[3]))},7)", needs=TEXT)
add("repr of records", lambda s: len(repr(_records(s))) > 20, lambda s: True, needs=TEXT)
add(
    "str of a dtype",
    lambda s: (
        str(s.dtype) == str(s.element_dtype),
        s.dtype.name == s.element_dtype.name,
        len(repr(s.dtype)) > 0,
    ),
    lambda s: (True, True, True),
)
add(
    "dtype attributes",
    lambda s: (
        s.dtype.itemsize > 0,
        s.dtype.hasobject,
        s.dtype.fields,
        s.dtype.names,
        s.dtype.shape,
        s.dtype.isalignedstruct,
        s.dtype.subdtype,
    ),
    lambda s: (True, True, None, None, (), False, None),
)
add(
    "dtype equality and hash",
    lambda s: (
        s.dtype == s.a.dtype,
        s.dtype == np.dtype(np.int64),
        hash(s.dtype) == hash(s.a.dtype),
        len({s.dtype, s.a.dtype, s.m.dtype}),
    ),
)
add("issubdtype", lambda s: (np.issubdtype(s.dtype, np.inexact), np.issubdtype(s.dtype, np.str_)))
add("base_repr and binary_repr", lambda s: np.base_repr(int(s.a.size), 2))
add(
    "finfo and iinfo",
    lambda s: [_info(f, s) for f in (np.finfo, np.iinfo)],
    lambda s: ["ValueError", "ValueError"],
)


def _info(info: Any, s: Subject) -> str:
    try:
        info(s.dtype)
    except (TypeError, ValueError):
        return "ValueError"
    return "answered"


def _threshold(s: Subject) -> str:
    with np.printoptions(threshold=5, edgeitems=2):
        return shown(s, str(s.a))


def _linewidth(s: Subject) -> str:
    with np.printoptions(linewidth=20):
        return shown(s, str(s.m))


def _precision(s: Subject) -> str:
    with np.printoptions(precision=2, suppress=True):
        return shown(s, str(s.a))


def _legacy(s: Subject) -> str:
    with np.printoptions(legacy="1.25"):
        return shown(s, str(s.a))


def _records(s: Subject) -> Any:
    records = np.zeros(10, dtype=[("x", s.dtype), ("n", int)])
    records["x"], records["n"] = s.a, 7
    return records


def _record(s: Subject) -> str:
    return shown(s, str(_records(s)[3]))
