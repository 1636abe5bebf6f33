"""The report of `denizen.audit`: figures, foreign memory, the timeline."""

import json

import numpy as np
import pytest
from support.audits import line_of, only, rationals

import denizen

# ---- figures -----------------------------------------------------------------------------------


def test_figures_are_those_of_the_block_alone():
    before = rationals(1, 2, 3)
    with denizen.audit() as report:
        twin = before.copy()
        total = twin + before
        del twin, total
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


# ---- foreign memory, reconciliations -------------------------------------------------------------


def test_casts_in_buffers_are_named():
    a, b = np.arange(20_000), np.ones(20_000, dtype=denizen.Rational)
    with denizen.audit() as report:
        total = a * b  # buffered
        del total
    row = only(report.foreign, operation="cast from int64 to denizen.Rational")
    assert row["constructed"] == 19_999 and row["calls"] >= 3
    assert row["site"]["line"] == line_of("buffered", __file__)
    assert report.types["denizen.Rational"]["foreign"] == 19_999


def test_reconciled_bits_are_named():
    a = rationals(1, 0, 2, 0, 0, 3)
    with denizen.audit(raises=False) as report:
        np.random.default_rng(1).shuffle(a)
        a += 1  # mended
    (row,) = report.reconciled
    assert row["operation"] == "add" and row["site"]["line"] == line_of("mended", __file__)
    assert row["bits"] == report.types["denizen.Rational"]["reconciled"] > 0
    a[:] = 0


def test_the_timeline_has_the_peak():
    with denizen.audit() as report:
        for size in (10, 500, 20):
            np.ones(size, dtype=denizen.Rational)
    timeline = report.timeline
    live = timeline["live"]["denizen.Rational"]
    assert len(live) == len(timeline["seconds"]) <= 2000
    figures = report.types["denizen.Rational"]
    assert max(live) == figures["peak"] >= figures["live_before"] + 500
