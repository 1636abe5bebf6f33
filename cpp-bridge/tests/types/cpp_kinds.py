"""The element types of cpp_types and what the tests beside this file do with all of them."""

import gc

import cpp_types
import numpy as np
from balance import OWN_COUNTERS

import denizen

SPOTS = [
    "make", "value", "copy", "move", "assign", "add", "multiply", "compare", "equal", "parse",
    "text", "cast", "hash", "truth", "heap", "save", "load", "from_python", "destroy",
]  # fmt: skip

THROWERS = ["Inline", "Tagged", "Boxed", "FreeInline", "FreeTagged", "FreeBoxed"]
ALIGNED = {"Aligned16": 16, "Aligned32": 32, "Aligned64": 64, "Aligned128": 128}
BAD_ENDS = ["BadEnd", "BadEndBoxed"]
DEFAULTS = [*THROWERS, "SelfPointing", *ALIGNED, *BAD_ENDS]
INTEGERS = [*DEFAULTS, "NoDefault"]
ALL = [*INTEGERS, "Nothing"]
FREE = ["FreeInline", "FreeTagged", "FreeBoxed"]
ADOPTABLE = ["Inline", "FreeInline", "NoDefault", "Aligned16"]

OWN_COUNTERS["cpp_types"] = {
    f"{name} {figure}": lambda module, name=name, figure=figure: module.counters(name)[figure]
    for name in ALL
    for figure in ("live", "misused")
}


def element(name):
    return getattr(cpp_types, name)


def array(name, values):
    return np.asarray(values, dtype=np.int64).astype(element(name))


def numbers(array):
    return array.astype(np.int64).ravel().tolist()


def live(name):
    """By the type's own books and by the runtime's."""
    return cpp_types.counters(name)["live"], denizen.stats()[f"cpp_types.{name}"]["live"]


def counted(name, work):
    """What `work` returns, and how the figures of both books changed."""
    gc.collect()
    before, own = denizen.stats()[f"cpp_types.{name}"], cpp_types.counters(name)
    result = work()
    gc.collect()
    after, now = denizen.stats()[f"cpp_types.{name}"], cpp_types.counters(name)
    change = {key: after[key] - before[key] for key in ("constructed", "destroyed", "live")}
    change |= {f"own {key}": now[key] - own[key] for key in now}
    return result, change


def defuse():
    for spot in SPOTS:
        cpp_types.set_fuse(spot, -1)
