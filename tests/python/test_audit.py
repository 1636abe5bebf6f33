"""`denizen.audit` and `denizen audit`: what happened to objects, and where those were made that
outlive a block or a program."""

import gc
import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import denizen


def line_of(text):
    """The number of the line of this file that contains a mark."""
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if line.endswith(f"# {text}"))
    return number


def rationals(*values):
    return np.array(values, dtype=denizen.Rational)


def only(rows, **wanted):
    """The one row with these values."""
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    assert len(found) == 1, (wanted, rows)
    return found[0]


# ---- figures -----------------------------------------------------------------------------------


def test_figures_are_those_of_the_block_alone():
    before = rationals(1, 2, 3)
    with denizen.audit() as report:
        copy = before.copy()
        total = copy + before
        del copy, total
    figures = report.types["denizen.Rational"]
    assert figures["constructed"] == figures["destroyed"] == 6
    assert (figures["copied"], figures["leaked"]) == (3, 0)
    assert figures["live"] == figures["live_before"] >= 3
    assert figures["peak"] == figures["live_before"] + 6


def test_copied_counts_copies_and_not_results():
    a = np.array([10**30, 5, 0], dtype=denizen.Integer)
    with denizen.audit() as report:
        b = a.copy()
        b[:] = a
        _total = a + b
        del b, _total
    # The zero is a vacant cell, of which there is nothing to copy.
    assert report.types["denizen.Integer"]["copied"] == 4


def test_moves_are_counted_where_objects_move():
    with denizen.audit() as report:
        a = rationals(3, 1, 2)
        a.resize(100, refcheck=False)
        del a
    figures = report.types["denizen.Rational"]
    assert figures["constructed"] == figures["destroyed"] == 3


def test_the_report_can_be_read_while_the_block_runs():
    with denizen.audit(raises=False) as report:
        assert report.types["denizen.Rational"]["constructed"] == 0
        a = rationals(1, 2)
        assert report.types["denizen.Rational"]["constructed"] == 2
        assert [leak["count"] for leak in report.leaks] == [2]
        del a
        assert report.leaks == []
    assert report.types["denizen.Rational"]["destroyed"] == 2


def test_a_report_is_asked_for_before_its_block():
    report = denizen.audit()
    with pytest.raises(RuntimeError, match="has not begun"):
        report.to_dict()
    with report:
        pass
    with pytest.raises(RuntimeError, match="for one block"), report:
        pass


def test_json_is_the_dict():
    with denizen.audit(raises=False) as report:
        a = rationals(1, 2)
    found = json.loads(report.to_json())
    assert found == report.to_dict()
    assert found["target"] == "block" and found["numpy"] == np.__version__
    del a


# ---- leaks and where they were made --------------------------------------------------------------


def make_one():
    return rationals("1/3", 5)  # made


def make_two():
    return make_one()


def test_a_leak_says_where_it_was_made():
    with pytest.raises(denizen.LeakError) as info:
        with denizen.audit():
            kept = make_two()
    (leak,) = info.value.report["leaks"]
    assert leak["type"] == "denizen.Rational" and leak["where"] == "managed"
    assert (leak["count"], leak["segments"], leak["bytes"]) == (2, 1, kept.nbytes)
    site = leak["site"]
    assert os.path.samefile(site["file"], __file__)
    # The line in `rationals` that NumPy was called in is the innermost one outside libraries.
    assert site["function"] == "rationals" and "np.array(values" in site["text"]
    assert [frame["function"] for frame in leak["stack"][:3]] == ["rationals", "make_one", "make_two"]
    assert leak["stack"][1]["line"] == line_of("made")
    message = str(info.value)
    assert "2 in 1 array" in message and f"test_audit.py:{line_of('made')}, in make_one" in message
    assert len(kept) == 2


def test_functions_of_numpy_are_no_sites():
    a = rationals(1, 2)
    with denizen.audit(raises=False) as report:
        kept = np.append(a, a)  # appended
    (leak,) = report.leaks
    assert leak["site"]["line"] == line_of("appended")
    assert leak["stack"][0]["function"] == "append"
    assert kept.size == 4


