"""What `denizen::element` makes of the operations of a C++ type."""

import pickle

import cpp_core
import numpy as np
import pytest
from core_numbers import floats, integers, numbers

import denizen

# ---- operations of T -----------------------------------------------------------------------------


@pytest.mark.short
def test_operators_become_ufuncs():
    a, b = numbers(3, 1, 2), numbers(4, 4, 4)
    assert floats(a + b) == [7, 5, 6]
    assert floats(a - b) == [-1, -3, -2]
    assert floats(a * b) == [12, 4, 8]
    assert floats(a / b) == [0.75, 0.25, 0.5]
    assert floats(-a) == [-3, -1, -2]
    assert floats(+a) == [3, 1, 2]
    assert (a < b).tolist() == [True] * 3
    assert (a == numbers(3, 3, 2)).tolist() == [True, False, True]
    assert floats(np.maximum(a, a[::-1])) == [3, 1, 3]
    assert floats(np.minimum(a, a[::-1])) == [2, 1, 2]


def test_results_that_convert_to_the_type_are_converted():
    a = np.zeros(2, cpp_core.LazyNumber)
    assert floats(a + a) == [2, 2], "the operator returns an expression"
    assert floats(np.logaddexp(a, a)) == [2, 2], "the callable returns an expression"


@pytest.mark.short
def test_arrays_of_all_storages_survive_what_numpy_does_to_them():
    for dtype in (cpp_core.HeapNumber, cpp_core.LazyNumber, cpp_core.Wide):
        a = numbers(*range(10), dtype=dtype)
        b = np.concatenate([a, a[::-2]])
        b = b[np.array([14, 0, 3])].copy()
        b[0] = a[4]
        assert floats(b) == [4, 0, 3]
        b.resize(5, refcheck=False)
        assert floats(b)[:3] == [4, 0, 3]
        b = np.add(a[:5], b, out=b)
        assert floats(b)[:3] == [4, 1, 5]
    a = integers(4, 1, 2, dtype=cpp_core.Anchored)
    a.sort()
    assert (a + a[::-1]).astype(int).tolist() == [5, 4, 5]
    assert a.repeat(2).take([5, 0]).astype(int).tolist() == [4, 1]


def test_assignment_reuses_the_objects_that_are_there():
    a, b = numbers(1, 2, 3), numbers(0, 0, 0)
    copied, assigned = cpp_core.copies()
    constructed = denizen.stats()["cpp_core.HeapNumber"]["constructed"]
    b[:] = a
    assert cpp_core.copies() == (copied, assigned + 3)
    assert denizen.stats()["cpp_core.HeapNumber"]["constructed"] == constructed


def test_vacant_cells_read_as_the_default_value():
    live = cpp_core.live("HeapNumber")
    a = np.zeros(3, cpp_core.HeapNumber)
    assert cpp_core.live("HeapNumber") == live
    assert floats(a + numbers(1, 2, 3)) == [1, 2, 3]
    assert floats(np.zeros(2, cpp_core.LazyNumber) * 2) == [2, 2]
    assert np.zeros(2, cpp_core.BoxedInt).tolist() == [3, 3], "default_with"
    a = np.zeros(3, cpp_core.HeapNumber)
    assert floats(np.hypot(a, a, out=a)) == [0, 0, 0], "a vacant output that is an input"


def test_a_type_without_a_default_value_says_so():
    a = np.zeros(3, cpp_core.Coordinate)
    for operation in (lambda: -a, lambda: a + a, lambda: a.astype(int), lambda: a == a):
        with pytest.raises(denizen.VacantError, match=r"cpp_core\.Coordinate has no default"):
            operation()
    b = integers(1, 2, dtype=cpp_core.Coordinate)
    assert (-b).astype(int).tolist() == [-1, -2], "an output is built as a copy of an input"
    assert (b + b).astype(int).tolist() == [2, 4]
    assert np.negative(b, out=b).astype(int).tolist() == [-1, -2]


def test_a_type_that_cannot_be_copied_says_so():
    a = integers(1, 2, dtype=cpp_core.Ticket)
    assert (a + a).astype(int).tolist() == [2, 4], "results are moved into their cells"
    for operation in (a.copy, lambda: np.concatenate([a, a]), lambda: a[[0, 1]]):
        with pytest.raises(TypeError, match=r"cpp_core\.Ticket is not copyable"):
            operation()
    assert a.astype(int).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (lambda a: a < a, r"'less' .*cpp_core\.PlainDType"),
        (lambda a: a + a, r"'add' .*cpp_core\.PlainDType"),
        (lambda a: a @ a, r"'matmul' .*cpp_core\.PlainDType"),
        (np.sort, r"cpp_core\.Plain"),
        (np.argsort, r"cpp_core\.Plain"),
        (np.max, r"'maximum' .*cpp_core\.Plain"),
        (np.argmax, "data type not ordered"),
        (lambda a: hash(a[0]), r"unhashable type: 'cpp_core\.Plain'"),
        (lambda a: bool(a[0]), r"cpp_core\.Plain"),
        (np.count_nonzero, r"cpp_core\.Plain"),
        (pickle.dumps, r"cpp_core\.Plain cannot be pickled: it has no codec and no text"),
        (lambda a: a.__setitem__(0, "1"), r"cpp_core\.Plain"),
        (lambda a: a.__setitem__(0, 1), r"cpp_core\.Plain"),
        (lambda a: a.astype(float), r"cpp_core\.Plain"),
    ],
)
def test_what_a_type_lacks_is_a_type_error_that_names_it(operation, message):
    a = np.zeros(3, cpp_core.Plain)
    with pytest.raises(TypeError, match=message):
        operation(a)


