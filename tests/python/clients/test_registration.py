"""Registrations that fail leave nothing; types are shared by those who agree on them."""

import sys
import types
from ctypes import addressof

import numpy as np
import pytest
from support.c_table import (
    API,
    Operand,
    VTable,
    cast_spec,
    constant,
    identity,
    loop,
    operand,
    operands,
    register,
    spec,
    text,
    vtable,
)
from support.heap import assert_flat
from support.process import run

# ---- before NumPy hears of it --------------------------------------------------------------------


NAME = "failing.Type"


def pair(*kinds):
    array = (Operand * len(kinds))(*kinds)
    _KEPT.append(array)
    return addressof(array)


_KEPT = []


def immutable(**members):
    return spec(vtable(NAME), scalar_class=id(int), **members)


class Foreign:
    """A scalar class that has a dtype already."""


def foreign_class():
    if not hasattr(Foreign, "dtype"):
        register(
            types.ModuleType("failing"),
            spec(vtable("failing.Foreign"), scalar_class=id(Foreign)),
        )
    return spec(vtable(NAME), scalar_class=id(Foreign))


def many_good_loops(bad):
    """The mistake comes last, when much has been looked at."""
    names = ["negative", "positive", "absolute", "conjugate", "square", "sqrt"]
    good = [loop(ufunc=text(name)) for name in names]
    casts = [cast_spec(number) for number in (7, 8, 12)] + [cast_spec("self", 12)]
    return spec(vtable(NAME), [*good, bad], casts, [identity(ufunc=text("add"))])


UNKNOWN_ELEMENT = Operand(kind=constant("OPERAND_ELEMENT"), element=64)


