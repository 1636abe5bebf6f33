"""Casts of Integer and Rational from and to NumPy's types, texts and objects, and copies of them
through pickles and files, against what Python makes of each value: exact, or an exception of the
same kind, never a truncated value."""

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as draw
from support.outcomes import agree, agree_one_by_one, each, outcome, to_number, whole

from denizen import Integer, Rational

BOTH = pytest.mark.parametrize("element", [Integer, Rational])
VALUES = {
    Integer: draw.integers,
    Rational: st.one_of(draw.fractions, draw.small_fractions, draw.integers),
}
INTEGERS = [f"{order}{kind}{size}" for kind in "iu" for size in (2, 4, 8) for order in "<>"]
INTEGERS += ["i1", "u1", "q", "Q"]
FLOATS = [f"{order}f{size}" for size in (2, 4, 8) for order in "<>"] + ["g"]
COMPLEX = ["<c8", ">c16", "G"]
NUMBERS = ["?", *INTEGERS, *FLOATS, *COMPLEX]


#: Values close to the limits of some width, floats included.
def near_limits(element: type) -> st.SearchStrategy[list[Any]]:
    few = st.integers(-3, 300)
    return draw.pools(few) | draw.pools(draw.near_edges) | draw.pools(VALUES[element])


@BOTH
@pytest.mark.parametrize("name", NUMBERS)
@given(data=st.data())
def test_elements_become_numbers_exactly_or_not_at_all(element: type, name: str, data: Any) -> None:
    shape = data.draw(draw.shapes)
    source = draw.Filled(data.draw(draw.layouts(shape)), data.draw(near_limits(element)))
    array = source.build(element)
    results, failures = each(to_number, array.ravel().tolist(), name)
    dtype = np.dtype(name)
    agree_one_by_one(outcome(array.astype, dtype), results, failures, dtype)
    # Into an array that is there already, of any layout.
    target = data.draw(draw.layouts(shape, readonly=False)).build([1], dtype)
    assigned = outcome(lambda: np.copyto(target, array, casting="unsafe"))
    agree_one_by_one(target if assigned is None else assigned, results, failures, dtype)


def from_number(element: type) -> Callable[[Any], Any]:
    return whole if element is Integer else Fraction


@BOTH
@pytest.mark.parametrize("name", ["?", *INTEGERS, *FLOATS])
@given(data=st.data())
def test_numbers_become_elements_exactly_or_not_at_all(element: type, name: str, data: Any) -> None:
    dtype = np.dtype(name)
    if dtype.kind == "f":
        pool = data.draw(draw.pools(draw.floats) | draw.pools(st.integers(-70000, 70000)))
    elif dtype.kind == "b":
        pool = data.draw(draw.pools(st.booleans()))
    else:
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        pool = data.draw(draw.pools(st.sampled_from([low, low + 1, high, high - 1, 0, 1])))
    shape = data.draw(draw.shapes)
    with np.errstate(over="ignore"):
        array = data.draw(draw.layouts(shape)).build(pool, dtype)
    # `tolist` leaves long doubles as they are; these have come from float64.
    plain = array.ravel().astype(np.float64 if name == "g" else dtype).tolist()
    results, failures = each(from_number(element), plain)
    agree_one_by_one(outcome(array.astype, element), results, failures, np.dtype(element))
    target = data.draw(draw.layouts(shape, readonly=False)).build([2**70], element)
    assigned = outcome(lambda: np.copyto(target, array, casting="unsafe"))
    agree_one_by_one(target if assigned is None else assigned, results, failures, np.dtype(element))


@given(data=st.data())
def test_the_element_types_become_each_other(data: Any) -> None:
    array = data.draw(
        draw.shapes.flatmap(lambda shape: draw.filled(shape, VALUES[Rational] | draw.integers))
    )
    rationals = array.build(Rational)
    results, failures = each(whole, rationals.ravel().tolist())
    agree_one_by_one(outcome(rationals.astype, Integer), results, failures, np.dtype(Integer))
    if not failures:
        agree(rationals.astype(Integer).astype(Rational), array.build(object), Rational)


#: Types of text of any length.
TEXTS: list[Any] = ["U", np.dtypes.StringDType()]


