"""The storages that the tests of C++ data run for."""

import gc

import numpy as np
from support.balance import OWN_COUNTERS

import denizen

OWN_COUNTERS["cpp_data"] = {"live": lambda module: module.counters()[0]}

STORAGES = {"inline": "Inline", "tagged": "Tagged", "boxed": "Boxed"}
FILL, REFUSE, KEEP = 0, 1, 2


class Storage:
    """The functions of the module for one element type."""

    def __init__(self, module, name, class_name):
        self.module, self.name = module, name
        self.dtype = getattr(module, class_name)
        self.full_name = f"cpp_data.{class_name}"

    def __getattr__(self, function):
        return getattr(self.module, f"{function}_{self.name}")

    def module_dtype(self):
        """What array<T>::dtype() returns."""
        return getattr(self.module, f"dtype_{self.name}")()

    def array(self, shape, start=1):
        """start, start + 1, .. in C order."""
        count = int(np.prod(shape))
        return self.take(list(range(start, start + count)), -1, [*np.atleast_1d(shape).tolist()])

    def live(self):
        gc.collect()
        return denizen.stats()[self.full_name]["live"]


def values(storage, array):
    """As Python sees them."""
    return [int(str(x)) for x in array.ravel()]
