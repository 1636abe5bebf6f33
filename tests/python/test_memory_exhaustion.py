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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("seed", "megabytes"), [(1, 20), (2, 60), (3, 150)])
def test_exhausted_memory_is_a_memory_error_and_nothing_is_lost(seed, megabytes):
    code = ATTACK.replace("SEED", str(seed)).replace("MEGABYTES", str(megabytes))
    end = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (end.returncode, end.stderr) == (0, "")
