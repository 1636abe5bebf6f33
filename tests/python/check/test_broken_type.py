"""`denizen check` finds what is wrong with a type, whether it answers wrong, leaks, crashes or hangs."""

import json
import os
import re
import time

import numpy as np
import pytest
from support.checks import FAULTS, _raise, command, table

import denizen
from denizen import check
from denizen.check import Verdict


def of(report, name):
    return next(result for result in report.results if result.operation == name)


# ---- a type with faults --------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_of_a_broken_type_is_found(faults, name):
    assert of(faults, name).verdict is FAULTS[name]


def test_what_a_broken_type_does_right_works(faults):
    assert of(faults, "take").verdict is Verdict.WORKS


def test_a_wrong_result_is_shown_beside_the_right_one(faults):
    assert re.fullmatch(
        r"element \[\d\] is Broken\('-?\d+'\) instead of Broken\('-?\d+'\)",
        of(faults, "negative").detail,
    )


def test_another_exception_than_objects_raise_is_wrong(faults):
    assert (
        of(faults, "positive").detail == "raised RuntimeError: the fifth call; objects do not raise"
    )


def test_lost_objects_are_counted(faults):
    # One a call, of the ten elements of the operand.
    assert of(faults, "absolute").leaked == {"broken.Broken": 10}


@pytest.mark.unsanitized
def test_a_crash_names_its_signal_and_shows_where(faults):
    crash = of(faults, "invert")
    assert crash.detail == "SIGSEGV"
    assert "Segmentation fault" in crash.errors
    assert "conftest.py" in crash.errors


def test_an_operation_without_end_is_killed_and_shows_where(faults):
    hang = of(faults, "square")
    assert hang.detail == "no end within 2 s"
    assert 2 <= hang.seconds < 10
    assert "conftest.py" in hang.errors


def test_a_refusal_must_say_why(faults):
    assert of(faults, "reciprocal").detail == "refused without saying why: ValueError: 5"
    assert of(faults, "rint").detail == "ValueError: broken numbers are not rounded"


def test_an_unexpected_refusal_fails_only_if_strict(faults):
    assert faults.unexpected == (of(faults, "rint"),)
    report = check.run(
        denizen.Integer,
        tables=[table(it=lambda s: s.is_oracle or _raise(ValueError("not done here")))],
    )
    assert (report.status(), report.status(strict=True)) == (0, 1)


def test_the_summary_counts(faults):
    assert faults.summary() == (
        f"broken.Broken on NumPy {np.__version__}: 8 operations: 1 work, 1 refused (0 expected), "
        "3 wrong, 1 leak, 2 crash"
    )
    assert faults.status() == 1


# ---- a type that crashes where it is found out what it can do ----


@pytest.mark.unsanitized
def test_an_operator_that_crashes_counts_as_present_and_is_reported(broken_folder, tmp_path):
    found = command(
        "broken:Crashing",
        "--section", "overlap",
        "--json", str(tmp_path / "report.json"),
        "--html", str(tmp_path / "report.html"),
        cwd=broken_folder,
    )  # fmt: skip
    assert found.returncode == 1, found
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["notes"][0] == (
        "trying arithmetic (+, -, *) ended with SIGSEGV; it counts as present, so that the "
        "operations show it"
    )
    assert data["notes"][0] in found.stdout
    assert data["counts"]["works"] > 0
    crashes = [result for result in data["results"] if result["verdict"] == "crashes"]
    assert crashes
    assert {result["detail"] for result in crashes} == {"SIGSEGV"}
    assert "Crashes:" in found.stdout
    assert ">X</button>" in (tmp_path / "report.html").read_text()


def test_operators_beside_the_one_that_crashes_are_judged(broken):
    made = table(add=lambda s: s.a + s.b, multiply=lambda s: s.a * s.b, sort=lambda s: np.sort(s.a))
    report = check.run(broken.Crashing, tables=[made])
    verdicts = {result.operation: result.verdict for result in report.results}
    assert verdicts == {"add": Verdict.WORKS, "multiply": Verdict.CRASHES, "sort": Verdict.WORKS}


@pytest.mark.unsanitized
def test_values_are_made_in_a_way_that_survives_and_the_crash_is_reported(broken):
    report = check.run(broken.Fragile, tables=[table(sort=lambda s: np.sort(s.a))])
    assert report.values == "texts of positive integers"
    crash, sort = report.results
    assert (crash.title, crash.detail) == ("values: made from texts of integers", "SIGSEGV")
    assert sort.verdict is Verdict.WORKS
    assert report.status() == 1


@pytest.mark.parametrize(
    ("end", "how"),
    [
        pytest.param(lambda: os.kill(os.getpid(), 11), "SIGSEGV", marks=pytest.mark.unsanitized),
        (lambda: os._exit(0), "exit status 0 before the work was done"),
        (lambda: time.sleep(60), "no end within 1 s"),
    ],
)
def test_values_that_end_the_process_are_one_line_that_says_what_to_do(end, how):
    message = f"making the values ended with {how}: the function of --values.*mended"
    with pytest.raises(check.ElementError, match=message) as raised:
        check.run(denizen.Integer, tables=[table(it=lambda s: s.a)], values=end, timeout=1.0)
    assert "\n" not in str(raised.value)


@pytest.mark.unsanitized
def test_no_way_to_values_that_survives_is_one_line_that_says_what_to_do(monkeypatch):
    die = ("a crash", lambda *_: os.kill(os.getpid(), 11), [])
    monkeypatch.setattr("denizen.check.runner.probe.ways_of", lambda dtype: [die])
    monkeypatch.setattr("denizen.check.subject.element.ways_of", lambda dtype: [die])
    with pytest.raises(check.ElementError, match="from a crash ended with SIGSEGV.*--values"):
        check.run(denizen.Integer, tables=[table(it=lambda s: s.a)])
