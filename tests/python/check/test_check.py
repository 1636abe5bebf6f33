"""`denizen check`: what it promises to find, it finds; what it says is what happened."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from support.c_extension import build, load

import denizen
from denizen import check
from denizen.check import Verdict
from denizen.check.element import Element, find_dtype
from denizen.check.expected import BUNDLED, in_range, read_expected
from denizen.check.operations import tables
from denizen.check.oracle import Comparison
from denizen.check.probing import probe
from denizen.check.process import Task, run_tasks
from denizen.check.runner import selected

#: Loops of the broken type, and what comes of them.
FAULTS = {
    "negative": Verdict.WRONG,
    "positive": Verdict.WRONG,
    "absolute": Verdict.LEAKS,
    "invert": Verdict.CRASHES,
    "square": Verdict.CRASHES,
    "reciprocal": Verdict.WRONG,
    "rint": Verdict.REFUSED,
}


def table(**operations):
    made = check.Table("made up")
    for name, run in operations.items():
        made.add(name, run)
    return made


def only(report):
    (result,) = report.results
    return result


def judged(run, element=denizen.Integer, **options):
    """What comes of one operation."""
    made = check.Table("made up")
    oracle, needs = options.pop("oracle", None), options.pop("needs", ())
    made.add("it", run, oracle, needs)
    return only(check.run(element, tables=[made], **options))


@pytest.fixture(scope="module")
def broken_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    build("broken", folder)
    return folder


@pytest.fixture(scope="module")
def broken(broken_folder):
    (path,) = broken_folder.glob("broken*.so")
    return load("broken", path)


@pytest.fixture(scope="module")
def faults(broken):
    """The report on the broken type."""
    operations = {name: lambda s, name=name: getattr(np, name)(s.a) for name in FAULTS}
    operations["take"] = lambda s: np.take(s.a, [3, 1])
    return check.run(broken.Broken, tables=[table(**operations)], timeout=2.0, jobs=4)


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
    assert Path(__file__).name in crash.errors


def test_an_operation_without_end_is_killed_and_shows_where(faults):
    hang = of(faults, "square")
    assert hang.detail == "no end within 2 s"
    assert 2 <= hang.seconds < 10
    assert Path(__file__).name in hang.errors


def test_a_refusal_must_say_why(faults):
    assert of(faults, "reciprocal").detail == "refused without saying why: ValueError: 5"
    assert of(faults, "rint").detail == "ValueError: broken numbers are not rounded"


def test_a_refusal_that_nobody_expects_fails_only_if_strict(faults):
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
    monkeypatch.setattr("denizen.check.probing.ways_of", lambda dtype: [die])
    monkeypatch.setattr("denizen.check.element.ways_of", lambda dtype: [die])
    with pytest.raises(check.ElementError, match="from a crash ended with SIGSEGV.*--values"):
        check.run(denizen.Integer, tables=[table(it=lambda s: s.a)])


# ---- verdicts ------------------------------------------------------------------------------------


def _raise(error):
    raise error


KEPT = []


@pytest.mark.parametrize(
    ("run", "verdict", "detail"),
    [
        (lambda s: s.a + s.b, Verdict.WORKS, "equal to objects"),
        (lambda s: s.a[99], Verdict.WORKS, "raises as objects do: IndexError"),
        (lambda s: s.a + (not s.is_oracle), Verdict.WRONG, r"element \[0\] is 6 instead of 5"),
        (lambda s: s.a[: 4 + s.is_oracle], Verdict.WRONG, r"shape \(4,\) instead of \(5,\)"),
        (lambda s: {"x": s.a, "y": [1, s.is_oracle]}, Verdict.WRONG, r"y\[1\]: False instead of True"),
        (lambda s: s.a > 3 if s.is_oracle else (s.a > 3).astype(int), Verdict.WRONG, "dtype int64"),
        (lambda s: (s.a, s.b) if s.is_oracle else s.a, Verdict.WRONG, "instead of"),
        (lambda s: s.a if s.is_oracle else s.a.astype(float), Verdict.WRONG, "np.float64"),
        (lambda s: s.a if s.is_oracle else _raise(SystemError("gone")), Verdict.WRONG, "SystemError"),
        (lambda s: _raise(ZeroDivisionError("no")) if s.is_oracle else s.a, Verdict.WRONG, "objects raise Zero"),
        (lambda s: s.a if s.is_oracle else _raise(TypeError("")), Verdict.WRONG, "without saying why"),
        (lambda s: s.a if s.is_oracle else _raise(ValueError("17")), Verdict.WRONG, "without saying why"),
        (
            lambda s: s.a if s.is_oracle else _raise(ValueError("x" * 10**6)),
            Verdict.WRONG,
            "without saying why",
        ),
        (lambda s: s.a if s.is_oracle else _raise(TypeError("not for these")), Verdict.REFUSED, "not for"),
        (lambda s: s.a[:] if not s.is_oracle else s.a.copy(), Verdict.WRONG, "shares memory"),
        (lambda s: None, Verdict.UNCHECKED, "nothing to compare"),
        (lambda s: [None, None], Verdict.UNCHECKED, "nothing to compare"),
        (lambda s: _raise(TypeError("no")) if s.is_oracle else s.a[::2].copy(), Verdict.WORKS, "unchecked but for"),
        (lambda s: _raise(TypeError("no")) if s.is_oracle else s.a * 9, Verdict.UNCHECKED, "cannot do it"),
        (lambda s: s.is_oracle or KEPT.append(s.a) or True, Verdict.LEAKS, r"\+10 denizen.Integer|\+3"),
        (lambda s: s.is_oracle or os.kill(os.getpid(), 9), Verdict.CRASHES, "SIGKILL"),
        (lambda s: s.is_oracle or os._exit(3), Verdict.CRASHES, "exit status 3"),
        (lambda s: s.is_oracle or os._exit(0), Verdict.CRASHES, "exit status 0 before"),
        (lambda s: s.is_oracle or sys.exit("enough"), Verdict.WRONG, "raised SystemExit"),
    ],
)  # fmt: skip
def test_each_verdict_has_its_grounds(run, verdict, detail):
    result = judged(run)
    assert result.verdict is verdict, result
    assert re.search(detail, result.detail), result


def test_an_exception_that_got_lost_is_wrong():
    def lose(s):
        class Loser:
            def __del__(self):
                raise KeyError("lost in a destructor")

        if not s.is_oracle:
            Loser()
        return s.a

    result = judged(lose)
    assert result.verdict is Verdict.WRONG
    assert "an exception got lost: KeyError" in result.detail


def test_a_missing_capability_excuses_a_refusal_and_nothing_else():
    raw = pytest.importorskip("denizen_raw")
    sort = lambda s: np.sort(s.a)  # noqa: E731
    refused = judged(sort, raw.Shared, needs={"ordering"})
    assert refused.verdict is Verdict.REFUSED
    assert refused.reason == "denizen_raw.Shared has no ordering"
    assert judged(lambda s: s.is_oracle or np.sort(s.a), raw.Shared).unexpected
    answered = judged(lambda s: s.is_oracle, raw.Shared, needs={"ordering"})
    assert answered.verdict is Verdict.WRONG


def test_scalars_without_operators_are_compared_with_loops_over_one_element():
    def add(s):
        if s.scalars == "scalars":
            raise TypeError("these have no operators")
        return s.a + s.b

    result = judged(add)
    assert result.verdict is Verdict.WORKS
    assert result.detail.startswith("equal to loops over one element")


def test_what_the_types_own_code_raises_is_counted_in_a_note(broken):
    made = table(
        picky=lambda s: np.sort(s.a),
        also=lambda s: s.a < s.b,
        everyone=lambda s: s.a[99],
        take=lambda s: s.a[:2],
    )
    report = check.run(broken.Picky, tables=[made])
    assert [bool(result.raised) for result in report.results] == [True, True, False, False]
    note = (
        "in 2 operations the type's own code raised RuntimeError: no order of 17; its objects did"
    )
    assert report.notes[0].startswith(note)
    assert f"note: {note}" in report.table()
    assert json.loads(report.to_json())["results"][0]["raised"] == "RuntimeError: no order of 17"


# ---- comparisons ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def integer():
    dtype = find_dtype(denizen.Integer)
    return Element(dtype, probe(dtype))


def test_nan_equals_nan_and_floats_are_exact(integer):
    comparison = Comparison(integer)
    nan = float("nan")
    assert comparison.difference([nan, np.array([nan, 1.0])], [nan, np.array([nan, 1.0])]) is None
    assert comparison.difference(0.1 + 0.2, 0.3) is not None
    assert comparison.difference(nan, 1.0) is not None


def test_masked_arrays_are_equal_under_their_masks_only(integer):
    compare = Comparison(integer).difference
    one = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    assert compare(one, np.ma.array([1, 9, 3], mask=[0, 1, 0])) is None
    assert compare(one, np.ma.array([1, 2, 4], mask=[0, 1, 0])) is not None
    assert compare(one, np.ma.array([1, 2, 3], mask=[0, 0, 0])) is not None


def test_fields_of_records_are_compared(integer):
    compare = Comparison(integer).difference
    one = np.array([(1, "a"), (2, "b")], dtype=[("x", int), ("y", "U1")])
    other = one.copy()
    assert compare(one, other) is None
    other["y"][1] = "c"
    assert "'y'" in compare(one, other)


# ---- what a type is, and its values --------------------------------------------------------------


@pytest.mark.parametrize(
    "element",
    [denizen.Integer, denizen.IntegerDType, np.dtype(denizen.Integer), "denizen:Integer"],
    ids=str,
)
def test_a_type_is_named_in_each_way(element):
    assert find_dtype(element) == np.dtype(denizen.Integer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("denizen", "write MODULE:NAME"),
        ("denizen:Float", "denizen has no Float; element types there: Integer, Rational"),
        ("no_such_module:T", "cannot import no_such_module: ModuleNotFoundError"),
        ("numpy:float64", "not a type that is registered with denizen"),
        ("math:pi", "neither a scalar class nor a dtype"),
    ],
)
def test_what_is_no_element_type_is_an_error_that_says_so(text, message):
    with pytest.raises(check.ElementError, match=re.escape(message)):
        check.run(text)


def test_values_are_found_for_numbers_and_include_large_ones(integer):
    values = integer.values()
    assert len(values) == 24
    assert len(set(values[:10])) == 10
    assert any(abs(value) > 2**64 for value in values[:10])
    assert integer.abilities == {
        "arithmetic", "codec", "copy", "counting", "default", "division", "equality", "numbers",
        "ordering", "text",
    }  # fmt: skip


def test_a_type_without_values_says_what_to_do():
    raw = pytest.importorskip("denizen_raw")
    report = check.run(raw.Pinned, tables=[table(it=lambda s: s.a)])
    assert any("--values" in note for note in report.notes)


def test_values_can_be_given():
    seen = judged(lambda s: [int(value) for value in s.values], values=[7, 8])
    assert seen.verdict is Verdict.WORKS
    report = check.run(denizen.Integer, tables=[table(it=lambda s: s.a)], values=lambda: [7, 8])
    assert report.values == "given"
    assert "only 2 different values" in report.notes[0]
    with pytest.raises(check.ElementError, match="no values"):
        check.run(denizen.Integer, values=[])


# ---- processes -----------------------------------------------------------------------------------


def test_results_larger_than_a_pipe_arrive():
    ((_, ending),) = run_tasks([Task(lambda: b"x" * 5_000_000, 20.0)], 1)
    assert len(ending.result) == 5_000_000
    assert ending.failure is None


def test_tasks_run_at_the_same_time_but_no_more_than_asked():
    tasks = [Task(lambda: time.monotonic() if time.sleep(0.3) is None else 0, 20.0)] * 4
    started = time.monotonic()
    assert len(list(run_tasks(tasks, 4))) == 4
    assert time.monotonic() - started < 1.1
    started = time.monotonic()
    assert len(list(run_tasks(tasks, 1))) == 4
    assert time.monotonic() - started >= 1.2


def test_what_a_killed_operation_started_is_killed_too(tmp_path):
    note = tmp_path / "note"

    def hang():
        child = os.fork()
        if child == 0:
            note.write_text(str(os.getpid()))
            time.sleep(600)
        os.waitpid(child, 0)

    ((_, ending),) = run_tasks([Task(hang, 0.7)], 1)
    assert ending.failure == "no end within 0.7 s"
    deadline = time.monotonic() + 20
    while running(note.read_text()):
        assert time.monotonic() < deadline, "the process that the operation started still runs"
        time.sleep(0.05)


def running(process):
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except FileNotFoundError:
        return False


def test_operations_end_with_the_process_that_started_them(tmp_path):
    note = tmp_path / "note"
    program = f"""
