"""Ufuncs of Integer and Rational with operands of other types: NumPy's of every width and byte order,
Python's own numbers, and each other. Exact wherever Python is; with floats, what Python or NumPy
computes of the nearest float64."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import agree, agree_one_by_one, each, outcome, refused, to_number, values
from support.ufunc_table import ENTRIES, LOGIC, ORDER, Entry, find

from denizen import Integer, Rational

ELEMENTS = {"Integer": Integer, "Rational": Rational}
INTEGERS = [f"{order}{kind}{size}" for kind in "iu" for size in (2, 4, 8) for order in "<>"]
INTEGERS += ["i1", "u1"]
FLOATS = [f"{order}f{size}" for size in (2, 4, 8) for order in "<>"]
NUMBERS = ["bool", *INTEGERS, *FLOATS, "g", "<c8", ">c16"]
SINGLE = [entry for entry in ENTRIES if len(entry.results) == 1]
#: Python's own, of one value.
SCALARS: dict[str, Callable[[Any], Any]] = {"int": int, "truth": bool, "float": float}
TABLE = {(entry.element, entry.name): entry for entry in ENTRIES}
MIXING = sorted({entry.name for entry in ENTRIES if entry.inputs >= 2})
#: What Python computes with floats as NumPy does, wherever it computes at all.
FLOAT_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}


def fit(value: Any, kind: str) -> Any:
    """The value, or the one next to it that the kind has."""
    if kind in FLOATS:
        return float(value)
    if kind == "Rational":
        return Fraction(value)
    if kind in ("int", "Integer"):
        return int(value)
    if kind in ("bool", "truth"):
        return bool(value)
    limits = np.iinfo(kind)
    return min(max(int(value), int(limits.min)), int(limits.max))


@dataclass(frozen=True)
class Operand:
    """An operand of a kind: an element type, a dtype of NumPy's, or a scalar."""

    kind: str
    filled: draw.Filled
    #: As a scalar of NumPy's or of the element type.
    scalar: bool

    def array(self) -> np.ndarray:
        if self.kind in SCALARS:
            return np.array(SCALARS[self.kind](self.filled.values[0]), dtype=object)
        # Of the floats drawn, some are infinite in a narrow type.
        with np.errstate(over="ignore"):
            return self.filled.build(ELEMENTS.get(self.kind, self.kind))

    def build(self) -> Any:
        array = self.array()
        return array[()] if self.scalar or self.kind in SCALARS else array

    def plain(self) -> np.ndarray:
        """As an object array of Python's numbers."""
        array = self.array()
        return draw.objects(array.ravel().tolist()).reshape(array.shape)


def is_float(operand: Operand) -> bool:
    return operand.kind == "float" or operand.kind in FLOATS


@st.composite
def mixtures(pick: Any, entry: Entry) -> list[Operand]:
    """Operands of one element type and of other kinds."""
    shapes, _ = pick(draw.broadcastable(entry.inputs))
    pools = pick(entry.operands)
    place = pick(st.integers(0, entry.inputs - 1))
    operands = []
    for index, (shape, pool) in enumerate(zip(shapes, pools, strict=True)):
        group = pick(
            st.sampled_from([["Integer", "Rational"], [*INTEGERS, "bool"], FLOATS, list(SCALARS)])
        )
        kind = entry.element.__name__ if index == place else pick(st.sampled_from(group))
        if kind in FLOATS or kind == "float":
            pool = pick(draw.pools(draw.floats))
        else:
            pool = [fit(value, kind) for value in pool]
        scalar = shape == () and pick(st.booleans())
        operands.append(Operand(kind, draw.Filled(pick(draw.layouts(shape)), pool), scalar))
    return operands


def float_result(name: str, operands: list[np.ndarray]) -> Any:
    """The ufunc of NumPy's over the nearest float64, where NumPy has one."""
    function = find(name)
    float64 = (np.dtype(np.float64),) * function.nin + (None,) * function.nout
    if refused(outcome(function.resolve_dtypes, float64)):
        return TypeError
    shown = np.broadcast_shapes(*(operand.shape for operand in operands))

    def run() -> Any:
        nearest = [
            np.frompyfunc(float, 1, 1)(np.broadcast_to(operand, shown)) for operand in operands
        ]
        return function(*(np.asarray(operand).astype(np.float64) for operand in nearest))

    return outcome(run)