def test_objects_keep_the_alignment_that_they_need():
    a = numbers(*range(100), dtype=cpp_core.Wide)
    assert floats(a[::3] + a[::3]) == [6 * i for i in range(34)]


# ---- single values -------------------------------------------------------------------------------


def test_text_both_ways():
    a = np.array(["1.5", "2"], dtype=cpp_core.HeapNumber)
    assert [str(x) for x in a] == ["1.500000", "2.000000"]
    with pytest.raises(ValueError):
        a[0] = "x"
    assert floats(a) == [1.5, 2]
    assert cpp_core.HeapNumber.__doc__ == "A number on the heap."


def test_hash_truth_and_heap_bytes():
    a = numbers(1, 1, 0)
    assert hash(a[0]) == hash(a[1])
    assert a.nonzero()[0].tolist() == [0, 1]
    assert bool(a[0]) and not bool(a[2])
    assert denizen.inspect(a).heap_bytes == 24
    assert denizen.inspect(np.zeros(3, cpp_core.HeapNumber)).heap_bytes == 0
    assert len({*np.array(["x", "y", "x"], dtype=cpp_core.String)}) == 2


def test_pickles_keep_the_value():
    vectors = np.empty(3, cpp_core.Vector)
    vectors[0], vectors[2] = [1, 2], [0.1] * 100
    assert (pickle.loads(pickle.dumps(vectors)) == vectors).all()
    texts = np.array(["", "a\nb", "ä" * 100], dtype=cpp_core.String)
    assert [str(x) for x in pickle.loads(pickle.dumps(texts))] == ["", "a\nb", "ä" * 100]


def test_a_pickle_of_text_that_loses_the_value_is_refused():
    a = np.array([0.5, np.nan]).astype(cpp_core.Number)
    assert floats(pickle.loads(pickle.dumps(a)))[0] == 0.5
    with pytest.raises(TypeError, match=r"cpp_core\.Number cannot be pickled: its text .*codec"):
        pickle.dumps(np.array([1 / 3]).astype(cpp_core.Number))


def test_a_python_class_of_the_author():
    a = np.zeros(3, cpp_core.BoxedInt)
    a[1] = 10
    assert type(a[1]) is cpp_core.BoxedInt
    assert (a[1] + 1, a.tolist()) == (11, [3, 10, 3])
    with pytest.raises(OverflowError):
        a[0] = 2**100
    with pytest.raises(TypeError):
        a[0] = 1.5
    assert a.tolist() == [3, 10, 3]
    a[2] = -5
    with pytest.raises(KeyError, match="five"):
        a[2]
    a[2] = 0


def test_values_of_python_objects_and_their_exceptions():
    a = np.empty(2, cpp_core.Vector)
    a[0] = (1, 2)
    assert str(a[0]) == "vector of 2"
    for wrong in (["x"], [1, object()]):
        with pytest.raises(TypeError, match="must be real number"):
            a[0] = wrong
    assert [str(x) for x in a] == ["vector of 2", "vector of 0"]
    with pytest.raises(ValueError, match="different lengths"):
        a + a[::-1]


def test_strings_are_elements():
    a = np.array(["b", "a" * 100, ""], dtype=cpp_core.String)
    assert [str(x) for x in a + a] == ["bb", "a" * 200, ""]
    assert [str(x) for x in a * np.array([2, 1, 5])] == ["bb", "a" * 100, ""]
    assert [str(x) for x in np.sort(a)] == ["", "a" * 100, "b"]
    assert (a == a[::-1]).tolist() == [False, True, False]


# ---- promises and handles ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, r"cpp_core\.Liar: .*4liar points into itself.*is_trivially_relocatable is false"),
        (1, r"cpp_core\.ZeroLiar: .*has only zero bytes.*zero::vacant .*is false"),
        (2, r"cpp_core\.DefaultLiar: .*differs from its default value.*default_value, is false"),
    ],
)
def test_false_promises_are_found_in_debug_builds(number, message):
    with pytest.raises(TypeError, match=message):
        cpp_core.add_liar(number)
    assert not hasattr(cpp_core, message[10:14])


def test_a_default_that_initialises_nothing_may_be_zero():
    cpp_core.add_liar(8)
    assert floats(np.zeros(2, dtype=cpp_core.Unset)) == [0, 0]


def test_a_type_is_registered_once():
    with pytest.raises(
        ValueError, match=r"cpp_core \(.*cpp_core.*\) registered the element type .* already"
    ):
        cpp_core.add_liar(4)
    with pytest.raises(ValueError, match=r"known in this module as cpp_core\.HeapNumber already"):
        cpp_core.add_liar(5)
    assert floats(numbers(1) + numbers(2)) == [3]


def test_an_operand_of_an_unknown_type_is_refused():
    with pytest.raises(TypeError, match=r"8stranger is no element type in this module"):
        cpp_core.add_liar(7)


def test_a_type_of_another_module_is_shared_after_comparison():
    cpp_core.import_element("cpp_core.HeapNumber", 0)
    with pytest.raises(TypeError, match=r"C\+\+ 11heap_number, inline, not C\+\+ d, inline"):
        cpp_core.import_element("cpp_core.HeapNumber", 1)
    with pytest.raises(TypeError, match=r"Integer was registered as"):
        cpp_core.import_element("denizen.Integer", 0)
    with pytest.raises(LookupError, match=r"no element type cpp_core\.Nothing"):
        cpp_core.import_element("cpp_core.Nothing", 0)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        cpp_core.import_element("no_such_module.Nothing", 0)
    assert cpp_core.available()