#: What is wrong, the exception, and its message.
FAILURES = {
    "vtable": (lambda: spec(vtable(NAME, size=12)), ValueError, "`size`, 12"),
    "storage": (
        lambda: spec(vtable(NAME, align=32, size=32, vacancy_size=32)),
        ValueError,
        "store it boxed",
    ),
    "object": (
        lambda: spec(vtable(NAME, object_size=16, object_align=8)),
        ValueError,
        "does not fit",
    ),
    "object's alignment": (
        lambda: spec(vtable(NAME, object_size=8, object_align=3)),
        ValueError,
        "`object_align`, 3",
    ),
    "name": (lambda: spec(vtable("NoModule")), ValueError, "must be `module.Name`"),
    "name taken": (lambda: spec(vtable("denizen.Integer")), ValueError, "already"),
    "large": (lambda: spec(vtable(NAME, size=1 << 31, vacancy_size=8)), TypeError, "too large"),
    "ufunc": (
        lambda: many_good_loops(loop(ufunc=text("no_such_ufunc"))),
        AttributeError,
        "no ufunc",
    ),
    "module": (
        lambda: many_good_loops(loop(ufunc=text("no_such_module:f"))),
        ModuleNotFoundError,
        "no_such",
    ),
    "no ufunc": (
        lambda: many_good_loops(loop(ufunc=text("ndarray"))),
        TypeError,
        "is no ufunc but",
    ),
    "like a ufunc": (
        lambda: many_good_loops(loop(ufunc=text("support.like_a_ufunc:like_a_ufunc"))),
        TypeError,
        "is no ufunc but",
    ),
    "operands": (lambda: many_good_loops(loop(input_count=2)), ValueError, "has 2 inputs"),
    "kind": (
        lambda: many_good_loops(loop(operands=pair(operand("self"), Operand(kind=9)))),
        ValueError,
        "unknown kind 9",
    ),
    "element": (
        lambda: many_good_loops(loop(operands=pair(operand("self"), UNKNOWN_ELEMENT))),
        ValueError,
        "not registered",
    ),
    "number": (
        lambda: many_good_loops(loop(operands=operands("self", 9999))),
        ValueError,
        "`numpy_type` 9999",
    ),
    # NumPy takes 100 for the letter d, a double.
    "letter": (
        lambda: many_good_loops(loop(operands=operands("self", 100))),
        ValueError,
        "`numpy_type` 100",
    ),
    "no number": (
        lambda: many_good_loops(loop(operands=operands("self", 18))),
        ValueError,
        "`numpy_type` 18",
    ),
    "other's loop": (
        lambda: many_good_loops(loop(operands=operands(12, 12))),
        ValueError,
        "no operand of the type itself",
    ),
    "loop twice": (lambda: many_good_loops(loop()), ValueError, "two loops for negative"),
    "no function": (lambda: many_good_loops(loop(function=0)), ValueError, "`function` is NULL"),
    "no cast": (
        lambda: spec(vtable(NAME), [loop(function=0, operands=operands(12, 12))]),
        ValueError,
        "needs a cast",
    ),
    "cast": (lambda: spec(vtable(NAME), casts=[cast_spec(9999)]), ValueError, "type number 9999"),
    "cast twice": (
        lambda: spec(vtable(NAME), casts=[cast_spec(), cast_spec()]),
        ValueError,
        "twice",
    ),
    "level": (
        lambda: spec(vtable(NAME), casts=[cast_spec(level=7)]),
        ValueError,
        "7 is no casting",
    ),
    "identity": (
        lambda: spec(vtable(NAME), [loop()], identities=[identity(ufunc=text("no_such"))]),
        AttributeError,
        "no ufunc 'no_such'",
    ),
    "no class": (lambda: spec(vtable(NAME), scalar_class=id("x")), TypeError, "is no class"),
    "immutable class": (immutable, TypeError, "takes no attributes"),
    "class of another": (foreign_class, ValueError, "belongs to another dtype"),
    "class of NumPy's": (
        lambda: spec(vtable(NAME), scalar_class=id(np.float64)),
        TypeError,
        "takes no attributes",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_registration_that_fails_early_leaves_nothing(failure, monkeypatch):
    """Neither on the heap nor among Python's objects, nor in NumPy's list of classes."""
    # Pytest remembers the modules that were looked for.
    finders = [finder for finder in sys.meta_path if "pytest" not in type(finder).__module__]
    monkeypatch.setattr(sys, "meta_path", finders)
    make, error, message = FAILURES[failure]
    module, made = types.ModuleType("failing"), make()

    def attempt():
        try:
            API["register_element"](addressof(made), module, None)
        except error as raised:
            return str(raised)
        raise AssertionError("it was registered")

    assert message in attempt()
    classes = len(np.dtype.__subclasses__())
    assert_flat(attempt)
    assert len(np.dtype.__subclasses__()) == classes
    assert not hasattr(module, "Type")


def test_the_name_of_a_registration_that_failed_early_is_free():
    module = types.ModuleType("failing")
    with pytest.raises(ValueError, match="`numpy_type` 9999"):
        register(module, spec(vtable("failing.Free"), [loop(operands=operands("self", 9999))]))
    register(module, spec(vtable("failing.Free"), [loop()]))
    assert (-np.zeros(3, dtype=module.Free)).shape == (3,)


def test_a_bare_type_that_fails_leaves_nothing():
    table = vtable("failing.Bare", zero_bytes=constant("ZERO_DEFAULT"))

    def attempt():
        try:
            API["register_type"](addressof(table), None, None)
        except ValueError as error:
            assert "must be DENIZEN_ZERO_NO_PROMISE" in str(error)
        else:
            raise AssertionError("it was registered")

    assert_flat(attempt)


# ---- afterwards ----------------------------------------------------------------------------------

LATE = """
import ctypes, gc, sys, types
import numpy as np
import denizen
from ctypes import addressof
from support.c_table import API, loop, spec, text, vtable
from support.heap import assert_flat

class Refusing(types.ModuleType):
    '''Takes no DType class; keeps what it was offered.'''
    offered = {}
    def __setattr__(self, name, value):
        self.offered[name] = value
        if name.endswith("DType"):
            raise RuntimeError(f"no {name} here")
        super().__setattr__(name, value)

def found(name):
    [found] = [made for made in np.dtype.__subclasses__() if made.__name__ == name]
    return found

def refused(call, error, message):
    try:
        call()
    except error as raised:
        assert message in str(raised), raised
    else:
        raise AssertionError("it was not refused")
"""


def test_a_registration_that_fails_late_is_kept_and_cannot_be_used():
    run(
        LATE
        + """
module = Refusing("late")
made = spec(vtable("late.Type"), [loop()])
handle = ctypes.c_void_p()
register = lambda into=module: API["register_element"](addressof(made), into, ctypes.byref(handle))
refused(register, RuntimeError, "no TypeDType here")
assert handle.value, "the client is told that its functions stay"
assert not hasattr(module, "Type")
dtype = found("TypeDType")
scalar = module.offered["Type"]
for use in (dtype, lambda: np.zeros(3, dtype), lambda: np.empty(3, dtype), lambda: np.zeros(3, scalar),
            lambda: np.zeros(3).astype(dtype), lambda: np.array([1, 2], dtype)):
    refused(use, TypeError, "late.Type cannot be used: its registration failed")
refused(scalar, AttributeError, "dtype")
assert "late.Type" not in denizen.types()
refused(lambda: API["find_element"](text("late.Type"), 8, 8, None), LookupError, "late.Type")
# A second attempt is refused, and leaves nothing.
for into in (module, types.ModuleType("late")):
    refused(lambda: register(into), ValueError, "registration of late.Type by the module late")
    assert handle.value is None
assert_flat(lambda: refused(register, ValueError, "so the name stays taken"), 300)
assert [made.__name__ for made in np.dtype.__subclasses__()].count("TypeDType") == 1
# Others are as before.
other = types.ModuleType("late")
made = spec(vtable("late.Other"), [loop()])
assert register(other) == 0
assert str(np.zeros(2, other.Other).dtype) == "late.Other"
""",
        arrays=False,
    )


def test_who_holds_the_dtype_of_a_registration_that_failed_late_may_use_it():
    """Arrays that the refusing module made in the meantime work to their end."""
    run(
        LATE
        + """
module = Refusing("late")
made = spec(vtable("late.Type"), [loop()])
refused(lambda: API["register_element"](addressof(made), module, None), RuntimeError, "no TypeDType")
class Keeping(Refusing):
    def __setattr__(self, name, value):
        if name == "Type2":
            self.array = np.zeros(4, value)
            self.array[1:] = self.array[:3]
        super().__setattr__(name, value)
keeping = Keeping("late")
made = spec(vtable("late.Type2"), [loop()])
refused(lambda: API["register_element"](addressof(made), keeping, None), RuntimeError, "no Type2")
array = keeping.offered["array"]
for _ in range(3):
    copied = array.copy()
    copied[:] = array[::-1]
    # What picks the loop of a call knows nothing of the type any more.
    refused(lambda: -copied, TypeError, "no loop for late.Type2DType")
    array.resize(9, refcheck=False)
    assert str(array.dtype) == "late.Type2"
del array, copied
keeping.offered.clear()
del keeping.array
gc.collect()
""",
        arrays=False,
    )


# ---- sharing -------------------------------------------------------------------------------------


DIFFERENT = [
    ({"object_size": 576}, r"objects of 32 bytes aligned to 16, not of 576 bytes aligned to 16"),
    ({"object_align": 32}, r"objects of 32 bytes aligned to 16, not of 32 bytes aligned to 32"),
    ({"storage": "TAGGED"}, "the storage boxed, not tagged"),
    ({"storage": 77}, "the storage boxed, not the unknown 77"),
    ({"size": 16}, "cells of 8 bytes aligned to 8, not of 16 bytes aligned to 8"),
    ({"align": 4}, "cells of 8 bytes aligned to 8, not of 8 bytes aligned to 4"),
    ({"zero_bytes": "ZERO_DEFAULT"}, "the meaning of zero bytes vacant, not the default value"),
    ({"zero_bytes": "ZERO_NO_PROMISE"}, "the meaning of zero bytes vacant, not no promise"),
    ({"vacancy_size": 4}, "vacancy bytes 8 from 0, not 4 from 0"),
    ({"vacancy_offset": 4}, "vacancy bytes 8 from 0, not 8 from 4"),
]


def imported(full_name, **members):
    """The handle of a type that a client has with such members."""
    expected = vtable(full_name, **members)
    return API["import_element"](addressof(expected))


@pytest.fixture(scope="module")
def shared():
    """Members of a boxed type that is registered."""
    members = {
        "storage": constant("STORAGE_BOXED"),
        "zero_bytes": constant("ZERO_VACANT"),
        "language_name": text("struct shared"),
        "object_size": 32,
        "object_align": 16,
    }
    handle = register(types.ModuleType("sharing"), spec(vtable("sharing.Type", **members)))
    return handle, members


@pytest.mark.parametrize(("changes", "message"), DIFFERENT)
def test_a_type_that_differs_in_anything_that_shows_in_memory_is_not_shared(
    shared, changes, message
):
    _, members = shared
    prefix = {"storage": "STORAGE_", "zero_bytes": ""}
    for name, value in changes.items():
        told = constant(prefix[name] + value) if isinstance(value, str) else value
        members = members | {name: told}
    message = rf"^sharing\.Type was registered with {message}: .*same definition.*-march"
    with pytest.raises(TypeError, match=message):
        imported("sharing.Type", **members)


def test_a_type_of_another_name_in_its_language_is_not_shared(shared):
    _, members = shared
    # That comes first: all else may well differ then.
    members = members | {"language_name": text("struct other"), "object_size": 64}
    message = r"^sharing\.Type was registered as the type struct shared, not struct other$"
    with pytest.raises(TypeError, match=message):
        imported("sharing.Type", **members)


def test_a_type_that_agrees_is_shared(shared):
    handle, members = shared
    assert imported("sharing.Type", **members) == handle
    # Flags and functions are the registering module's alone.
    bare = members | {"flags": 0, "copy_construct": 0}
    assert imported("sharing.Type", **bare) == handle
    # What one side does not tell is not compared.
    untold = members | {"object_size": 0, "object_align": 0, "language_name": 0}
    assert imported("sharing.Type", **untold) == handle
    # A client of before 1.2 has shorter structs, and what follows them is not read.
    older = members | {"struct_size": VTable.object_size.offset, "object_size": 576}
    assert imported("sharing.Type", **older) == handle


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(LookupError, match=r"no element type sharing\.Nothing"):
        imported("sharing.Nothing")
    with pytest.raises(ValueError, match="element vtable: NULL"):
        API["import_element"](None)
    with pytest.raises(ValueError, match="`name` is missing"):
        imported("", name=0)
    with pytest.raises(ValueError, match=r"interface 2\.0"):
        imported("sharing.Type", abi_version=2 << 16)
