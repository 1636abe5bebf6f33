"""A pytest plugin for runs under LeakSanitizer: looks for leaks when the last test has ended.

LeakSanitizer's own look, when the process ends, stops the process's threads from a tracer that now and
then crashes ("Tracer caught signal"), and nothing is learned then. Here a forked child looks, which has
one thread, and another one where its tracer crashed too; where all do, that is said, and fails nothing.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile

import pytest

ATTEMPTS = 5


def look() -> tuple[int, str]:
    """The exit status of a child that looks for leaks, and what it says."""
    # The C function: `os.fork` gives up the locks of threads in the child, which are leaks then.
    process = ctypes.PyDLL(None)
    with tempfile.TemporaryFile() as said:
        child = process.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            process.__lsan_do_leak_check()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, said.read().decode(errors="replace")


def pytest_unconfigure(config: pytest.Config) -> None:
    gc.collect()
    # Objects that only a frame's stack refers to, such as an iterator's, look like leaks.
    attempts = 0
    while attempts < ATTEMPTS:
        attempts += 1
        status, said = look()
        if status == 0:
            print("LeakSanitizer: no leaks")
            return
        if "LeakSanitizer: detected memory leaks" in said:
            print(said, file=sys.stderr)
            print("LeakSanitizer: leaks, see above")
            sys.stdout.flush()
            os._exit(23)
    print(f"LeakSanitizer crashed {ATTEMPTS} times: leaks NOT CHECKED in these tests")
