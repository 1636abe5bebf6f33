"""The scalar class that the runtime makes: one object, immutable, with NumPy's operators."""

import copy
import gc
import math
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest

import denizen

sorting = pytest.importorskip("denizen_sorting")
Number, Ticket, Opaque, Unique, Wide = (
    sorting.Number,
    sorting.Ticket,
    sorting.Opaque,
    sorting.Unique,
    sorting.Wide,
)


@pytest.fixture(autouse=True)
def balanced():
    gc.collect()
    live = sorting.live()
    ledgers = {name: entry["live"] for name, entry in denizen.stats().items()}
    yield
    gc.collect()
    assert sorting.live() == live
    assert {name: entry["live"] for name, entry in denizen.stats().items()} == ledgers


def test_an_object_is_constructed_once_and_destroyed_once():
    before = denizen.stats()["denizen_sorting.Number"]
    live = sorting.live()
    x = Number(5)
    assert sorting.live() == live + 1
    assert denizen.stats()["denizen_sorting.Number"]["live"] == before["live"] + 1
    del x
    assert sorting.live() == live
    after = denizen.stats()["denizen_sorting.Number"]
    assert after["live"] == before["live"]


def test_an_object_that_passes_is_booked():
    a = np.array([2**80], dtype=denizen.Integer)
    before = denizen.stats()["denizen.Integer"]
    _ = a[0]
    after = denizen.stats()["denizen.Integer"]
    assert [after[what] - before[what] for what in ("constructed", "destroyed", "live")] == [
        1,
        1,
        0,
    ]


def test_construction():
    assert str(Number()) == "0"
    assert str(Number(5)) == str(Number("5")) == str(Number(np.int16(5))) == "5"
    x = Number(5)
    assert Number(x) is x
    with pytest.raises(TypeError):
        Number(1, 2)
    with pytest.raises(TypeError):
        Number(value=1)
    with pytest.raises(TypeError):
        Number([])
    with pytest.raises(ValueError):
        Number("five")
    with pytest.raises(denizen.VacantError):
        Ticket()


def test_the_class_is_closed():
    assert Number.__module__ == "denizen_sorting"
    assert Number.__name__ == "Number"
    assert np.dtype(Number) == Number.dtype
    with pytest.raises(TypeError):
        type("Sub", (Number,), {})
    with pytest.raises(AttributeError):
        Number(1).value = 2


def test_text():
    assert str(Number(-7)) == "-7"
    assert repr(Number(-7)) == "Number('-7')"
    assert repr(Opaque()) == str(Opaque()) == "<denizen_sorting.Opaque>"
    assert f"{Number(3)}" == "3"


def test_hashes_agree_with_equality():
    assert hash(Number(5)) == hash(Number(5))
    assert len({Number(5), Number(5), Number(6)}) == 2
    for unhashable in (Opaque(), Ticket("1")):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


@pytest.mark.parametrize(
    "operation",
    [operator.add, operator.sub, operator.mul, operator.floordiv],
)
@pytest.mark.parametrize("left, right", [(7, 3), (-7, 2), (0, 5)])
def test_operators_follow_the_loops(operation, left, right):
    expected = str(operation(left, right))
    assert type(operation(Number(left), Number(right))) is Number
    assert str(operation(Number(left), Number(right))) == expected
    assert str(operation(Number(left), right)) == expected
    assert str(operation(left, Number(right))) == expected
    assert str(operation(np.int64(left), Number(right))) == expected
    assert [str(x) for x in operation(Number(left), np.array([right, right]))] == [expected] * 2
    assert [str(x) for x in operation(np.array([left], dtype=Number), Number(right))] == [expected]


def test_unary_operators():
    assert str(-Number(5)) == "-5"
    assert str(abs(Number(-5))) == "5"


def test_errors_of_loops_are_raised():
    with pytest.raises(ZeroDivisionError):
        Number(1) // Number(0)
    with pytest.raises(TypeError):
        Number(1) / Number(2)
    with pytest.raises(TypeError):
        Number(1) + "1"
    with pytest.raises(TypeError):
        Number(1) + {}
    with pytest.raises(TypeError):
        pow(Number(2), 3, 5)


class Other:
    def __radd__(self, other):
        return "asked"

    def __eq__(self, other):
        return "asked"

    __hash__ = None


def test_other_classes_have_their_say():
    assert Number(1) + Other() == "asked"
    assert (Number(1) == Other()) == "asked"


@pytest.mark.parametrize("left, right", [(1, 2), (2, 2), (3, 2)])
@pytest.mark.parametrize("name", ["lt", "le", "eq", "ne", "gt", "ge"])
def test_comparisons_are_python_bools(name, left, right):
    compare = getattr(operator, name)
    expected = compare(left, right)
    for x, y in [(Number(left), Number(right)), (Number(left), right), (left, Number(right))]:
        assert compare(x, y) is expected
    assert compare(Ticket(str(left)), Ticket(str(right))) is expected
    assert list(compare(Number(left), np.array([right]))) == [expected]


