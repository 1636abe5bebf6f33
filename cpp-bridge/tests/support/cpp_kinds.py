"""The element types of cpp_types, and of the examples, as kinds for the regressions; what the tests beside
this file do with those of cpp_types."""

import gc
import importlib

import cpp_types
import intervals
import numpy as np
import polynomials
import rotations
import standard
from support.balance import OWN_COUNTERS
from support.kind import Kind, item_by_item

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

OWN_COUNTERS["standard"] = {"points": lambda module: module.live_points()}


def element(name):
    return getattr(cpp_types, name)


def array(name, values):
    return np.asarray(values, dtype=np.int64).astype(element(name))


def numbers(array):
    return array.astype(np.int64).ravel().tolist()


def live(name):
    """By the type's own counters and by the runtime's."""
    return cpp_types.counters(name)["live"], denizen.stats()[f"cpp_types.{name}"]["live"]


def counted(name, work):
    """What `work` returns, and how both figures changed."""
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


# ---- as kinds ------------------------------------------------------------------------------------


def optional(name):
    """A module that is built only where a library is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def rotations_of(element, sources):
    return item_by_item(element, [element(axis, angle) for axis, angle in sources])


DUALS = (1.5, -3.0, 0.25, 8.0, 7.0, -1.0, 2.0, 6.5)
WHOLE = ("5", "-3", "17", "2", "40", "11", "-8", "9")

KINDS = {
    name: Kind(
        element(name),
        WHOLE,
        default=None if name == "NoDefault" else "0",
        number=np.int64,
        plain=int,
        ordered=True,
        pickles=True,
        strict_text=False,
        nonsense=("random", "always", "never"),
        misbehave=lambda how: cpp_types.misbehave(how),
        fail_after=lambda count: cpp_types.set_fuse("compare", count),
    )
    for name in INTEGERS
}
KINDS |= {
    "Nothing": Kind(
        cpp_types.Nothing,
        ("nothing",),
        default="nothing",
        ordered=True,
        pickles=True,
        strict_text=False,
    ),
    "String": Kind(
        standard.String,
        ("pear", "fig", "x" * 40, "apple", "date", "kiwi" * 10, "a", "plum"),
        default="",
        plain=str,
        ordered=True,
        pickles=True,
    ),
    "Doubles": Kind(
        standard.Doubles,
        ([1, 2], [3.5], [2], [1, 2, 3], [-1], [0], [7, 7], [8]),
        default="[]",
        build=item_by_item,
        ordered=True,
        pickles=True,
        takes=("list",),
    ),
    "SharedPoint": Kind(
        standard.SharedPoint,
        ((1, 2), (3, 4), (0, 0), (5, 1), (2, 2), (6, 0), (7, 1), (1, 1)),
        default="null",
        build=item_by_item,
        takes=("NoneType",),
    ),
    "Function": Kind(
        standard.Function,
        (abs, lambda x: x + 1, lambda x: 2 * x, lambda x: -x, float, lambda x: 3.0, hash, round),
        default="nothing",
        build=item_by_item,
        text_of=lambda f: str(f * 2.5) if f else "nothing",
        takes=("type",),
    ),
    "OwnedPoint": Kind(
        standard.OwnedPoint,
        ((1, 2), (3, 4), (9, 0), (5, 1), (2, 2), (6, 0), (7, 1), (1, 1)),
        default="null",
        build=item_by_item,
        ordered=True,
        copyable=False,
        takes=("NoneType",),
    ),
    "Interval": Kind(
        intervals.Interval,
        ((0, 1), (2, 5), (-1, 1), (3, 3), (0, 9), (4, 5), (1, 2), (6, 8)),
        default="Interval[0, 0]",
        own_scalar=False,
        build=lambda element, sources: np.array([element(*bounds) for bounds in sources]),
    ),
    "Rotation": Kind(
        rotations.Rotation,
        tuple(((0, 0, 1), angle / 10) for angle in range(1, 9)),
        default="Rotation by 0.000000",
        own_scalar=False,
        build=rotations_of,
    ),
    "Polynomial": Kind(
        polynomials.Polynomial,
        ([1, 1], [0, 0, 2], [5], [1], [0, 3], [2, 2], [7], [0, 0, 0, 1]),
        default="0",
        build=lambda element, sources: item_by_item(element, [element(c) for c in sources]),
        takes=("list",),
    ),
}

#: Those that tests run for without `--all-types`, beside the typical ones of Rust.
TYPICAL = {
    "FreeTagged": "tagged, without the GIL",
    "Inline": "inline, with the GIL",
    "Aligned128": "boxed, over-aligned",
    "String": "of the standard library, variable text",
    "Function": "holds Python objects; no order, no pickles",
    "Interval": "the class of a binding library",
    "OwnedPoint": "moves only",
}
if real := optional("real"):
    KINDS["real"] = Kind(
        real.real,
        ("1.5", "-3", "0.25", "100", "7", "-0.5", "2", "9"),
        default="0.0",
        number=np.float64,
        plain=float,
        ordered=True,
        pickles=True,
    )
if autodiff := optional("autodiff"):
    KINDS["autodiff.Dual"] = Kind(
        autodiff.Dual,
        DUALS,
        default="0",
        # With derivatives by eight variables, whatever the number of elements.
        build=lambda element, sources: autodiff.variable(DUALS)[np.arange(len(sources)) % 8],
        number=np.float64,
        plain=lambda text: float(text.split()[0]),
        ordered=True,
    )