import os, time
from denizen.check.process import Task, run_tasks
def work():
    open({str(note)!r}, "w").write(str(os.getpid()))
    time.sleep(600)
list(run_tasks([Task(work, 600.0)], 1))
"""
    parent = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    while running(note.read_text()):
        assert time.monotonic() < deadline, "the operation still runs"
        time.sleep(0.05)


def test_an_interrupt_ends_a_run_whenever_it_comes():
    program = """
import os
from denizen.check.process import Task, run_tasks
print("ready", flush=True)
list(run_tasks([Task(os.getpid, 20.0)] * 100_000, 2))
"""
    for wait in (0.1, 0.17, 0.23, 0.31):
        run = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert run.stdout.readline() == "ready\n"
        time.sleep(wait)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=30)
        assert run.returncode == -signal.SIGINT
        assert errors.rstrip().endswith("KeyboardInterrupt")


def test_a_fork_while_arrays_are_alive_is_safe():
    kept = np.array([2**100, 1], dtype=denizen.Integer)
    views = [kept[::-1], kept[:1]]
    assert judged(lambda s: np.sort(s.a)).verdict is Verdict.WORKS
    assert [int(x) for x in views[0]] == [1, 2**100]


def test_an_exception_of_the_check_itself_is_no_verdict_of_works():
    class Unreadable:
        __slots__ = ()

        def __reduce__(self):
            raise KeyError("not to be pickled")

    ((_, ending),) = run_tasks([Task(Unreadable, 20.0)], 1)
    assert "KeyError" in ending.failure


# ---- operations and expected refusals ------------------------------------------------------------


def test_operations_have_unique_titles_and_known_needs():
    titles = [operation.title for operation in selected()]
    assert len(titles) == len(set(titles))
    with pytest.raises(ValueError, match="no capabilities"):
        check.Table("x").add("y", lambda s: s.a, needs={"wings"})
    made = table(one=lambda s: s.a)
    with pytest.raises(ValueError, match="already"):
        made.add("one", lambda s: s.a)


def test_operations_are_chosen_by_pattern_and_section():
    made = [check.Table("sorting"), check.Table("selection")]
    made[0].add("argsort", lambda s: s.a)
    made[0].add("sort", lambda s: s.a)
    made[1].add("take", lambda s: s.a)
    titles = lambda **chosen: [o.title for o in selected(tables=made, **chosen)]  # noqa: E731
    assert titles(only="argsort") == ["sorting: argsort"]
    assert titles(only="*: ?ake") == ["selection: take"]
    assert titles(section="sort") == ["sorting: argsort", "sorting: sort"]
    assert titles(only="SORT", section="sel*") == []


@pytest.mark.parametrize(
    ("version", "clauses", "inside"),
    [
        ("2.4.6", "<2.5", True),
        ("2.5.0", "<2.5", False),
        ("2.5", "<2.5.2", True),
        ("2.5.0.dev0+git", ">=2.5", True),
        ("2.10.1", ">=2.4, <2.11", True),
        ("2.4.6", "", True),
        ("2.4.6", "==2.4.6", True),
        ("2.4.6", "!=2.4.6", False),
    ],
)
def test_version_ranges(version, clauses, inside):
    assert in_range(version, clauses) is inside


def test_bundled_expectations_speak_of_operations_that_exist():
    titles = [operation.title for operation in selected()]
    for entry in read_expected(BUNDLED):
        assert any(entry.covers(title, entry.type, "2.4") for title in titles) or any(
            entry.covers(title, entry.type, "2.5.5") for title in titles
        ), f"{entry.operation} names no operation"


EXPECTED = """
[[refusal]]
operation = "made up: it"
reason = "it is not done here"
numpy = ">=2"
"""


def test_expected_refusals_are_read_and_checked(tmp_path):
    path = tmp_path / "expected.toml"
    path.write_text(EXPECTED)
    refuse = lambda s: _raise(TypeError("not done"))  # noqa: E731
    result = judged(lambda s: s.a if s.is_oracle else refuse(s), expected=[path])
    assert (result.verdict, result.reason) == (Verdict.REFUSED, "it is not done here")
    made = check.Table("made up")
    made.add("it", lambda s: s.a)
    report = check.run(denizen.Integer, tables=[made], expected=[path])
    assert [entry.reason for entry in report.stale] == ["it is not done here"]
    assert "works now" in report.table()


def test_a_leak_of_numpys_own_is_shown_and_does_not_fail(tmp_path):
    path = tmp_path / "expected.toml"
    path.write_text(EXPECTED.replace("refusal", "leak"))
    made = check.Table("made up")
    made.add("it", lambda s: s.is_oracle or KEPT.append(s.a) or True)
    report = check.run(denizen.Integer, tables=[made], expected=[path])
    assert only(report).verdict is Verdict.LEAKS
    assert report.status(strict=True) == 0
    assert report.summary().endswith("0 wrong, 0 leak, 0 crash, 1 leak of NumPy's own")
    assert "Leaks of NumPy's own:" in report.table()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[refusal]]\noperation = 'x'", "refusal 1: reason is missing"),
        ("[[refusal]]\noperation = 'x'\nreason = 'y'\nwhy = 'z'", "unknown ['why']"),
        ("[[refusal]]\noperation = 'x'\nreason = 'y'\nnumpy = '2.5'", "no clause"),
        ("[[refused]]\noperation = 'x'", "entries are [[refusal]], [[leak]]"),
        ("[[refusal", "expected.toml"),
    ],
)
def test_a_wrong_file_of_expectations_is_an_error_that_says_where(tmp_path, text, message):
    path = tmp_path / "expected.toml"
    path.write_text(text)
    with pytest.raises(check.ExpectedError, match=re.escape(message)):
        read_expected(path)


# ---- reports -------------------------------------------------------------------------------------


def _schema(value):
    """The shape of JSON: keys and types."""
    if isinstance(value, dict):
        return {key: _schema(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_schema(value[0])] if value else []
    return type(value).__name__


def test_the_json_has_the_documented_format(faults):
    data = json.loads(faults.to_json())
    assert data["format"] == 1
    assert list(data) == [
        "format", "type", "denizen", "numpy", "python", "values", "compared_by", "notes", "results",
        "stale", "seconds", "counts", "summary",
    ]  # fmt: skip
    by_name = {result["operation"]: result for result in data["results"]}
    assert _schema(by_name["negative"]) == {
        "section": "str", "operation": "str", "verdict": "str", "detail": "str",
        "reason": "NoneType", "leaked": {}, "raised": "str", "errors": "str", "seconds": "float",
    }  # fmt: skip
    assert by_name["absolute"]["leaked"] == {"broken.Broken": 10}
    assert {name: result["verdict"] for name, result in by_name.items()} == {
        **FAULTS, "take": "works"
    }  # fmt: skip
    assert data["counts"] == {
        "works": 1, "refused": 1, "unchecked": 0, "wrong": 3, "leaks": 1, "crashes": 2,
        "refused, not expected": 1,
    }  # fmt: skip
    documented = (Path(__file__).parents[3] / "docs" / "check.md").read_text()
    for key in [*data, *by_name["negative"]]:
        assert f"`{key}`" in documented, f"docs/check.md does not describe {key}"


def test_the_table_lists_what_does_not_work_with_reasons(faults):
    text = faults.table()
    for name in FAULTS:
        assert f"  made up: {name}\n" in text
    assert "made up: take" not in text
    assert "made up: take" in faults.table(verbose=True)
    assert text.endswith(faults.summary())


def test_expected_refusals_are_counted_unless_verbose():
    raw = pytest.importorskip("denizen_raw")
    made = check.Table("made up")
    for name in ("one", "two"):
        made.add(name, lambda s: np.sort(s.a), needs={"ordering"})
    made.add("three", lambda s: s.a.astype(float), needs={"counting"})
    report = check.run(raw.Shared, tables=[made])
    text = report.table()
    assert "     2  denizen_raw.Shared has no ordering\n" in text
    assert "     1  denizen_raw.Shared has no casts from and to numbers\n" in text
    assert "made up: one" not in text
    assert "made up: one" in report.table(verbose=True)
    assert "as expected (" not in report.table(verbose=True)


def test_the_page_has_a_cell_an_operation_and_loads_nothing(faults):
    from denizen.check.page import page

    text = page(faults)
    assert text.count('<button class="cell') == len(faults.results)
    assert text.count("<template id=") == len(faults.results)
    assert "http:" not in text and "https:" not in text
    assert not re.search(r"<(link|script src|img)", text)
    # A letter tells verdicts apart for whoever does not see the colours.
    assert 'aria-label="made up: invert: crashes" aria-expanded="false">X<' in text
    assert 'aria-label="made up: negative: wrong" aria-expanded="false">W<' in text
    assert "no end within 2 s" in text


def test_pages_show_text_as_text():
    from denizen.check.page import page

    result = judged(lambda s: s.is_oracle or _raise(SystemError("<script>alert(1)</script>")))
    report = check.Report("m.<b>T", "1", "2", "3", "v", "c", ("<i>",), (result,), (), 0.0)
    text = page(report)
    assert "<script>alert" not in text
    assert "<b>T" not in text
    assert "<i>" not in text


def test_the_documented_program_runs():
    text = (Path(__file__).parents[3] / "docs" / "check.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text.partition("## From Python")[2], re.M | re.S)
    assert len(blocks) == 2
    program = "\n".join(blocks).replace("mymodule:MyType", "denizen:Rational")
    program = program.replace('"sorting*"', '"joining"')
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=120)


# ---- the command ---------------------------------------------------------------------------------


def command(*arguments, cwd=None, **options):
    return subprocess.run(
        [sys.executable, "-m", "denizen", "check", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        **options,
    )


def test_the_command_exits_with_1_where_something_fails(broken_folder, tmp_path):
    found = command(
        "broken:Broken",
        "--only", "ufuncs: negative",
        "--json", str(tmp_path / "report.json"),
        "--html", str(tmp_path / "report.html"),
        cwd=broken_folder,
    )  # fmt: skip
    assert found.returncode == 1, found
    assert "1 wrong" in found.stdout
    assert json.loads((tmp_path / "report.json").read_text())["type"] == "broken.Broken"
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()


def test_the_command_exits_with_0_where_nothing_fails():
    found = command("denizen:Integer", "--only", "assignment: *", "--jobs", "2")
    assert found.returncode == 0, found
    assert re.search(r"0 wrong, 0 leak, 0 crash$", found.stdout.strip())
    assert "operations" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["denizen:Nothing"], "denizen has no Nothing"),
        ([], "name an element type"),
        (["denizen:Integer", "--only", "no such operation"], "--list"),
        (["denizen:Integer", "--values", "math:pi"], "no list of values"),
        (["denizen:Integer", "--expected", "nowhere.toml"], "nowhere.toml"),
        (["denizen:Integer", "--html", "/"], "cannot write /: it is a directory"),
        (["denizen:Integer", "--json", "no/where.json"], "there is no directory no"),
        (["denizen:Integer", "--values", "random:betavariate"], "betavariate raised TypeError: "),
        (
            ["denizen:Integer", "--values", "string:ascii_letters"],
            "--values gives 'a', which is no",
        ),
        (["denizen:Integer", "--timeout", "0"], "'0' is no number of seconds"),
        (["denizen:Integer", "--timeout", "inf"], "'inf' is no number of seconds"),
        (["denizen:Integer", "--jobs", "0"], "'0' is no number of processes"),
        (["denizen:Integer", "--jobs", "two"], "'two' is no number of processes"),
    ],
)
def test_the_command_exits_with_2_where_it_cannot_check(arguments, message):
    found = command(*arguments)
    assert found.returncode == 2, found
    # One line, below the usage where an option is wrong in itself.
    assert len(found.stderr.strip().split("denizen check: ")[-1].splitlines()) == 1
    assert found.stdout == ""
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_the_command_takes_types_and_values_of_the_current_directory(tmp_path):
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
            import denizen
            Number = denizen.Rational
            def values():
                return [denizen.Rational(n, 7) for n in range(1, 30)]
        """)
    )
    found = command("mine:Number", "--values", "mine:values", "--only", "joining*", cwd=tmp_path)
    assert found.returncode == 0, found
    assert "values: given" in found.stdout


def test_a_name_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from random import choice\nimport denizen\nNumber = denizen.Integer\nvalues = [1, 2]\n"
        "_hidden = []\ncount = 3\ndef more(): return [1]\n"
        "class faults:\n    plan = end = print\n"
    )
    for arguments, message in [
        (["mine:Numbers"], "mine has no Numbers; element types there: Number"),
        (
            ["mine:Number", "--values", "mine:valuess"],
            "mine has no valuess; lists, and functions that may give one, there: values, more",
        ),
        (
            ["mine:Number", "--faults", "--kind", "mine:fault"],
            "mine has no fault; sources of faults there: faults",
        ),
        (
            ["mine:Number", "--values", "math:values"],
            "math has no values; lists, and functions that may give one, there: none",
        ),
    ]:
        found = command(*arguments, cwd=tmp_path)
        assert (found.returncode, found.stderr) == (2, f"denizen check: {message}\n")


def test_the_command_lists_operations():
    found = command("--list", "--section", "joining")
    titles = found.stdout.splitlines()
    assert found.returncode == 0
    assert titles
    assert all(title.startswith("joining: ") for title in titles)
    assert (
        len(command("--list").stdout.splitlines()) == sum(len(table) for table in tables()) >= 250
    )