@pytest.mark.parametrize("name", MIXING)
@given(data=st.data())
def test_other_operands_meet_the_elements_as_in_python(name: str, data: Any) -> None:
    entry = data.draw(st.sampled_from([one for one in ENTRIES if one.name == name]))
    operands = data.draw(mixtures(entry))
    bufsize = data.draw(st.sampled_from([16, 8192]))
    plain = [operand.plain() for operand in operands]
    old = np.setbufsize(bufsize)
    try:
        with np.errstate(all="ignore"):
            result = outcome(entry.ufunc, *(operand.build() for operand in operands))
    finally:
        np.setbufsize(old)
    floating = any(map(is_float, operands))
    if not floating or name in ORDER or name in LOGIC:
        element = Rational if any(one.kind == "Rational" for one in operands) else Integer
        meeting = TABLE.get((element, name))
        if meeting is None:
            assert result is TypeError
            return
        agree(result, outcome(meeting.oracle, *plain), *meeting.results)
        return
    with np.errstate(all="ignore"):
        expected = float_result(name, plain)
    empty = 0 in np.broadcast_shapes(*(operand.shape for operand in plain))
    if empty and result is OverflowError:
        # An operand may be cast before NumPy looks whether there is anything to do.
        return
    if name == "power" and not refused(expected):
        np.testing.assert_allclose(result, expected, rtol=1e-14)
        return
    agree(result, expected, *[np.float64] * len(entry.results))
    if (function := FLOAT_ARITHMETIC.get(name)) and not refused(result):
        for ours, *row in zip(
            values(np.asarray(result)),
            *(np.broadcast_to(one, np.shape(result)).ravel().tolist() for one in plain),
            strict=True,
        ):
            python = outcome(function, *row)
            assert ours == repr(python) or python is ZeroDivisionError


COMPLEX = ["complex64", "complex128", ">c8"]


@given(data=st.data())
def test_complex_numbers_take_the_elements_as_floats(data: Any) -> None:
    element = data.draw(st.sampled_from([Integer, Rational]))
    function = data.draw(
        st.sampled_from([operator.add, operator.sub, operator.mul, operator.eq, operator.ne])
    )
    shapes, _ = data.draw(draw.broadcastable(2))
    numbers = data.draw(draw.filled(shapes[0], draw.small_integers))
    parts = st.builds(complex, draw.small_integers, draw.small_integers)
    others = data.draw(draw.filled(shapes[1], parts))
    kind = data.draw(st.sampled_from(COMPLEX))
    operands, plain = (
        [numbers.build(element), others.build(kind)],
        [numbers.build(object), others.build(object)],
    )
    if data.draw(st.booleans()):
        operands.reverse()
        plain.reverse()
    result = function(*operands)
    expected = np.asarray(function(*plain))
    if result.dtype != bool:
        expected = expected.astype(np.complex128)
    agree(result, expected, bool if result.dtype == bool else np.complex128)


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "remainder": operator.imod,
    "bitwise_and": operator.iand,
    "bitwise_xor": operator.ixor,
}


@pytest.mark.parametrize("name", IN_PLACE)
@given(data=st.data())
def test_operators_in_place_keep_the_type_or_refuse(name: str, data: Any) -> None:
    kinds = data.draw(
        st.permutations(
            [
                data.draw(st.sampled_from(["Integer", "Rational"])),
                data.draw(st.sampled_from(["Integer", "Rational", "bool", *INTEGERS, "<f8"])),
            ]
        )
    )
    shape = data.draw(draw.shapes)
    values = st.integers(1, 9) | draw.near_edges
    pools = [[fit(value, kind) for value in data.draw(draw.pools(values))] for kind in kinds]
    operands = [
        Operand(kind, draw.Filled(data.draw(draw.layouts(shape, readonly=False)), pool), False)
        for kind, pool in zip(kinds, pools, strict=True)
    ]
    array, other = (operand.array() for operand in operands)
    dtype, plain = array.dtype, [operand.plain() for operand in operands]
    result = outcome(IN_PLACE[name], array, other)
    meets = outcome(find(name).resolve_dtypes, (dtype, other.dtype, None))
    if refused(meets) or not np.can_cast(meets[2], dtype, "same_kind"):
        assert result is TypeError
        return
    assert refused(result) or result is array
    if np.float64 in (dtype, other.dtype):
        with np.errstate(all="ignore"):
            agree(result, float_result(name, plain), np.float64)
        return
    entry = TABLE[Rational if "Rational" in kinds else Integer, name]
    rows = list(zip(*(one.ravel().tolist() for one in plain), strict=True))
    results, failures = each(lambda row: store(entry.plain(*row), kinds[0]), rows)
    agree_one_by_one(result, results, failures, dtype)


