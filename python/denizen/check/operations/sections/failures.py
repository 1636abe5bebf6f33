"""Errors raised midway: elements before the error are written, the array stays usable."""

import gc
from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import StopMidway, failing, numbers, raised
from ..operation import Table

TABLE = Table("failures")
add = TABLE.add

NUMERIC = frozenset({"numbers"})


class Foreign:
    """An object that is of no registered type."""


class Broken:
    """A sequence that raises when its middle is read."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise StopMidway("the middle cannot be read")
        return self.values[index]


WRONG = (TypeError, ValueError)


def refused(work: Any) -> bool:
    """Whether `work` raises a TypeError or a ValueError."""
    try:
        work()
    except WRONG:
        return True
    return False


def usable(s: Subject, x: Any) -> Any:
    """The array takes, gives and loses elements as before."""
    x[:] = s.b
    return x.copy(), x[::-1].copy(), x.take([0, 9])


def _bad_list(s: Subject) -> list[Any]:
    return [*s.values[:5], Foreign(), *s.values[5:9]]


add(
    "assign a list with a foreign object",
    lambda s: (refused(lambda: s.a.__setitem__(slice(None), _bad_list(s))), usable(s, s.a)),
    lambda s: (True, usable(s, s.a)),
)
add(
    "np.array of a list with a foreign object",
    lambda s: refused(lambda: np.array(_bad_list(s), dtype=s.dtype)),
    lambda s: True,
)
add(
    "assign objects with a foreign one",
    lambda s: (
        refused(lambda: s.a.__setitem__(slice(None), np.array(_bad_list(s), dtype=object))),
        s.a[6:],
        usable(s, s.a),
    ),
    lambda s: (True, s.a[6:], usable(s, s.a)),
)
add(
    "astype of objects with a foreign one",
    lambda s: refused(lambda: np.array(_bad_list(s), dtype=object).astype(s.dtype)),
    lambda s: True,
)
add(
    "fill with a foreign object",
    lambda s: (refused(lambda: s.a.fill(Foreign())), s.a),
    lambda s: (True, s.a),
)
add(
    "np.full of a foreign object",
    lambda s: refused(lambda: np.full(4, Foreign(), s.dtype)),
    lambda s: True,
)
add(
    "insert a foreign object",
    lambda s: refused(lambda: np.insert(s.a, 2, Foreign())),
    lambda s: True,
)
add(
    "put a foreign object",
    lambda s: (refused(lambda: np.put(s.a, [1], [Foreign()])), s.a),
    lambda s: (True, s.a),
)
add(
    "where with a foreign object",
    lambda s: refused(lambda: np.where(s.mask, s.a, Foreign()).astype(s.dtype)),
    lambda s: True,
)
add(
    "a sequence that raises",
    lambda s: (
        raised(lambda: s.a.__setitem__(slice(None), Broken(s.values[:10])), StopMidway, *WRONG),
        usable(s, s.a),
    ),
)
add(
    "np.array of a sequence that raises",
    lambda s: raised(lambda: np.array(Broken(s.values[:10]), dtype=s.dtype), StopMidway, *WRONG),
)
add(
    "fromiter of a generator that raises",
    lambda s: raised(lambda: np.fromiter(failing(s.values, 9), s.dtype), StopMidway),
    lambda s: "StopMidway",
)
add(
    "a list that is ragged",
    lambda s: raised(
        lambda: np.array([s.values[:2], s.values[:3]], dtype=s.element_dtype), ValueError
    ),
    lambda s: "ValueError",
)
add("take out of bounds", lambda s: (raised(lambda: s.a.take([1, 2, 99]), IndexError), s.a))
add(
    "take out of bounds with out=",
    lambda s: (raised(lambda: s.a.take([1, 2, 99], out=s.b[:3]), IndexError), s.b[3:]),
)
add(
    "put out of bounds",
    lambda s: (raised(lambda: np.put(s.a, [1, 99], s.b[:2]), IndexError), s.a[2:], usable(s, s.a)),
)
add(
    "choose out of bounds",
    lambda s: (raised(lambda: np.choose([0, 7] * 5, [s.a, s.b]), ValueError), s.a),
)
add("repeat by negative counts", lambda s: (raised(lambda: s.a.repeat([-1] * 10), ValueError), s.a))
add("reshape to another size", lambda s: (raised(lambda: s.a.reshape(3, 4), ValueError), s.a))
add(
    "shapes that do not broadcast",
    lambda s: (raised(lambda: s.a.__setitem__(slice(None), s.b[:3]), ValueError), s.a),
)
add(
    "concatenate shapes that do not fit",
    lambda s: raised(lambda: np.concatenate([s.m, s.a[None]]), ValueError),
    lambda s: "ValueError",
)
add("delete out of bounds", lambda s: (raised(lambda: np.delete(s.a, 99), IndexError), s.a))
add("insert out of bounds", lambda s: (raised(lambda: np.insert(s.a, 99, s.b[0]), IndexError), s.a))
add(
    "write to a read-only view",
    lambda s: (raised(lambda: np.broadcast_to(s.a, (2, 10)).__setitem__(0, s.b), ValueError), s.a),
)
add(
    "a cast that fails midway",
    lambda s: (raised(lambda: numbers(s, [1, 2, 300, 4]).astype(np.uint8), OverflowError), s.a),
    lambda s: ("OverflowError", s.a),
    needs={"numbers", "arithmetic"},
)
add(
    "text that is wrong midway",
    lambda s: _wrong_text(s),
    lambda s: (True, s.a[:5]),
    needs={"text", "codec"},
)
add(
    "division by zero midway",
    lambda s: _division(s),
    lambda s: numbers(s),
    needs={"numbers", "division"},
)
add(
    "a function that raises in vectorize",
    lambda s: raised(lambda: np.vectorize(_fails_at_third(), otypes=[s.dtype])(s.a), StopMidway),
    lambda s: "StopMidway",
)
add(
    "a function that raises in apply_along_axis",
    lambda s: raised(lambda: np.apply_along_axis(_fails_at_third(), 1, s.m), StopMidway),
    lambda s: "StopMidway",
)
add(
    "a function that raises in piecewise",
    lambda s: raised(
        lambda: np.piecewise(s.a, [s.mask], [lambda x: next(failing(x, 0))]), StopMidway
    ),
    lambda s: "StopMidway",
)
add("ufunc without a loop", lambda s: (raised(lambda: np.sin(s.a, s.a, s.a), TypeError), s.a))
add("out= of the wrong shape", lambda s: (raised(lambda: np.copyto(s.a[:3], s.b), ValueError), s.a))
add("out= that is no array", lambda s: (raised(lambda: np.take(s.a, [1], out=[1]), TypeError), s.a))
add(
    "an axis that does not exist",
    lambda s: (
        raised(lambda: np.concatenate([s.a, s.b], axis=3), ValueError),
        raised(lambda: s.m.take([0], axis=5), ValueError),
    ),
    lambda s: ("ValueError", "ValueError"),
)
add("errors again and again", lambda s: _again(s), lambda s: s.a)
add(
    "an unknown attribute",
    lambda s: raised(lambda: s.a.unknown, AttributeError),
    lambda s: "AttributeError",
)
add("hash of an array", lambda s: raised(lambda: hash(s.a), TypeError), lambda s: "TypeError")
add("an array that dies in an error", lambda s: _dies(s), lambda s: s.a)


def _wrong_text(s: Subject) -> Any:
    """Refused in the middle, or taken as it is by a type of texts."""
    texts = [str(x) for x in s.a]
    x = s.b.copy()
    x[:] = np.array(texts)
    x[:] = s.b
    texts[5] = "\x01?"
    wrong = refused(lambda: x.__setitem__(slice(None), np.array(texts)))
    return wrong or [str(value) for value in x] == texts, x[:5]


def _division(s: Subject) -> Any:
    """An error, or a value of the type; what was divided is as before."""
    x = numbers(s)
    raised(lambda: x / numbers(s, [1, 2, 0, 4, 5, 6, 7, 8, 9, 10]), ZeroDivisionError)
    return x


def _fails_at_third() -> Any:
    calls = iter([False, False, True, True])

    def function(x: Any) -> Any:
        if next(calls):
            raise StopMidway("the third call")
        return x

    return function


def _again(s: Subject) -> Any:
    x = s.a.copy()
    for _ in range(50):
        raised(lambda: x.take([1, 99]), IndexError)
        refused(lambda: np.array(_bad_list(s), dtype=s.element_dtype))
    return x


def _dies(s: Subject) -> Any:
    def work() -> None:
        x = s.a.copy()
        raise StopMidway(str(len(x)))

    for _ in range(5):
        raised(work, StopMidway)
    gc.collect()
    return s.a
