"""C++ modules whose registrations fail, that are closed, and that share a type which is not the same
to both of them."""

import sys
import types

import cpp_registration
import numpy as np
import pytest
from support.heap import assert_flat
from support.process import run

FAILURES = {
    "ufunc": (AttributeError, "no ufunc 'no_such_ufunc'"),
    "operands": (ValueError, "has 1 inputs"),
    "identity": (AttributeError, "no ufunc 'no_such_ufunc'"),
    "class": (TypeError, "takes no attributes"),
    "name": (ValueError, "must be `module.Name`"),
    "taken": (ValueError, "registered the element type denizen.Integer already"),
    "no cast": (ValueError, "needs a cast"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_builder_whose_registration_fails_gives_up_all_that_it_holds(kind):
    error, message = FAILURES[kind]
    module, held = types.ModuleType("cpp_registration"), object()

    def attempt():
        try:
            cpp_registration.fail(kind, module, held)
        except error as raised:
            return str(raised)
        raise AssertionError("it was registered")

    assert message in attempt()
    references, captures = sys.getrefcount(held), cpp_registration.captures()
    classes = len(np.dtype.__subclasses__())
    assert_flat(attempt, 1000)
    assert (sys.getrefcount(held), cpp_registration.captures()) == (references, captures)
    assert len(np.dtype.__subclasses__()) == classes


LATE = """
import gc, types
import numpy as np
import denizen, cpp_registration
from support.heap import assert_flat

class Refusing(types.ModuleType):
    def __setattr__(self, name, value):
        if name == "Late":
            super().__setattr__("array", np.zeros(5, value))
        if name == "LateDType":
            raise RuntimeError("not here")
        super().__setattr__(name, value)

def fail(module, error, message):
    try:
        cpp_registration.fail("late", module, held)
    except error as raised:
        assert message in str(raised), raised
    else:
        raise AssertionError

held = object()
module = Refusing("late")
fail(module, RuntimeError, "not here")
"""


def test_a_builder_whose_registration_fails_late_stays_and_a_second_attempt_leaves_nothing():
    run(
        LATE
        + """
captures = cpp_registration.captures()
assert captures > 0
assert_flat(lambda: fail(module, ValueError, "the name stays taken"), 300)
assert cpp_registration.captures() == captures
# Neither does T stand for another type.
fail(Refusing("later"), ValueError, "its C++ type is known in this module as late.Late already")
assert cpp_registration.captures() == captures
""",
        arrays=False,
    )


def test_who_caught_the_dtype_of_a_registration_that_failed_late_may_use_it():
    run(
        LATE
        + """
array = module.array
copied = array.copy()
copied[:] = array[::-1]
copied.sort()
assert [str(x) for x in copied.astype(object)] == ["7"] * 5
del array, copied, module.array
gc.collect()
[dtype] = [made for made in np.dtype.__subclasses__() if made.__name__ == "LateDType"]
try:
    dtype()
except TypeError as error:
    assert "its registration failed" in str(error)
else:
    raise AssertionError
""",
        arrays=False,
    )


def test_a_cpp_library_that_is_closed_while_arrays_live_stays():
    run(
        f"""
import _ctypes, ctypes, gc, shutil, tempfile, types
import numpy as np
import denizen

with tempfile.TemporaryDirectory() as directory:
    # No module of Python's: a copy that ctypes opens.
    path = shutil.copy({cpp_registration.__file__!r}, directory + "/plain.so")
    library = ctypes.PyDLL(path)
    function = library.register_closed
    function.argtypes = [ctypes.py_object]
    module = types.ModuleType("closed")
    assert function(module) == 0
    a = np.zeros(2000, dtype=module.Number)
    a[::2] = (-a)[::2]
    for _ in range(3):
        try:
            _ctypes.dlclose(library._handle)
        except OSError:
            break
    with open("/proc/self/maps") as maps:
        assert path in maps.read()
b = a + a
b.sort()
assert (b.astype(float)[0], b.sum().dtype) == (-14, a.dtype)
assert str(a[1]) == "7"
a.resize(5000, refcheck=False)
del a
gc.collect()
del b
gc.collect()
""",
        arrays=False,
    )


DIFFERENT = {
    "Sized": r"objects of 32 bytes aligned to 8, not of 576 bytes aligned to 8",
    "Aligned": r"objects of 64 bytes aligned to 32, not of 64 bytes aligned to 64",
    "Promised": r"the meaning of zero bytes the default value, not vacant",
    "Telling": r"vacancy bytes 8 from 8, not 8 from 0",
}


def test_a_type_that_is_the_same_in_both_modules_is_shared():
    import cpp_shared_other
    import cpp_shared_owner
    import cpp_shared_same

    array = np.zeros(3, dtype=cpp_shared_owner.Agreed)
    for other in (cpp_shared_same, cpp_shared_other):
        other.share("Agreed")
        assert other.total(array) == 30
    for name in [*DIFFERENT, "Stored"]:
        cpp_shared_same.share(name)


def test_a_type_that_is_stored_in_another_way_is_not_shared():
    import cpp_shared_other

    message = r"registered as the type C\+\+ 6stored, tagged, not C\+\+ 6stored, boxed"
    with pytest.raises(TypeError, match=message):
        cpp_shared_other.share("Stored")


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_type_that_a_macro_or_a_flag_makes_another_is_not_shared(name):
    import cpp_shared_other
    import cpp_shared_owner

    assert hasattr(cpp_shared_owner, name)
    message = rf"^cpp_shared_owner\.{name} was registered with {DIFFERENT[name]}: .*-march"
    with pytest.raises(TypeError, match=message):
        cpp_shared_other.share(name)
