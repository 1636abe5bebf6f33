"""What is attacked: arrays of a hostile type in memory of each kind."""

import importlib
import pickle
from functools import cached_property

import numpy as np

from denizen.check.subject import Subject
from denizen.check.subject.element import Element, Probe

#: Where the types are. Those of C++ are there only where they were built.
MODULES = ("denizen_hostile", "cpp_hostile")
ABILITIES = frozenset(
    "ordering arithmetic division equality text codec copy default numbers counting".split()
)


def managed(element, array):
    """The array that has the cells, which can be resized: NumPy gives a view of it."""
    owner = array.base
    return owner if owner is not None and owner.shape == array.shape else array


def unpickled(element, array):
    return pickle.loads(pickle.dumps(array))


def packed(element, array):
    """A field of records at an odd offset."""
    records = np.zeros(array.shape, dtype=[("tag", "u1"), ("x", array.dtype)])
    records["x"] = array
    return records["x"]


def aligned(element, array):
    records = np.zeros(array.shape, dtype=[("x", array.dtype), ("n", "i8")])
    records["x"] = array
    return records["x"]


def strided(element, array):
    wide = np.zeros((*array.shape, 2), dtype=array.dtype)
    wide[..., 1] = array
    return wide[..., 1]


def adopted(element, array):
    """Memory that the client owns."""
    module = importlib.import_module(element.name.partition(".")[0])
    return module.adopt(element.scalar.__name__, array.astype(np.int64).ravel()).reshape(
        array.shape
    )


MEMORY = {
    "managed": managed,
    "unpickled": unpickled,
    "packed": packed,
    "aligned": aligned,
    "strided": strided,
    "adopted": adopted,
}


class Target(Subject):
    """A subject whose arrays are in memory of one kind."""

    def __init__(self, element, memory):
        self._memory = MEMORY[memory]
        super().__init__(element)

    def _handed(self, array):
        """Kept as they are: NumPy resizes no array that something has a weak reference to."""
        moved = self._memory(self._element, array)
        self.handed.append(lambda: moved)
        return moved

    def forget(self):
        """Lets its arrays go; an operation has what it needs."""
        self.handed.clear()
        for name in ("a", "b", "h", "m", "large"):
            self.__dict__.pop(name, None)

    @cached_property
    def large(self):
        """So many elements that NumPy lets the GIL go, where the type allows that."""
        values = self.values if "copy" in self._element.abilities else list(range(24))
        return self.array((values * 25)[:600])

    def prime(self, title):
        """What an operation asks for is there before a hook is armed."""
        if title.startswith("large: "):
            return self.values, self.large
        return self.values, self.a, self.b, self.h, self.m


def element(module, name):
    """A hostile type, as `denizen check` would have found it."""
    scalar = getattr(importlib.import_module(module), name)
    copies = name != "Only"
    abilities = ABILITIES if copies else ABILITIES - {"copy"}
    return Element(np.dtype(scalar), Probe(0, 24, abilities, "equality"))


def cells(module):
    """The types of a module, with each kind of memory that suits them."""
    for name in importlib.import_module(module).types():
        for memory in MEMORY:
            if memory == "adopted" and not (module == "cpp_hostile" and "Inline" in name):
                continue
            # Objects that only move are neither copied into records nor unpickled.
            if name == "Only" and memory != "managed":
                continue
            yield name, memory
