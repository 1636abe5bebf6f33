"""The end of a process, and forks, with arrays of C++ types that check themselves: one that is
destroyed twice, or used after its end, says so on stderr."""

import pytest
from support.process import run

ARRAYS = """
import gc, os, threading, time, warnings
import numpy as np
import denizen, cpp_types, standard
warnings.simplefilter("ignore")
NAMES = [
    "Inline", "Tagged", "Boxed", "FreeInline", "FreeTagged", "FreeBoxed", "NoDefault", "SelfPointing",
    "Aligned64",
]

def make_arrays():
    made = [np.arange(600).astype(getattr(cpp_types, name)) for name in NAMES]
    made += [cpp_types.adopt(name, list(range(600))) for name in ("Inline", "FreeInline")]
    made.append(np.array(["short", "long " * 20], dtype=standard.String))
    return made

def use(array):
    copied = array.copy()
    copied[...] = array[::-1]
    copied.sort()
    assert len(str(copied[0])) > 0
"""
PLACES = {
    "a module": "pass",
    "builtins": "import builtins; builtins.kept = arrays; del arrays",
    "a cycle": "arrays.append(arrays)",
    "atexit": "import atexit; atexit.register(lambda: [use(a) for a in arrays] and make_arrays())",
    "thread locals": "local = threading.local(); local.kept = arrays; del arrays",
    "scalars": "kept = [a[1] for a in arrays]",
    "a destructor": """
class Uses:
    def __init__(self, arrays): self.arrays = arrays
    def __del__(self, use=use):
        for array in self.arrays: use(array)
kept = Uses(arrays); kept.me = kept
""",
    "daemon threads": """
def work():
    while True: [use(a) for a in arrays]
def views():
    while True:
        cpp_types.read_free("FreeInline", arrays[3])
        cpp_types.read_free("FreeBoxed", arrays[5])
for target in (work, work, views, views): threading.Thread(target=target, daemon=True).start()
time.sleep(0.1)
""",
}


@pytest.mark.parametrize("place", PLACES)
def test_cpp_objects_that_live_to_the_end_do_no_harm(place):
    run(ARRAYS + "arrays = make_arrays()\n[use(a) for a in arrays]\n" + PLACES[place], arrays=False)


def test_a_python_function_in_a_cpp_object_that_ends_uses_its_own_array():
    """`Function` holds one; its last object to go lets it go, and its destructor runs then."""
    printed = run(
        ARRAYS
        + """
import builtins
class Doubles:
    def __call__(self, x): return 2 * x
    def __del__(self, write=os.write):
        # The array that it was an element of, in the middle of whatever goes on there.
        a = getattr(builtins, "a", None)
        if a is not None: str(a[0]), denizen.inspect(a), a.__setitem__(2, abs)
        write(1, b"ended ")
builtins.a = np.zeros(6, dtype=standard.Function)
for index in (0, 1, 3, 4): builtins.a[index] = Doubles()
builtins.a[0] = abs                      # in an assignment
builtins.a[1:4] = builtins.a[:3]         # in a copy
builtins.a.resize(3, refcheck=False)     # with the tail
builtins.a[0] = Doubles()                # at the end of the process
""",
        arrays=False,
    )
    assert printed.split() == ["ended"] * 5


def test_forks_beside_views_that_are_held_without_the_gil():
    run(
        ARRAYS
        + """
arrays = make_arrays()
free, boxed, own = arrays[3], arrays[5], arrays[10]
going = True
def read():
    while going: cpp_types.read_free("FreeInline", free), cpp_types.read_free("FreeBoxed", boxed)
def write():
    mine = np.arange(5000).astype(cpp_types.FreeTagged)
    while going: cpp_types.raise_free("FreeTagged", mine, 3)
threads = [threading.Thread(target=target) for target in (read, read, write, write)]
for thread in threads: thread.start()
for round in range(10):
    pid = os.fork()
    if pid == 0:
        signal.alarm(150)
        # Lent in the parent, to threads that are not here: which of them holds a view is not known, so what is
        # lent to read stays so.
        assert cpp_types.read_free("FreeInline", free) == 600 * 599 // 2
        assert cpp_types.read_free("FreeBoxed", boxed[::-1].copy()) == 600 * 599 // 2
        try: free[:] = free[::-1].copy()
        except denizen.BorrowError: pass
        try: cpp_types.raise_free("FreeBoxed", boxed, 1)
        except denizen.BorrowError: pass
        for array in make_arrays(): use(array)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
going = False
for thread in threads: thread.join()
assert cpp_types.read_free("FreeInline", free) == 600 * 599 // 2
del threads, thread
gc.collect()
for name in NAMES: assert cpp_types.counters(name)["misused"] == 0
""",
        arrays=False,
    )
