"""Views and arrays in functions of pybind11 and nanobind, of a type that another module made."""

import gc
import sys

import cpp_data
import cpp_data_nanobind
import cpp_data_pybind11
import numpy as np
import pytest
from support.balance import OWN_COUNTERS

import denizen

MODULES = {"pybind11": cpp_data_pybind11, "nanobind": cpp_data_nanobind}
# An object may end in another module than it began in: their sum is what counts.
OWN_COUNTERS["cpp_data_pybind11"] = {
    "and all others, live": lambda _: sum(
        [cpp_data.counters()[0], *(module.live() for module in MODULES.values())]
    )
}


@pytest.fixture(params=MODULES)
def module(request):
    return MODULES[request.param]


def inlines(*values):
    return cpp_data.take_inline(values, -1)


@pytest.mark.short
def test_handles_of_the_library_are_viewed(module):
    a = inlines(3, 4, 5)
    references = sys.getrefcount(a)
    assert module.total(a) == 12 and module.first(a[1:]) == 4
    seen = []
    module.count_up(a[::-1], seen.append)
    assert seen == [6, 5, 4] and module.total(a) == 15
    assert module.read(a[0]) == 4 and module.read("7") == 7
    assert sys.getrefcount(a) == references


def test_arrays_are_arguments_and_results(module):
    a = module.zeros(3)
    assert a.dtype == np.dtype(cpp_data.Inline) and sys.getrefcount(a) == 2
    assert module.total(a) == 0
    for wrong in (np.zeros(3), [1], None):
        with pytest.raises(TypeError, match="numpy.ndarray"):
            module.total(wrong)


def test_vectors_and_owners_of_the_library_are_adopted(module):
    a = module.adopt(3)
    assert denizen.owner(a) == "adopted" and module.total(a) == 0
    owner = [1]
    references = sys.getrefcount(owner)
    b = module.adopt_with(owner)
    assert denizen.owner(b) == "adopted" and sys.getrefcount(owner) == references + 1
    del a, b
    gc.collect()
    assert sys.getrefcount(owner) == references


class Own(Exception):
    pass


def test_exceptions_arrive_as_themselves_and_give_the_view_back(module):
    a = inlines(1, 2)
    with pytest.raises(TypeError, match=r"expected an array of cpp_data\.Inline, got an array of"):
        module.first(np.zeros(2))
    with pytest.raises(IndexError, match=r"index \(0,\) is outside the shape \(0,\)"):
        module.first(a[:0])
    with pytest.raises(ValueError, match="not a number"):
        module.read("x")
    exception = Own()

    def fails(_):
        raise exception

    with pytest.raises(Own) as caught:
        module.count_up(a, fails)
    assert caught.value is exception
    with pytest.raises(denizen.BorrowError):
        module.count_up(a, lambda _: module.first(a))
    twice = np.broadcast_to(a, (2, 2))
    twice.flags.writeable = True
    with pytest.raises(denizen.BorrowError, match="overlap"):
        module.count_up(twice, fails)
    assert module.first(a) == 3