def test_leaks_are_grouped_by_their_site_and_the_largest_is_first():
    kept = []
    with denizen.audit(raises=False) as report:
        for _ in range(5):
            kept.append(rationals(1))
        kept.append(np.full(50, denizen.Rational(1, 2)))
    assert [(leak["count"], leak["segments"]) for leak in report.leaks] == [(50, 1), (5, 5)]


@pytest.mark.parametrize("trace", [False, True])
def test_stacks_are_whole_a_few_times_or_always(trace):
    """The survivor is the last one, of whose stack only the site is kept without `trace`."""

    def build():
        return rationals(1)

    kept = None
    with denizen.audit(raises=False, trace=trace) as report:
        for _ in range(20):
            kept = build()
    (leak,) = report.leaks
    assert (len(leak["stack"]) > 1) == trace
    assert leak["site"] == leak["stack"][0]
    assert report.to_dict()["trace"] is trace and kept is not None


def test_objects_in_an_older_array_are_found():
    old = np.zeros(5, dtype=denizen.Rational)
    with denizen.audit(raises=False) as report:
        old[1:4] = 7  # filled
    (leak,) = report.leaks
    assert (leak["count"], leak["where"]) == (3, "managed")
    assert leak["site"]["line"] == line_of("filled")
    old[:] = 0


def test_objects_in_a_structured_array_are_found():
    with denizen.audit(raises=False) as report:
        records = np.zeros(3, dtype=[("n", denizen.Integer.dtype), ("i", "i4")])
        records["n"] = [10**30, 0, 5]  # stored
    (leak,) = report.leaks
    assert (leak["count"], leak["where"], leak["segments"]) == (2, "foreign", 0)
    assert leak["site"]["line"] == line_of("stored")
    row = only(report.foreign, type="denizen.Integer")
    assert row["site"] == leak["site"] and row["constructed"] == 2
    del records


def test_a_resized_array_keeps_where_it_was_made():
    with denizen.audit(raises=False) as report:
        a = rationals(*range(1, 9))
        for size in (100, 10_000, 100_000):
            a.resize(size, refcheck=False)
    (leak,) = report.leaks
    assert (leak["count"], leak["segments"], leak["bytes"]) == (8, 1, a.nbytes)
    assert leak["site"]["function"] == "rationals"


def test_objects_that_went_and_others_that_came_are_no_leak():
    held = [rationals(1, 2, 3)]
    with denizen.audit() as report:
        held[0] = rationals(4, 5, 6)
    assert report.types["denizen.Rational"]["leaked"] == 0 and report.leaks == []


def test_scalars_are_found():
    denizen_example = pytest.importorskip("denizen_example")
    with denizen.audit(raises=False) as report:
        kept = denizen_example.Dual("1+2e")
    (leak,) = report.leaks
    assert (leak["type"], leak["count"], leak["where"]) == ("denizen_example.Dual", 1, "scalar")
    assert report.types["denizen_example.Dual"]["scalars"] >= 1
    assert kept is not None


# ---- foreign memory, reconciliations -------------------------------------------------------------


def test_casts_in_buffers_are_named():
    a = np.arange(20_000)
    b = np.ones(20_000, dtype=denizen.Integer)
    with denizen.audit() as report:
        total = np.add(a, b, dtype=denizen.Integer)  # buffered
        del total
    row = only(report.foreign, operation="cast from int64 to denizen.Integer")
    assert row["constructed"] == 19_999 and row["calls"] >= 3 and row["segments"] >= 1
    assert row["site"]["line"] == line_of("buffered")
    assert report.types["denizen.Integer"]["foreign"] == 19_999


def test_reconciled_bits_are_named():
    a = rationals(1, 0, 2, 0, 0, 3)
    with denizen.audit() as report:
        np.random.default_rng(1).shuffle(a)
        a += 1  # mended
    (row,) = report.reconciled
    assert row["operation"] == "add" and row["site"]["line"] == line_of("mended")
    assert row["bits"] == report.types["denizen.Rational"]["reconciled"] > 0
    a[:] = 0
