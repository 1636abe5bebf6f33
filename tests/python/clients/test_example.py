"""A Rust extension stores a type from crates.io and its own in arrays, and reads them back."""

import gc
import pickle
from decimal import Decimal

import denizen_example as example
import numpy as np
import pytest

import denizen

BigDecimal = example.BigDecimal


@pytest.fixture(autouse=True)
def balanced():
    """All duals that a test makes are gone after it."""
    gc.collect()
    before = example.live_duals()
    yield
    gc.collect()
    assert example.live_duals() == before


def decimals(*texts):
    return np.array(texts, dtype=BigDecimal)


def test_types_are_named_after_their_module():
    assert {"denizen_example.BigDecimal", "denizen_example.Dual"} <= set(denizen.types())
    assert isinstance(np.dtype(BigDecimal), example.BigDecimalDType)


def test_decimals_compute_exactly():
    a = decimals("0.1", "12345678901234567890.5", "-3")
    b = decimals("0.2", "1e-3", "7")
    expected = {
        np.add: ["0.3", "12345678901234567890.501", "4"],
        np.subtract: ["-0.1", "12345678901234567890.499", "-10"],
        np.multiply: ["0.02", "12345678901234567.8905", "-21"],
    }
    for ufunc, texts in expected.items():
        assert [Decimal(str(x)) for x in ufunc(a, b)] == [Decimal(x) for x in texts]
    assert (a < b).tolist() == [True, False, True]
    assert (a == decimals("0.10", "1", "-3.0")).tolist() == [True, False, True]
    assert Decimal(str((a + b).sum())) == Decimal("12345678901234567894.801")
    assert Decimal(str(decimals("0.5", "1.5") @ decimals("2", "4"))) == 7


def test_vacant_cells_are_zero():
    zeros = np.zeros(3, dtype=BigDecimal)
    assert [str(x) for x in zeros + decimals("1", "2", "3")] == ["1", "2", "3"]
    assert str(np.zeros(0, dtype=BigDecimal).sum()) == "0"


def test_decimals_convert_to_and_from_numbers():
    assert [str(x) for x in np.array([1, -2], dtype=np.int64).astype(BigDecimal)] == ["1", "-2"]
    assert decimals("1.5", "-2").astype(np.float64).tolist() == [1.5, -2.0]
    with pytest.raises(ValueError):
        np.array([np.nan]).astype(BigDecimal)


def test_division_by_zero_is_an_error_and_nothing_is_lost():
    a, b = decimals("1", "2"), decimals("4", "0")
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        a / b
    assert [str(x) for x in a] == ["1", "2"]


def test_decimals_sort_and_pickle():
    a = decimals("3", "-1", "2.5")
    assert [str(x) for x in np.sort(a)] == ["-1", "2.5", "3"]
    assert np.argsort(a).tolist() == [1, 2, 0]
    again = pickle.loads(pickle.dumps(a))
    assert again.dtype == a.dtype and (again == a).all()


def test_moved_decimals_are_in_order():
    a = example.take_decimals(["1", "2.5", "1e20"])
    assert a.shape == (3,) and Decimal(str(a[2])) == Decimal("1e20")
    assert example.element_at(a[::-1], [2]) == "1"
    assert example.element_at(a, [3]) is None


