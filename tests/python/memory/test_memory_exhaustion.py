"""Where memory runs out there is a MemoryError: the process lives, arrays stay usable, and no
object is lost."""

import subprocess
import sys

import pytest

ATTACK = """
import gc, random, resource
import numpy as np
import denizen

choice = random.Random(SEED)
big = 2**3000
a = np.array([big + i for i in range(5000)], dtype=denizen.Integer)
q = np.array([f"{big + i}/3" for i in range(500)], dtype=denizen.Rational)
out = np.zeros(5000, dtype=denizen.Integer)
operations = [
    lambda: a + a, lambda: a * a, lambda: a.copy(), lambda: np.zeros(10**8, dtype=a.dtype),
    lambda: np.repeat(a, 20), lambda: q * q, lambda: np.sort(a), lambda: a.astype(q.dtype),
    lambda: np.power(a, 9), lambda: np.multiply(a, a, out=out), lambda: a.tolist(),
    lambda: np.left_shift(a, 50000), lambda: np.cumsum(a), lambda: np.add.outer(a[:300], a[:300]),
    lambda: np.concatenate([a] * 20), lambda: np.array(a[:500].tolist(), dtype=a.dtype),
]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 2**20, resource.RLIM_INFINITY))
failed, kept = 0, []
for _ in range(100):
    try:
        kept.append(choice.choice(operations)())
    except MemoryError:
        failed += 1
        kept = []
kept = None
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert failed > 0, failed
assert a.tolist() == [big + i for i in range(5000)]
out[:] = 1
assert out.sum() == 5000
del a, q, out, operations
gc.collect()
live = {name: entry["live"] for name, entry in denizen.stats().items() if entry["live"]}
assert not live, live
"""


@pytest.mark.regression("T49", "numpy/numpy#28829")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("seed", "megabytes"), [(1, 20), (2, 60), (3, 150)])
def test_exhausted_memory_is_a_memory_error_and_nothing_is_lost(seed, megabytes):
    code = ATTACK.replace("SEED", str(seed)).replace("MEGABYTES", str(megabytes))
    end = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (end.returncode, end.stderr) == (0, "")


PYTHON = """
import _testcapi, gc, numpy as np, denizen

OPERATIONS = {
    "at": lambda a, b: np.add.at(a, np.arange(10), b),
    "at a number": lambda a, b: np.subtract.at(a, [0, 0], 1),
    "put": lambda a, b: a.put([1, 2], b),
    "put itself": lambda a, b: a.put([1, 2], values=a[5:7]),
    "putmask": lambda a, b: np.putmask(a, a > b, b),
    "cumsum": lambda a, b: a.cumsum(),
    "cumprod": lambda a, b: a.cumprod(axis=0),
    "no loop": lambda a, b: a + "x",
    "sort": lambda a, b: a.sort(),
    "scalars": lambda a, b: a[0] + b[1] < 3,
    "of a scalar": lambda a, b: a[0][()],
    "a float": lambda a, b: a.__setitem__(0, np.float32(3)),
    "a number": lambda a, b: a.__setitem__(0, 3),
    "mixed": lambda a, b: a + 1.5,
    "sum": lambda a, b: a.sum(),
    "select": lambda a, b: np.where(np.arange(10) > 4, a, b),
}
EXPECTED = {
    # NumPy's own dtypes give SystemError here and there, for what it fails to check.
    "MemoryError", "SystemError", "TypeError", "ValueError",
}
for dtype in (denizen.Integer, denizen.Rational):
    for name, operation in OPERATIONS.items():
        b = np.arange(11, 1, -1).astype(dtype)
        gc.disable()
        for step in range(60):
            a = np.arange(1, 11).astype(dtype)
            live = denizen.stats()
            _testcapi.set_nomemory(step, step + 1)
            try:
                result = operation(a, b)
                _testcapi.remove_mem_hooks()
            except BaseException as error:
                _testcapi.remove_mem_hooks()
                assert type(error).__name__ in EXPECTED, (name, step, error)
            result = None
            assert denizen.stats()[f"denizen.{dtype.__name__}"]["live"] == 20, (name, step)
            assert len((a + a).tolist()) == 10
            del a
        gc.enable()
        gc.collect()
print("usable")
"""


def test_where_python_has_no_memory_for_an_object_it_is_an_exception():
    """Each request to Python's allocator fails once, in operations that run code of ours."""
    pytest.importorskip("_testcapi")
    end = subprocess.run(
        [sys.executable, "-c", PYTHON], capture_output=True, text=True, timeout=240, check=False
    )
    assert (end.returncode, end.stdout) == (0, "usable\n"), end.stderr