@BOTH
@pytest.mark.parametrize("kind", ["U1100", "S1100", ">U1100", "T", "O"])
@given(data=st.data())
def test_texts_and_objects_of_elements_give_them_back(element: type, kind: str, data: Any) -> None:
    dtype = np.dtypes.StringDType() if kind == "T" else np.dtype(kind)
    array = data.draw(draw.shapes.flatmap(lambda shape: draw.filled(shape, VALUES[element])))
    ours, plain = array.build(element), array.build(object)
    other = ours.astype(dtype)
    assert other.dtype == dtype
    if kind == "O":
        agree(other, plain, object)
    else:
        text = "S" if dtype.kind == "S" else "U"
        assert other.astype(f"{text}1100").tolist() == plain.astype(f"{text}1100").tolist()
    agree(other.astype(element), plain, element)
    target = np.zeros(ours.shape, dtype=element)
    target[...] = other
    agree(target, plain, element)


@BOTH
@given(data=st.data())
def test_a_text_that_is_cut_is_refused(element: type, data: Any) -> None:
    plain = data.draw(st.lists(VALUES[element], min_size=1, max_size=6))
    width = data.draw(st.integers(1, 40))
    for kind in "US":
        result = outcome(np.array(plain, dtype=element).astype, f"{kind}{width}")
        if max(len(str(value)) for value in plain) > width:
            assert result is ValueError
        else:
            assert result.astype("U").tolist() == [str(value) for value in plain]


#: Also of other scripts.
digits = st.text("0123456789", min_size=1, max_size=25) | st.text(
    "05\u0663\u096b\U0001d7d7", min_size=1, max_size=4
)
numerals = st.one_of(digits, st.lists(digits, min_size=1, max_size=3).map("_".join))
signs = st.sampled_from(["", "", "-", "+"])
blanks = st.sampled_from(["", "", " ", "\t", "\n ", "\u2003"])
exponents = st.builds("{}{}{}".format, st.sampled_from("eE"), signs, st.integers(0, 40))
texts = st.builds(
    "{}{}{}{}{}".format,
    blanks,
    signs,
    numerals,
    st.one_of(
        st.just(""),
        st.builds("/{}".format, numerals),
        st.builds(".{}".format, numerals | st.just("")),
        st.builds(".{}{}".format, numerals | st.just(""), exponents),
        exponents,
        st.text("0123456789+-_/.eE x", max_size=4),
    ),
    blanks,
)


@BOTH
@given(plain=st.lists(texts, min_size=1, max_size=5))
def test_texts_are_read_as_python_reads_them(element: type, plain: list[str]) -> None:
    read = int if element is Integer else Fraction
    results, failures = each(read, plain)
    for dtype in TEXTS:
        array = np.array(plain, dtype=dtype)
        agree_one_by_one(outcome(array.astype, element), results, failures, np.dtype(element))
    made = outcome(np.array, plain, dtype=element)
    agree_one_by_one(made, results, failures, np.dtype(element))
    scalars, refusals = each(element, plain)
    assert scalars == results and refusals == failures


def out_of_band(array: np.ndarray) -> np.ndarray:
    buffers: list[Any] = []
    stream = pickle.dumps(array, 5, buffer_callback=buffers.append)
    return pickle.loads(stream, buffers=buffers)


def saved(array: np.ndarray) -> np.ndarray:
    with io.BytesIO() as file, warnings.catch_warnings():
        # That it pickles the elements, of every user dtype.
        warnings.simplefilter("ignore", UserWarning)
        np.save(file, array, allow_pickle=True)
        file.seek(0)
        return np.load(file, allow_pickle=True)


COPIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **{
        f"pickle {protocol}": (
            lambda array, protocol=protocol: pickle.loads(pickle.dumps(array, protocol))
        )
        for protocol in range(6)
    },
    "out of band": out_of_band,
    "save": saved,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "list": lambda array: np.array(array.tolist(), dtype=array.dtype).reshape(array.shape),
    "order of Fortran": lambda array: array.copy(order="F"),
    "concatenate": lambda array: np.concatenate([array[None], array[None]])[1, ...],
}


@BOTH
@pytest.mark.parametrize("way", COPIES)
@given(data=st.data())
def test_copies_have_the_same_values(element: type, way: str, data: Any) -> None:
    array = data.draw(draw.shapes.flatmap(lambda shape: draw.filled(shape, VALUES[element])))
    ours, plain = array.build(element), array.build(object)
    copied = COPIES[way](ours)
    agree(copied, plain, element)
    assert [hash(one) for one in copied.ravel()] == [hash(one) for one in plain.ravel()]
