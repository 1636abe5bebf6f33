"""Casts from and to everything else that NumPy holds."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import COUNTS, NUMBERS, Array, counts, numbers, raised
from ..operation import Table

TABLE = Table("casting")
add = TABLE.add

NUMERIC = frozenset({"numbers"})
COUNTING = frozenset({"counting"})
TEXT = frozenset({"text", "codec"})

WIDTHS = (
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.longdouble,
)

for number in (*WIDTHS, np.complex64, np.complex128):
    name = np.dtype(number).name
    add(
        f"from {name}",
        lambda s, t=number: np.array(COUNTS, t).astype(s.dtype),
        lambda s: counts(s),
        needs=NUMERIC,
    )
    add(
        f"to {name}",
        lambda s, t=number: counts(s).astype(t),
        lambda s, t=number: np.array(COUNTS, t),
        needs=NUMERIC,
    )
add(
    "from bool",
    lambda s: np.array([True, False]).astype(s.dtype),
    lambda s: numbers(s, [1, 0]),
    needs=NUMERIC,
)
add(
    "to bool",
    lambda s: numbers(s, [0, 1, -5]).astype(bool),
    lambda s: np.array([False, True, True]),
    needs=COUNTING,
)
add(
    "from swapped bytes",
    lambda s: np.array(COUNTS, ">i4").astype(s.dtype),
    lambda s: counts(s),
    needs=NUMERIC,
)
add(
    "to swapped bytes",
    lambda s: counts(s).astype(">i4"),
    lambda s: np.array(COUNTS, ">i4"),
    needs=NUMERIC,
)
add(
    "from negative numbers",
    lambda s: np.array(NUMBERS, np.int16)[::-1].astype(s.dtype),
    lambda s: numbers(s)[::-1],
    needs=NUMERIC,
)
add("to objects", lambda s: s.a.astype(object))
add("to objects of a half-built array", lambda s: s.h.astype(object), needs={"default"})
add("from objects", lambda s: s.a.astype(object).astype(s.dtype))
add(
    "from objects of Python numbers",
    lambda s: np.array(NUMBERS, object).astype(s.dtype),
    lambda s: numbers(s),
    needs=NUMERIC,
)
add(
    "to text of a width",
    lambda s: s.a.astype("U100"),
    lambda s: np.array([str(x) for x in s.a], "U100"),
    needs=TEXT,
)
add(
    "to bytes of a width",
    lambda s: s.a.astype("S100"),
    lambda s: np.array([str(x).encode() for x in s.a], "S100"),
    needs=TEXT,
)
add(
    "to text of any width",
    lambda s: s.a.astype(str).tolist(),
    lambda s: [str(x) for x in s.a],
    needs=TEXT,
)
add(
    "to StringDType",
    lambda s: s.a.astype(np.dtypes.StringDType()),
    lambda s: np.array([str(x) for x in s.a], np.dtypes.StringDType()),
    needs=TEXT,
)
add(
    "from text",
    lambda s: np.array([str(x) for x in s.a]).astype(s.dtype),
    lambda s: s.a,
    needs=TEXT,
)
add(
    "from bytes",
    lambda s: np.array([str(x).encode() for x in s.a]).astype(s.dtype),
    lambda s: s.a,
    needs=TEXT,
)
add(
    "from StringDType",
    lambda s: np.array([str(x) for x in s.a], np.dtypes.StringDType()).astype(s.dtype),
    lambda s: s.a,
    needs=TEXT,
)
add("to its own dtype", lambda s: (s.a.astype(s.dtype), s.a.astype(s.dtype, copy=False) is s.a))
add(
    "of a matrix that is transposed",
    lambda s: numbers(s).reshape(2, 5).T.astype(np.int32),
    lambda s: np.array(NUMBERS, np.int32).reshape(2, 5).T,
    needs=NUMERIC,
)
add(
    "of every other element backwards",
    lambda s: numbers(s)[::-2].astype(np.float64),
    lambda s: np.array(NUMBERS, float)[::-2],
    needs=NUMERIC,
)
add(
    "of a 0-d and of an empty array",
    lambda s: (numbers(s)[:0].astype(int), numbers(s, 7).astype(int)),
    lambda s: (np.zeros(0, int), np.array(7)),
    needs=NUMERIC,
)
add(
    "of a half-built array to numbers",
    lambda s: s.zeros(10).astype(np.int64),
    lambda s: np.zeros(10, np.int64),
    needs={"counting", "default"},
)
add(
    "of more than one buffer",
    lambda s: np.arange(20000).astype(s.dtype).astype(np.int64),
    lambda s: np.arange(20000),
    needs=NUMERIC,
)
add(
    "of unaligned numbers",
    lambda s: _unaligned(s)["x"].astype(s.dtype),
    lambda s: counts(s),
    needs=NUMERIC,
)
add("to unaligned numbers", lambda s: _to_unaligned(s), lambda s: np.array(COUNTS), needs=NUMERIC)
add(
    "to a subarray of numbers",
    lambda s: counts(s).astype(np.dtype((np.int64, 2))),
    lambda s: np.repeat(np.array(COUNTS), 2).reshape(10, 2),
    needs=NUMERIC,
)
add(
    "to datetimes",
    lambda s: counts(s).astype("M8[s]"),
    lambda s: np.array(COUNTS).astype("M8[s]"),
    needs=NUMERIC,
)
add(
    "to timedeltas",
    lambda s: counts(s).astype("m8[s]"),
    lambda s: np.array(COUNTS).astype("m8[s]"),
    needs=NUMERIC,
)
add("to void", lambda s: _refused(lambda: s.a.astype("V16")), lambda s: "refused")
add("with casting='safe' to its own", lambda s: s.a.astype(s.dtype, casting="safe"))
add(
    "with casting='no' to numbers",
    lambda s: (raised(lambda: numbers(s).astype(np.int8, casting="no"), TypeError), numbers(s)),
    lambda s: ("TypeError", numbers(s)),
    needs=NUMERIC,
)
add("with casting='equiv' to its own", lambda s: s.a.astype(s.dtype, casting="equiv"))
add(
    "with order='F'",
    lambda s: (s.m.astype(s.dtype, order="F"), s.m.astype(s.dtype, order="F").flags.f_contiguous),
)
add(
    "int and float of elements",
    lambda s: (int(numbers(s)[0]), float(numbers(s)[1]), bool(numbers(s)[2])),
    lambda s: (5, -3.0, True),
    needs=COUNTING,
)
add(
    "int and float of arrays of one",
    lambda s: (int(numbers(s, 5)), float(numbers(s, -3)), bool(numbers(s, [0])[0])),
    lambda s: (5, -3.0, False),
    needs=COUNTING,
)
add(
    "truth of an array",
    lambda s: (bool(numbers(s, [0])), bool(numbers(s, [3])), raised(lambda: bool(s.a), ValueError)),
    lambda s: (False, True, "ValueError"),
    needs=COUNTING,
)
add(
    "a value that does not fit int8",
    lambda s: raised(lambda: numbers(s, [1, 1000]).astype(np.int8), OverflowError),
    lambda s: "OverflowError",
    needs={"numbers", "arithmetic"},
)
add(
    "a negative value to uint64",
    lambda s: raised(lambda: numbers(s, [1, -1]).astype(np.uint64), OverflowError),
    lambda s: "OverflowError",
    needs={"numbers", "arithmetic"},
)
add(
    "text that is no value",
    lambda s: (_no_value(s, s.a), s.a[2:]),
    lambda s: ("refused or taken as it is", s.a[2:]),
    needs=TEXT,
)
add(
    "numbers that are not finite",
    lambda s: [_not_finite(s, number) for number in (np.inf, -np.inf, np.nan)],
    lambda s: ["kept or refused"] * 3,
    needs=NUMERIC,
)
add(
    "np.asarray with a dtype",
    lambda s: np.asarray(np.array(COUNTS, np.int16), dtype=s.dtype),
    lambda s: counts(s),
    needs=NUMERIC,
)
add(
    "np.array of elements as numbers",
    lambda s: np.array(counts(s), dtype=np.float32),
    lambda s: np.array(COUNTS, np.float32),
    needs=NUMERIC,
)
add(
    "np.array of a list of elements as numbers",
    lambda s: np.array(list(counts(s)), dtype=np.int64),
    lambda s: np.array(COUNTS),
    needs=NUMERIC,
)
add(
    "np.astype",
    lambda s: np.astype(counts(s), np.int16),
    lambda s: np.array(COUNTS, np.int16),
    needs=NUMERIC,
)
add(
    "np.nditer that casts both ways",
    lambda s: _cast_both_ways(s),
    lambda s: counts(s) + numbers(s, [1]),
    needs=COUNTING,
)


def _refused(work: Any) -> str:
    try:
        work()
    except (TypeError, ValueError):
        return "refused"
    return "allowed"


def _unaligned(s: Subject) -> Array:
    records = np.zeros(10, dtype=[("tag", "u1"), ("x", "i8")])
    records["x"] = COUNTS
    return records


def _to_unaligned(s: Subject) -> Array:
    records = _unaligned(s)
    records["x"] = 0
    records["x"] = counts(s)
    return records["x"].copy()


def _no_value(s: Subject, x: Array) -> str:
    """Types of texts take any; others must not make something up."""
    text = "\x01no value?!"
    try:
        x[:2] = np.array([text, text])
    except (TypeError, ValueError):
        return "refused or taken as it is"
    return "refused or taken as it is" if str(x[1]) == text else f"taken as {x[1]}"


def _not_finite(s: Subject, number: float) -> str:
    """Types that have no such value refuse it; none makes it finite."""
    try:
        made = np.array([1.0, number]).astype(s.dtype)
    except (OverflowError, ValueError):
        return "kept or refused"
    back = made.astype(np.float64)[1]
    return "made finite" if np.isfinite(back) else "kept or refused"


def _cast_both_ways(s: Subject) -> Array:
    x = counts(s)
    with np.nditer(
        x,
        ["buffered", "refs_ok"],
        ["readwrite"],
        op_dtypes=[np.dtype(np.int64)],
        casting="unsafe",
        buffersize=4,
    ) as iterator:
        for item in iterator:
            item[...] += 1
    return x
