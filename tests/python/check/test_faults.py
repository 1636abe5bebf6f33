"""`denizen check --faults` sees what a fault can do to an operation, and lets the rest alone."""

import ctypes
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import denizen
from denizen import _runtime
from denizen.check import Table
from denizen.check.faults import run_faults, source_named
from denizen.check.faults.known import read_known
from denizen.check.faults.worker import spread
from denizen.check.subject.element import ElementError

KEPT = []


def failing(run, otherwise):
    """An operation that does something else where an allocation fails."""

    def operation(s):
        try:
            return run(s)
        except MemoryError:
            pass
        # Outside, so that what is raised has no cause.
        return otherwise(s)

    return operation


def found(operation, **options):
    table = Table("some")
    table.add("operation", operation)
    report = run_faults(
        denizen.Integer, ["allocation"], tables=[table], jobs=1, **({"timeout": 5} | options)
    )
    return report


def test_an_operation_that_raises_is_right_at_every_step():
    report = found(lambda s: [s.zeros(10), s.a + s.b, s.a.copy()])
    (tried,) = report.tried
    assert tried.steps == tried.tried == tried.raised == 3
    assert not report.findings and report.status() == 0
    assert "0 failures" in report.table()


def test_a_fault_that_need_not_be_seen_is_survived():
    report = found(failing(lambda s: s.a.copy(), lambda s: s.a))
    (tried,) = report.tried
    assert (tried.tried, tried.survived) == (1, 1) and not report.findings


def raise_another(s):
    raise ValueError("something else")


@pytest.mark.parametrize(
    ("otherwise", "what"),
    [
        (lambda s: s.b, "wrong result"),
        # More objects than those of the subject.
        (lambda s: KEPT.append(s.b.copy()), "leaks"),
        (lambda s: ctypes.string_at(0), "crashes"),
        (lambda s: os._exit(3), "crashes"),
        (lambda s: time.sleep(60), "crashes"),
        (raise_another, "other error"),
    ],
)
def test_what_goes_wrong_after_a_fault_is_named(otherwise, what):
    report = found(failing(lambda s: s.a.copy(), otherwise), timeout=8)
    assert what in {finding.what for finding in report.findings}, report.table()
    assert report.status() == 1
    assert all(finding.step == 0 for finding in report.findings)


def test_steps_are_spread_over_all():
    assert list(spread(5, 10)) == [0, 1, 2, 3, 4]
    some = spread(1000, 10)
    assert len(some) == 10 and some[0] == 0 and some[-1] == 999


def test_a_plan_counts_and_fails_once():
    _runtime._plan_fault("allocation", None)
    np.zeros(10, dtype=denizen.Integer)
    assert _runtime._end_fault() == (1, False)
    _runtime._plan_fault("allocation", 1)
    np.zeros(10, dtype=denizen.Integer)
    with pytest.raises(MemoryError):
        np.zeros(10, dtype=denizen.Integer)
    np.zeros(10, dtype=denizen.Integer)
    assert _runtime._end_fault() == (3, True)
    np.zeros(10, dtype=denizen.Integer)
    assert _runtime._end_fault() == (0, False)


def test_a_crash_without_a_fault_is_said_once_and_sends_to_the_check():
    report = found(lambda s: ctypes.string_at(0))
    assert [finding.step for finding in report.findings] == [-1] and report.status() == 1
    table = report.table()
    assert "1 operation crashes WITHOUT a fault" in table and "`denizen check` first" in table
    assert "allocation -1" not in table


def test_operations_with_a_sample_of_their_steps_are_named():
    report = found(lambda s: [s.zeros(10) for _ in range(30)], limit=5, budget=1e6)
    assert "some: operation: allocation, 5 of 30" in report.table()


class CountsNothing:
    """A source that was wired to nothing."""

    def plan(self, after):
        pass

    def end(self):
        return 0, False


COUNTS_NOTHING = CountsNothing()