def store(value: Any, kind: str) -> Any:
    """What the value is in an array of the kind."""
    return value if kind in ELEMENTS else to_number(value, kind)


@pytest.mark.parametrize("entry", SINGLE, ids=str)
@given(data=st.data())
def test_results_are_cast_into_targets_of_other_types(entry: Entry, data: Any) -> None:
    shape = data.draw(draw.shapes)
    operands = [
        draw.Filled(data.draw(draw.layouts(shape)), pool) for pool in data.draw(entry.operands)
    ]
    name = data.draw(st.sampled_from(NUMBERS))
    target = data.draw(draw.layouts(shape, readonly=False)).build([1], name)
    plain = zip(*(one.build(object).ravel().tolist() for one in operands), strict=True)
    results, failures = each(lambda row: to_number(entry.plain(*row), name), list(plain))
    old = np.setbufsize(data.draw(st.sampled_from([16, 8192])))
    try:
        result = outcome(
            entry.ufunc,
            *(one.build(entry.element) for one in operands),
            out=target,
            casting="unsafe",
        )
    finally:
        np.setbufsize(old)
    assert refused(result) or result is target
    agree_one_by_one(result, results, failures, np.dtype(name))


def corners_of(name: str, values: list[Any]) -> list[Any]:
    """Limits of a dtype and its neighbours in the list; of floats what is special."""
    dtype = np.dtype(name)
    if dtype.kind == "f":
        special = [0.0, -0.0, 0.5, -2.5, 2.0**53, 2.0**63, 5e-324, 1e308, math.inf, math.nan]
        with np.errstate(over="ignore", under="ignore"):
            return np.array(special).astype(dtype).tolist()
    if dtype.kind == "b":
        return [False, True]
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    fitting = [int(value) for value in values if value == int(value) and low <= value <= high]
    return sorted({low, high, *fitting[:: len(fitting) // 20 + 1]})


@pytest.mark.parametrize("entry", [one for one in ENTRIES if one.inputs == 2], ids=str)
def test_values_of_every_size_meet_numbers_of_every_width(entry: Entry) -> None:
    first, second = entry.corners
    floating = entry.name in ORDER or entry.name in LOGIC
    for name in ["bool", *INTEGERS, *(FLOATS if floating else [])]:
        for column, row, swapped in (
            (first, corners_of(name, second), False),
            (corners_of(name, first), second, True),
        ):
            if swapped is False and 0 not in second:
                row = [value for value in row if value]
            if entry.name == "power":
                row = [value for value in row if 0 <= value < 6]
                column = [value for value in column if value]
            if entry.name == "left_shift":
                row = [value for value in row if 0 <= value < 300]
            if entry.name == "right_shift":
                row = [value for value in row if value >= 0]
            types = [name, entry.element] if swapped else [entry.element, name]
            a, b = (
                draw.allocate(values, dtype)
                for values, dtype in zip((column, row), types, strict=True)
            )
            result = entry.ufunc(a[:, None], b)
            # Of NaN, Python says False; NumPy warns of that.
            with np.errstate(invalid="ignore"):
                expected = entry.oracle(draw.objects(column)[:, None], draw.objects(row))
            agree(result, expected, *entry.results)


#: Without those of which Python's int gives a float, or NumPy's loop for floats another result.
ASKING = [one for one in SINGLE if one.name not in ("power", "divide", "reciprocal", "logical_not")]


@pytest.mark.parametrize("entry", ASKING, ids=str)
@given(data=st.data())
def test_the_caller_may_ask_for_another_type(entry: Entry, data: Any) -> None:
    shapes, shape = data.draw(draw.broadcastable(entry.inputs))
    operands = [
        draw.Filled(data.draw(draw.layouts(one)), pool)
        for one, pool in zip(shapes, data.draw(entry.operands), strict=True)
    ]
    plain = [one.build(object) for one in operands]
    ours = [one.build(entry.element) for one in operands]
    # By NumPy's loop for objects, where it has one.
    expected = outcome(entry.ufunc, *plain, dtype=object)
    result = outcome(entry.ufunc, *ours, dtype=object)
    if refused(expected):
        assert refused(result)
    else:
        agree(result, expected, object)
    if entry.results == (bool,) or 0 in shape:
        return
    with np.errstate(all="ignore"):
        result = outcome(entry.ufunc, *ours, dtype=np.float64)
        agree(result, float_result(entry.name, plain), np.float64)
