"""What the tests of the core of the C++ interface share."""

import cpp_core
import numpy as np
from support.balance import OWN_COUNTERS

#: The types that count their objects.
COUNTED = [
    "HeapNumber", "LazyNumber", "Ticket", "Coordinate", "Anchored", "Wide", "HotPotato", "Plain",
]  # fmt: skip
OWN_COUNTERS["cpp_core"] = {name: lambda module, name=name: module.live(name) for name in COUNTED}


def floats(array):
    return array.astype(float, casting="unsafe").tolist()


def numbers(*values, dtype=cpp_core.HeapNumber):
    return np.array(values, dtype=float).astype(dtype)


def integers(*values, dtype):
    return np.array(values, dtype=np.int64).astype(dtype)