def test_an_adopted_vec_is_the_memory_of_the_array():
    a, address = example.adopt_duals([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
    assert example.live_duals() >= 6
    assert a.shape == (2, 3) and a.__array_interface__["data"][0] == address
    assert denizen.owner(a) == "adopted"
    assert example.slice_of(a) == [1, 2, 3, 4, 5, 6]


def test_a_view_keeps_an_adopted_vec_alive():
    live = example.live_duals()
    a, _ = example.adopt_duals([1.0, 2.0, 3.0], [3])
    view = a[1:]
    del a
    gc.collect()
    assert example.live_duals() == live + 3
    assert example.strided_view_of(view)[2] == [2, 3]
    del view
    gc.collect()
    assert example.live_duals() == live


def test_what_numpy_writes_into_an_adopted_vec_is_ended_once():
    a, _ = example.adopt_duals([1.0, 2.0, 3.0], [3])
    a[:] = a + a
    a[1] = 9.0
    assert example.slice_of(a) == [2, 9, 6]


@pytest.mark.parametrize("shape", [[2], [2, 2], [2**40, 2**40], [-1]])
def test_a_vec_that_does_not_fit_the_shape_is_refused(shape):
    with pytest.raises((ValueError, OverflowError)):
        example.adopt_duals([1.0, 2.0, 3.0], shape)


def test_only_inline_types_are_adopted():
    with pytest.raises(TypeError, match="promise zero_is_vacant or zero_is_default"):
        example.adopt_decimals()


def test_any_strides_are_read():
    a, _ = example.adopt_duals([float(i) for i in range(12)], [3, 4])
    for view in [a, a.T, a[::-1, ::2], a[1], a[:0], np.broadcast_to(a[0], (2, 4)), a[1, 1:2]]:
        shape, strides, values = example.strided_view_of(view)
        assert (tuple(shape), tuple(strides)) == (view.shape, view.strides)
        assert values == view.astype(float).ravel().tolist()
    assert example.sum_rows(a[::-1, ::-1]) == [38, 22, 6]
    with pytest.raises(ValueError, match="contiguous"):
        example.slice_of(a.T)


def test_vacant_cells_are_read_as_the_default():
    a = np.zeros((2, 2), dtype=example.Dual)
    assert example.slice_of(a) == [0, 0, 0, 0]


def test_writing_views_change_the_array():
    a, _ = example.adopt_duals([1.0, 2.0, 3.0, 4.0], [4])
    example.scale(a[::-2], 10.0)
    assert example.slice_of(a) == [1, 20, 3, 40]
    example.scale_slice(a[1:3], 0.5)
    assert example.slice_of(a) == [1, 10, 1.5, 40]


def test_a_writing_view_refuses_what_it_must():
    a, _ = example.adopt_duals([1.0, 2.0], [2])
    overlapping = np.lib.stride_tricks.as_strided(np.arange(3.0), (2, 2), (8, 8))
    with pytest.raises(TypeError):
        example.scale(overlapping, 2.0)
    a.flags.writeable = False
    with pytest.raises(ValueError):
        example.scale(a, 2.0)
    with pytest.raises(TypeError):
        example.scale([1.0], 2.0)
    with pytest.raises(TypeError):
        example.slice_of(decimals("1"))
    assert example.slice_of(a) == [1, 2]


def test_an_array_that_is_lent_to_read_cannot_be_written():
    a = example.adopt_duals([1.0, 2.0], [2])[0].copy()

    def write():
        a[0] = 5.0

    with pytest.raises(denizen.BorrowError):
        example.while_reading(a, write)
    assert example.while_reading(a, lambda: example.slice_of(a)) == [1, 2]
    write()
    assert example.slice_of(a) == [5, 2]


def test_duals_differentiate():
    x = example.adopt_duals([3.0, 4.0], [2])[0]
    assert [str(y) for y in np.sqrt(x[1:])] == ["2 d[0.0, 0.25]"]
    assert str(x[0] / x[1]) == "0.75 d[0.25, -0.1875]"
    assert str((x * x).sum()) == "25 d[6.0, 8.0]"
    assert str(x @ x) == "25 d[6.0, 8.0]"


def test_duals_are_read_from_python_objects():
    a = np.zeros(3, dtype=example.Dual)
    a[0] = 2.5
    a[1] = (1.5, [1.0, 0.5])
    assert [str(x) for x in a] == ["2.5 d[]", "1.5 d[1.0, 0.5]", "0 d[]"]
    for wrong in ["text", None, (1.0,), (1.0, "x")]:
        with pytest.raises((TypeError, ValueError)):
            a[1] = wrong
    assert str(a[1]) == "1.5 d[1.0, 0.5]"


def test_duals_pickle_by_their_codec():
    a, _ = example.adopt_duals([1.5, np.inf], [2])
    again = pickle.loads(pickle.dumps(a))
    assert [str(x) for x in again] == ["1.5 d[1.0, 0.0]", "inf d[0.0, 1.0]"]
