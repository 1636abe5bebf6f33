"""Blocks of `denizen.audit`: nested, in threads, in other processes, at the end of the interpreter."""

import gc
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from support.audits import line_of, make_two, only, rationals

import denizen

# ---- blocks, threads, processes ------------------------------------------------------------------


def test_a_stack_ends_with_the_code_around_the_block():
    with denizen.audit(raises=False) as report:
        kept = make_two()
    functions = [frame["function"] for frame in report.leaks[0]["stack"]]
    assert functions == [
        "rationals",
        "make_one",
        "make_two",
        "test_a_stack_ends_with_the_code_around_the_block",
    ]
    assert len(kept) == 2


def test_audits_nest_and_each_has_its_own_figures():
    with denizen.audit(raises=False) as outer:
        a = rationals(1, 2)
        with denizen.audit(raises=False) as inner:
            b = rationals(1, 2, 3)
        c = rationals(1)
    assert [leak["count"] for leak in inner.leaks] == [3]
    assert outer.types["denizen.Rational"]["constructed"] == 6
    # One site: `rationals`.
    assert [leak["count"] for leak in outer.leaks] == [6]
    assert a.size + b.size + c.size == 6


def test_audits_overlap_in_several_threads():
    """Each sees all threads, and ends by itself."""
    barrier = threading.Barrier(4)
    found = []

    def work():
        with denizen.audit(raises=False) as report:
            barrier.wait()
            for _ in range(200):
                rationals(1, 2, 3)
            barrier.wait()
        found.append(report.types["denizen.Rational"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(figures["constructed"] >= 4 * 600 for figures in found)
    assert all(figures["constructed"] - figures["destroyed"] == 0 for figures in found)


def test_loops_without_the_gil_know_where_they_began():
    """Large arrays of a thread-safe type: the loop asks no interpreter."""
    records = np.zeros(5000, dtype=[("n", denizen.Integer.dtype), ("i", "i4")])
    big = np.full(5000, denizen.Integer(10**30))
    with denizen.audit(raises=False) as report:
        np.multiply(big, big, out=records["n"])  # outside
    row = only(report.foreign, operation="multiply")
    assert row["constructed"] == 5000 and row["site"]["line"] == line_of("outside", __file__)
    assert report.leaks[0]["site"]["line"] == line_of("outside", __file__)


def test_a_decorated_function_is_audited_each_time():
    kept = []

    @denizen.audit()
    def add(value):
        if value:
            kept.append(rationals(value))

    add(0)
    for _ in range(2):
        with pytest.raises(denizen.LeakError, match="1 denizen.Rational object outlived"):
            add(1)
    add(0)


def test_an_audit_that_is_stopped_reports_what_was_until_then():
    with pytest.raises(denizen.LeakError) as info:
        with denizen.audit() as report:
            first = rationals(1, 2)
            report.stop()
            later = rationals(1, 2, 3)
            assert report.types["denizen.Rational"]["constructed"] == 2
    assert info.value.leaks == {"denizen.Rational": 2}
    assert info.value.report == report.to_dict()
    assert first.size + later.size == 5


def test_exceptions_pass_and_the_report_is_there():
    with pytest.raises(ZeroDivisionError):
        with denizen.audit() as report:
            kept = rationals(1, 2)
            raise ZeroDivisionError
    assert report.types["denizen.Rational"]["leaked"] == kept.size == 2


def test_generators_and_tasks_may_hold_an_audit_open():
    def work():
        with denizen.audit() as report:
            yield report
            yield rationals(1, 2).size

    steps = work()
    report = next(steps)
    assert next(steps) == 2
    assert list(steps) == []
    assert report.types["denizen.Rational"]["destroyed"] == 2


def test_leak_errors_travel_between_processes():
    with pytest.raises(denizen.LeakError) as info:
        with denizen.audit():
            kept = rationals(1)
    twin = pickle.loads(pickle.dumps(info.value))
    assert str(twin) == str(info.value)
    assert twin.leaks == info.value.leaks and twin.report == info.value.report
    assert kept.size == 1


def test_the_collector_is_as_it_was():
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with denizen.audit():
                rationals(1, 2, 3)
                assert gc.isenabled() is enabled
        finally:
            gc.enable()


def test_code_objects_are_let_go():
    def count():
        gc.collect()
        return sys.getrefcount(rationals.__code__)

    before = count()
    with denizen.audit():
        rationals(1)
    assert count() == before


# ---- the end of the interpreter, forks ---------------------------------------------------------


def run_plain(source):
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_an_audit_may_be_open_when_the_interpreter_ends():
    process = run_plain(
        """
        import threading, time, numpy as np, denizen
        audit = denizen.audit().__enter__()
        a = np.ones(1000, dtype=denizen.Rational)
        def work():
            while True:
                (a + 1).sum()
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        """
    )
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.unsanitized
def test_a_child_forked_while_threads_are_audited_works():
    process = run_plain(
        """
        import os, threading, numpy as np, denizen
        stop = threading.Event()
        def work():
            big = np.full(2000, denizen.Integer(10**30))
            while not stop.is_set():
                big * big
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        with denizen.audit(raises=False):
            for _ in range(8):
                child = os.fork()
                if child == 0:
                    with denizen.audit():
                        np.ones(30, dtype=denizen.Rational).sum()
                    os._exit(7)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            stop.set()
            for thread in threads: thread.join()
        """
    )
    assert (process.returncode, process.stderr) == (0, "")
