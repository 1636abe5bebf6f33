"""Python processes as tests need them: their exit status and everything they say is looked at."""

import os
import subprocess
import sys
import textwrap

#: No process of a test takes long; one that hangs says where.
SECONDS = 240

#: In front of the code of each process. Options of Python's may have taken the paths away.
PREAMBLE = f"""
import sys
paths = {[path for path in sys.path if path]!r}
sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]
import faulthandler, signal
faulthandler.enable()
# Not `dump_traceback_later`: at the end of a forked child it waits for a thread of the parent's.
faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
signal.alarm({SECONDS - 10})
"""

#: Arrays of types of every kind: with the GIL and without it, in Rust, inline, tagged and boxed, in
#: adopted memory, with objects that check themselves (and say so on stderr). And what they give.
ARRAYS = """
import numpy as np
import denizen
import denizen_example as example, denizen_raw as raw, denizen_sorting as sorting

def make_arrays(size=1000):
    made = [
        np.array([2**100, -3, 0, 7] * (size // 4), dtype=denizen.Integer),
        np.array(["1/3", "-7/2"] * (size // 2), dtype=denizen.Rational),
        np.array(["5", "-3"] * (size // 2), dtype=sorting.Number),
        np.array(["word"] * size, dtype=raw.Shared),
        example.adopt_duals([1.0, 2.0, 3.0, 4.0], [2, 2])[0],
        raw.adopt_singles([3, 1, 2]),
    ]
    for name in ("Bomb", "BoxedBomb", "InlineBomb", "HeldBomb"):
        made.append(np.array(["5", "-3", "17", "2"] * (size // 4), dtype=getattr(raw, name)))
    half = np.empty(size, dtype=raw.Bomb)
    half[::3] = "9"
    made.append(half)
    records = np.zeros(8, dtype=[("x", denizen.Integer), ("y", raw.Bomb)])
    records["x"] = 2**80
    records["y"] = "5"
    made.append(records)
    return made

def use(array):
    if array.dtype.names:
        return [use(array[name]) for name in array.dtype.names]
    if array.dtype == np.dtype(raw.Single):
        array.sort()
    else:
        copied = array.copy()
        copied[...] = array[::-1]
        # No `all()`: NumPy imports something for it, which nothing can when the interpreter goes.
        assert (array == array).tolist()
    assert len(str(array.ravel()[0])) > 0
    return array.size
"""


def outside_ci():
    """The environment for a pytest of a test: where it finds that it runs in CI, it prints messages
    twice."""
    return {name: text for name, text in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}


def run(code, *options, arrays=True, status=0, stderr="", seconds=SECONDS, **variables):
    """What a process printed that ran the code; its exit status and stderr are as expected."""
    whole = PREAMBLE + (ARRAYS if arrays else "") + textwrap.dedent(code)
    return run_command(
        [sys.executable, *options, "-c", whole], status, stderr, seconds, **variables
    )


def run_command(command, status=0, stderr="", seconds=SECONDS, **variables):
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env=os.environ | variables,
    )
    if callable(stderr):
        assert stderr(ended.stderr), ended.stderr
    else:
        assert ended.stderr == stderr, ended.stderr
    assert ended.returncode == status, (ended.returncode, ended.stdout)
    return ended.stdout