def test_comparison_with_strangers():
    assert (Number(1) == "1") is False
    assert (Number(1) != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        Number(1) < "1"


def test_conversion_to_python_numbers():
    assert int(Number(-5)) == -5
    big = 2**62 + 1
    assert int(Number(str(big))) == big
    assert float(Number(5)) == 5.0
    assert math.sqrt(Number(9)) == 3.0
    assert bool(Number(5)) is True
    assert bool(Number(0)) is False
    with pytest.raises(TypeError, match="truth"):
        bool(Opaque())
    with pytest.raises(TypeError):
        float(Opaque())


def test_copies_are_the_object_itself():
    x = Number(5)
    assert copy.copy(x) is x
    assert copy.deepcopy([x, x])[0] is x


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("element", [Number, Ticket])
def test_pickle_of_scalar_array_and_dtype(protocol, element):
    scalar = element("42")
    again = pickle.loads(pickle.dumps(scalar, protocol))
    assert type(again) is element
    assert str(again) == "42"
    a = np.array(["1", "2", "3"], dtype=element)
    b = pickle.loads(pickle.dumps(a, protocol))
    assert b.dtype == a.dtype
    assert [str(x) for x in b] == ["1", "2", "3"]
    assert pickle.loads(pickle.dumps(a.dtype, protocol)) is a.dtype


def test_a_type_without_codec_or_text_is_not_pickled():
    with pytest.raises(TypeError, match="Opaque cannot be pickled"):
        pickle.dumps(Opaque())


def test_unpickling_elsewhere_imports_the_module_or_names_it():
    data = pickle.dumps([Number(3), np.array([4, 5], dtype=Number)])
    script = f"""
import pickle, sys
import denizen
scalar, array = pickle.loads({data!r})
assert str(scalar) == "3" and [str(x) for x in array] == ["4", "5"]
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    script = f"""
import pickle, sys
sys.modules["denizen_sorting"] = None
try:
    pickle.loads({data!r})
except ImportError as error:
    assert "denizen_sorting" in str(error), error
else:
    raise AssertionError("unpickled")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_what_only_moves_is_shown_in_its_array():
    a = np.zeros(2, dtype=Unique)
    a[0] = "5"
    assert str(a[0]) == "5" and a[0] is a[0]
    assert str(Unique("5")) == "5"
    assert denizen.inspect(a).live == 1


def test_cells_of_scalars_are_aligned():
    scalars = [Wide() for _ in range(50)]
    assert {str(x) for x in scalars} == {"aligned 2"}
    a = np.array(scalars)
    assert a.dtype == Wide.dtype
    assert {str(x) for x in a} == {"aligned 2"}


def test_arrays_of_scalars_find_the_dtype():
    assert np.array([Number(1), Number(2)]).dtype == Number.dtype
    assert np.array([Number(1), 2]).dtype == Number.dtype
    assert np.full(3, Number(2)).dtype == Number.dtype


@pytest.mark.parametrize("element", [Number, denizen.Integer, denizen.Rational])
def test_scalars_have_the_shape_of_a_scalar(element):
    a = np.array([1, 2, 3]).astype(element)
    assert (a[0].ndim, a[0].shape, a[0].size) == (0, (), 1)


@pytest.mark.parametrize("element", [Number, denizen.Integer, denizen.Rational])
def test_scalars_are_indexed_as_0_d_arrays(element):
    a = np.array([7, 2, 3]).astype(element)
    x = a[0]
    assert x[()] is x
    for index, shape in [
        (..., ()),
        (None, (1,)),
        ((...,), ()),
        ((np.newaxis, ...), (1,)),
        ((None, None), (1, 1)),
    ]:
        made = x[index]
        assert (type(made), made.dtype, made.shape) == (np.ndarray, a.dtype, shape)
        assert made.item() == x
    for index in (0, -1, True, slice(None), "x", [], (0,), (None, 0), (..., ...), np.array(0)):
        with pytest.raises(IndexError, match=r"^invalid index to scalar variable\.$"):
            x[index]


@pytest.mark.parametrize("element", [Number, denizen.Integer, denizen.Rational])
def test_scalars_are_no_sequences(element):
    a = np.array([7, 2, 3]).astype(element)
    x = a[0]
    for sequence in (iter, len, list, reversed, lambda x: x in x, lambda x: operator.concat(x, x)):
        with pytest.raises(TypeError):
            sequence(x)
    assert not np.iterable(x) and np.ndim(x) == 0
    for made in (np.array([x, x]), np.array([[x], [x]]), np.full(3, x), np.array(x)):
        assert made.dtype == a.dtype and (made == x).all()
    assert np.array([[x], [x]]).shape == (2, 1)
    assert np.array([x, [x]], dtype=object).tolist() == [x, [x]]


def test_scalars_of_what_only_moves_are_indexed_by_nothing_only():
    a = np.zeros(2, dtype=Unique)
    a[0] = "5"
    x = a[0]
    assert x[()] is x
    with pytest.raises(TypeError, match="would need a copy, and denizen_sorting.Unique has none"):
        x[...]
    with pytest.raises(IndexError):
        x[0]
    assert str(a[0]) == "5"


@pytest.mark.parametrize("element", [denizen.Integer, denizen.Rational])
def test_subclasses_of_bundled_scalars_are_indexed_and_no_sequences(element):
    class Derived(element):
        pass

    x = Derived(3)
    assert x[()] is x and x[None].tolist() == [3]
    with pytest.raises(TypeError, match="not iterable"):
        iter(x)


@pytest.mark.parametrize("element", [denizen.Integer, denizen.Rational])
def test_numpy_says_how_arrays_differ(element):
    a = np.array([1, 2, 3]).astype(element)
    try:
        # It asks the largest difference for its size to print it.
        np.testing.assert_array_equal(a, np.array([1, 2, 5]).astype(element))
    except AssertionError as error:
        assert "Max absolute difference among violations: 2" in str(error)
    else:
        pytest.fail("they differ")


def test_an_exception_on_its_way_survives_the_end_of_a_scalar():
    def fail():
        x = Number(5)  # ends while the exception is on its way
        raise KeyError(str(x))

    with pytest.raises(KeyError, match="5"):
        fail()
