"""The end of a process, whatever other threads are doing then."""

import subprocess
import sys

import pytest

BUSY = """
import threading, time
import numpy as np
import denizen

a = np.array([2**100] * 2000, dtype=denizen.Integer)
zero = np.zeros(2000, dtype=denizen.Integer)
started = threading.Barrier(5)

def divide():
    try:
        a // zero
    except ZeroDivisionError:
        pass

work = {
    "objects": lambda: a.astype(object),
    "from objects": lambda: np.array([1.0, "2", 3] * 100, dtype=denizen.Rational),
    "element": lambda: a[3],
    "sort": lambda: np.sort(a),
    "exception": divide,
}[WORK]

def run():
    started.wait()
    while True:
        work()

for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
started.wait()
time.sleep(0.2)
"""


@pytest.mark.parametrize("work", ["objects", "from objects", "element", "sort", "exception"])
def test_daemon_threads_in_loops_do_not_abort_the_exit(work):
    for _ in range(2):
        code = BUSY.replace("WORK", repr(work))
        end = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        assert (end.returncode, end.stderr) == (0, "")
