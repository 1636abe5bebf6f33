"""What dtype results have where elements meet numbers, objects and each other."""

import itertools
import operator
from fractions import Fraction

import numpy as np
import pytest
from support.casting import integers, same

from denizen import Integer, Rational


@pytest.mark.parametrize("other", [1.5, np.float16(2), np.float32(2), np.array([0.5, 1.0, 1.5])])
def test_with_floats_the_result_is_float64_as_for_int64(other: object) -> None:
    left = integers(1, 2, 3)
    result = left + other
    assert result.dtype == np.float64
    assert result.tolist() == (np.arange(1, 4) + np.asarray(other, float)).tolist()
    assert (other == left).tolist() == (np.asarray(other, float) == np.arange(1, 4)).tolist()
    assert (left + 1j).dtype == np.complex128


def test_two_element_types_meet_in_the_wider_one() -> None:
    left, right = integers(1, 2), np.array([Fraction(1, 2), 2], dtype=Rational)
    for result in [left + right, right + left]:
        assert result.dtype == np.dtype(Rational)
        assert same(result, [Fraction(3, 2), Fraction(4)])
    assert (left == right).tolist() == [False, True]
    assert np.result_type(left, right) == np.dtype(Rational)
    assert np.concatenate([left, right, [7]]).dtype == np.dtype(Rational)


@pytest.mark.parametrize(
    "other",
    [
        "1",
        b"1",
        np.datetime64("2020"),
        np.timedelta64(1, "s"),
        np.array(["1", "2", "3"]),
        np.array(["1"], dtype=np.dtypes.StringDType()),
    ],
)
def test_what_has_no_common_type_is_a_type_error_never_false(other: object) -> None:
    left = integers(1, 2, 3)
    functions = [operator.eq, operator.ne, operator.lt, operator.add]
    for function in functions:
        with pytest.raises(TypeError):
            function(left, other)
        with pytest.raises(TypeError):
            function(np.asarray(other), left)


def test_objects_compare_as_objects() -> None:
    left = integers(1, 2, 3)
    mixed = np.array([1, None, "x"], dtype=object)
    assert (left == mixed).tolist() == [True, False, False]
    assert (mixed == left).tolist() == [True, False, False]
    assert (left != mixed).tolist() == [False, True, True]
    assert (left == None).tolist() == [False] * 3  # noqa: E711
    assert (left + np.array([1, 2.5, Fraction(1, 2)], dtype=object)).tolist() == [
        2,
        4.5,
        Fraction(7, 2),
    ]
    with pytest.raises(TypeError):
        left + None


def test_the_dtype_argument_of_a_ufunc_decides() -> None:
    left = integers(1, 2, 3)
    assert np.add(left, 1, dtype=float).dtype == np.float64
    assert np.add(left, 1, dtype=object).tolist() == [2, 3, 4]
    assert np.sum(left, dtype=float) == 6.0
    assert np.equal(left, 2.5, dtype=bool).tolist() == [False] * 3
    assert np.equal(left, [1, 2, 2], dtype=bool).tolist() == [True, True, False]
    # NumPy takes the DType class of a user's type there, not the dtype.
    assert np.sum(np.arange(5), dtype=type(np.dtype(Integer))) == 10


def test_functions_of_three_operands_promote_in_every_place() -> None:
    cells, plain = integers(*range(6)), np.arange(6, dtype=np.int16)
    for array, low, high in itertools.product([cells, plain], [cells, plain, 1], [cells, plain, 3]):
        if any(one is cells for one in (array, low, high)):
            expected = np.clip(plain, *(plain if one is cells else one for one in (low, high)))
            result = np.clip(array, low, high)
            assert result.dtype == np.dtype(Integer)
            assert same(result, expected.tolist())


def test_results_are_cast_into_other_outputs() -> None:
    left = integers(1, 2, 3)
    out = np.zeros(3, dtype=np.int16)
    np.add(left, 5, out=out, casting="unsafe")
    assert out.tolist() == [6, 7, 8]
    out = np.zeros(3, dtype=">f4")
    np.multiply(left, left, out=out, casting="unsafe")
    assert out.tolist() == [1, 4, 9]
    total = integers(2**70, 0, 0)
    total += np.array([1, 2, 3], dtype=np.uint8)
    assert same(total, [2**70 + 1, 2, 3])
    with pytest.raises(OverflowError):
        np.add(left, 200, out=np.zeros(3, dtype=np.int8), casting="unsafe")
