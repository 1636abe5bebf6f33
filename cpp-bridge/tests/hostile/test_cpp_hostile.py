"""What each hook of the hostile types of C++ does with the array at hand."""

import cpp_hostile
import numpy as np
import pytest
from support.balance import OWN_COUNTERS

import denizen

OWN_COUNTERS["cpp_hostile"] = {
    "live": lambda module: sum(count for _, count in module.live()),
    "violations": lambda module: len(module.violations()),
}


@pytest.mark.short
@pytest.mark.parametrize("name", cpp_hostile.types())
def test_what_a_hook_does_with_the_array_at_hand_is_done_or_refused(name):
    a = np.arange(10).astype(getattr(cpp_hostile, name))
    refused = []

    def write():
        try:
            a[...] = 7
        except denizen.BorrowError as error:
            refused.append(error)

    for hook, work in {
        "add": lambda: a + a,
        "clone": lambda: a.copy(),
        "compare": lambda: a.sort(),
        "to_float": lambda: a.astype(float),
    }.items():
        cpp_hostile.on(hook, write)
        work()
    cpp_hostile.off()
    assert len(refused) == 4
    assert a.astype(int).tolist() == list(range(10))