def test_a_source_that_counts_nothing_tests_nothing_and_says_so():
    table = Table("some")
    table.add("operation", lambda s: s.a.copy())
    kind = f"{__name__}:COUNTS_NOTHING"
    report = run_faults(denizen.Integer, ["allocation", kind], tables=[table], jobs=1)
    assert f"{kind}: NOTHING WAS TESTED" in report.table()
    assert report.untried() == [kind]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--faults", "--html", "page.html"], "with --faults write --json"),
        (["--kind", "heap"], "add --faults"),
    ],
)
def test_options_that_would_do_nothing_are_refused(arguments, complaint, tmp_path):
    end = subprocess.run(
        [sys.executable, "-m", "denizen", "check", "denizen:Integer", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 2 and complaint in end.stderr
    assert not list(tmp_path.iterdir())


def test_sources_that_cannot_be_used_say_why():
    with pytest.raises(ValueError, match="nothing. is no kind of fault"):
        _runtime._plan_fault("nothing", 1)
    if os.environ.get("DENIZEN_FAULTS") != "1":
        with pytest.raises(ElementError, match="DENIZEN_FAULTS=1"):
            source_named("element")
    with pytest.raises(ElementError, match="no source of faults"):
        source_named("os:path")


def test_the_command_counts_elements_and_writes_everything_down(tmp_path):
    file = tmp_path / "faults.json"
    end = subprocess.run(
        [
            *(sys.executable, "-m", "denizen", "check", "denizen:Rational", "--faults"),
            *("--only", "resizing: to *", "--json", str(file)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 0, end.stdout + end.stderr
    report = json.loads(file.read_text())
    assert report["kinds"] == ["allocation", "element"] and not report["findings"]
    elements = [tried for tried in report["tried"] if tried["kind"] == "element"]
    assert all(tried["tried"] == tried["planned"] > 5 for tried in elements)
    assert sum(tried["raised"] for tried in elements) > 50


# ---- what NumPy itself does not stand: reproduced with its own dtypes

BROADCAST = """
import _testcapi, gc, numpy as np
step = next(iter(np.broadcast(np.arange(1e10, 1e10 + 5), np.arange(5.0)))).__class__
pairs = iter(np.broadcast(np.arange(1e10, 1e10 + 5), np.arange(5.0)))
gc.disable()
_testcapi.set_nomemory(1, 2)
try:
    next(pairs)
except BaseException as error:
    _testcapi.remove_mem_hooks()
    print(type(error).__name__)
"""


def test_numpy_makes_tuples_with_null_where_broadcast_cannot_read():
    end = subprocess.run(
        [sys.executable, "-c", BROADCAST], capture_output=True, text=True, check=False
    )
    # An interpreter that does not check results dies later.
    assert end.stdout.strip() == "SystemError" or end.returncode < 0, end


def test_numpy_replaces_what_an_assignment_to_flat_raises():
    with pytest.raises(ValueError, match="Error setting single item of array"):
        np.zeros(3).flat[1] = object


AT = """
import _testcapi, gc, numpy as np
gc.disable()
kinds = set()
for step in range(30):
    numbers, more = np.array([1.5, 2.5], dtype=object), np.array([10**12, 10**13])
    _testcapi.set_nomemory(step, step + 1)
    try:
        np.add.at(numbers, [1, 1], more)
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        kinds.add(str(error)[:21])
    _testcapi.remove_mem_hooks()
print(sorted(kinds))
"""


def test_numpy_replaces_what_a_cast_raises_in_a_buffer_of_ufunc_at():
    end = subprocess.run([sys.executable, "-c", AT], capture_output=True, text=True, check=False)
    assert "Iterator reset failed" in end.stdout, end


FLAT = """
import gc, sys
import denizen, denizen_raw, numpy as np
a = np.arange(10).astype(denizen_raw.Tracer)
def fail():
    denizen_raw.countdown.plan(3)
    try:
        a.flat[np.arange(10) % 2 == 0]
    except Exception:
        pass
    denizen_raw.countdown.end()
fail()
gc.collect()
before = sys.getallocatedblocks()
for _ in range(100):
    fail()
gc.collect()
print(round((sys.getallocatedblocks() - before) / 100))
"""


def test_numpy_forgets_an_array_that_it_fills_from_a_flat_iterator():
    """None of NumPy's own dtypes fails to copy an element: the array itself is counted."""
    end = subprocess.run([sys.executable, "-c", FLAT], capture_output=True, text=True, check=False)
    forgets = tuple(map(int, np.__version__.split(".")[:2])) < (2, 5)
    assert end.stdout.strip() == str(int(forgets)), end


def test_all_that_is_known_of_numpy_is_shown_here():
    assert len(read_known()) == 4
