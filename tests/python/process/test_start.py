"""Imports: again, anew, in other interpreters, in odd order. And what the module says of the GIL."""

import ctypes
import sys

import pytest
from support.process import run

from denizen import _runtime

# ---- again ---------------------------------------------------------------------------------------


def test_an_import_anew_gives_the_same_types():
    run("""
        before = denizen
        arrays = make_arrays()
        for name in [n for n in sys.modules if n.partition(".")[0] == "denizen"]: del sys.modules[name]
        import denizen
        assert denizen is not before
        assert denizen.Integer is before.Integer and denizen.types() == before.types()
        assert denizen.BorrowError is before.BorrowError
        a = np.array([2**80], dtype=denizen.Integer)
        assert (a + arrays[0][:1])[0] == 2**80 + 2**100
        for array in arrays: use(array)
        with denizen.handler(): np.arange(5)
        denizen.inspect(a), denizen.stats()
    """)


def test_a_reload_changes_nothing():
    run("""
        import importlib
        arrays = make_arrays()
        integer = denizen.Integer
        for _ in range(3):
            importlib.reload(denizen)
            importlib.reload(denizen.linalg)
            importlib.reload(denizen._numpy_patches)
            for array in arrays: use(array)
        try: importlib.reload(denizen._runtime)
        except ImportError: pass
        assert denizen.Integer is integer
        assert np.linspace(integer(0), integer(1), 3).tolist()[1] * 2 == 1
        assert np.array([1, 2], dtype=integer).mean() * 2 == 3
        for array in arrays: use(array)
    """)


def test_a_client_that_is_imported_anew_says_what_is_the_matter():
    run("""
        arrays = make_arrays()
        bomb, name = raw.Bomb, raw.__name__
        for module in [m for m in sys.modules if m.startswith(("denizen_raw", "denizen_sorting"))]:
            del sys.modules[module]
        try: import denizen_raw
        except Exception as error:
            assert isinstance(error, (ImportError, ValueError, RuntimeError)), error
            assert "denizen_raw" in str(error) and "already" in str(error), error
        else: assert denizen_raw.Bomb is bomb
        for array in arrays: use(array)
    """)


def test_numpy_is_imported_anew_at_the_users_risk_and_nothing_crashes():
    run(
        """
        arrays = make_arrays()
        for name in [n for n in sys.modules if n.partition(".")[0] in ("numpy", "denizen")]:
            del sys.modules[name]
        try:
            import numpy
            import denizen
        except ImportError: pass
        """,
        stderr=lambda text: "Fatal" not in text,
    )


def test_modules_in_any_order():
    for first in ("denizen_raw", "denizen_sorting", "denizen._runtime", "denizen.linalg"):
        run(
            f"""
            import {first}
            import denizen, numpy as np
            assert {{"denizen.Integer", "denizen.Rational"}} <= set(denizen.types())
            np.zeros(4, dtype=denizen.Integer).sum()
            """,
            arrays=False,
        )


def test_threads_that_import_at_once():
    """The package and its clients. A package beside one of its own submodules is Python's affair, which
    finds a deadlock there; so it is with `numpy` and `numpy.linalg`."""
    run(
        """
        import threading
        start, failures = threading.Barrier(8), []
        def work(module):
            start.wait()
            try: __import__(module)
            except BaseException as error: failures.append(error)
        modules = ["denizen", "denizen_raw", "denizen_sorting", "denizen_example"] * 2
        threads = [threading.Thread(target=work, args=(module,)) for module in modules]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failures, failures
        import denizen, denizen_raw, numpy as np
        assert np.array(["5"], dtype=denizen_raw.Bomb)[0] is not None
        """,
        arrays=False,
    )


def test_threads_that_begin_their_first_audit_at_once():
    """Nor does a fork beside the first audit meet a lock: the tables of `sysconfig`, which Python
    fills when they are asked for, are not."""
    run(
        """
        import sysconfig, threading
        import denizen
        start, failures = threading.Barrier(8), []
        def work():
            start.wait()
            try:
                with denizen.audit(raises=False) as audit: pass
                audit.to_dict()
            except BaseException as error: failures.append(error)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failures, failures
        assert sysconfig._CONFIG_VARS is None
        """,
        arrays=False,
    )


# ---- interpreters --------------------------------------------------------------------------------

INTERPRETERS = """
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters

def make(isolated):
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if isolated else "legacy")
    return interpreters.create(isolated=isolated)

def run(interpreter, code):
    if sys.version_info >= (3, 13): return interpreters.exec(interpreter, code)
    return interpreters.run_string(interpreter, code)

TRY = f'''
import sys
sys.path[:] = {sys.path!r}
try:
    import MODULE
except ImportError as error:
    assert "denizen cannot be imported in a sub-interpreter" in str(error), error
else:
    raise AssertionError("imported")
'''
"""


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "legacy"])
@pytest.mark.parametrize("first", [True, False], ids=["after", "before the main one"])
def test_a_sub_interpreter_is_refused_and_the_main_one_goes_on(isolated, first):
    run(
        INTERPRETERS
        + ("import denizen" if first else "")
        + f"""
for module in ("denizen", "denizen._runtime", "denizen.linalg"):
    other = make({isolated})
    for _ in range(2): assert run(other, TRY.replace("MODULE", module)) is None
    interpreters.destroy(other)
import denizen, numpy as np
a = np.array([2**80, 3], dtype=denizen.Integer)
assert (a + a).tolist() == [2**81, 6]
other = make({isolated})
assert run(other, TRY.replace("MODULE", "denizen")) is None
a.sort()
interpreters.destroy(other)
assert a.tolist() == [3, 2**80]
""",
        arrays=False,
    )


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters is of Python 3.14")
def test_concurrent_interpreters_are_refused():
    run(
        """
        import denizen
        from concurrent import interpreters
        other = interpreters.create()
        try: other.exec("import denizen")
        except interpreters.ExecutionFailed as error: assert "sub-interpreter" in str(error)
        else: raise AssertionError
        other.close()
        """,
        arrays=False,
    )


# ---- the GIL -------------------------------------------------------------------------------------


@pytest.mark.regression("T43", "numpy/numpy#27199", "numpy/numpy#31415", "numpy/numpy#28813")
@pytest.mark.skipif(sys.version_info < (3, 13), reason="modules say it as of Python 3.13")
def test_the_module_says_that_it_needs_the_gil():
    """Support of free-threaded Python is not declared, as it was never run there."""
    PY_MOD_GIL, USED = 4, None

    class Slot(ctypes.Structure):
        _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]

    class Definition(ctypes.Structure):
        _fields_ = [
            ("base", ctypes.c_char * (object.__basicsize__ + 3 * ctypes.sizeof(ctypes.c_void_p))),
            *((name, ctypes.c_void_p) for name in ("name", "doc", "size", "methods")),
            ("slots", ctypes.POINTER(Slot)),
        ]

    get = ctypes.pythonapi.PyModule_GetDef
    get.restype, get.argtypes = ctypes.POINTER(Definition), [ctypes.py_object]
    slots = get(_runtime).contents.slots
    found, index = {}, 0
    while slots[index].slot:
        found[slots[index].slot] = slots[index].value
        index += 1
    assert found.get(PY_MOD_GIL, USED) is USED


def test_an_interpreter_whose_gil_is_off_is_refused():
    run(
        """
        sys._is_gil_enabled = lambda: False
        try: import denizen
        except ImportError as error: assert "needs the GIL" in str(error)
        else: raise AssertionError
        """,
        arrays=False,
    )
