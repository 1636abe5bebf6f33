"""`denizen check`: its processes, its operations, the refusals that it expects, and its reports."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.checks import FAULTS, KEPT, _raise, judged, only, table

import denizen
from denizen import check
from denizen.check import Verdict
from denizen.check.runner import selected
from denizen.check.runner.process import Task, run_tasks
from denizen.check.verdict.known_refusals import BUNDLED, in_range, read_expected

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
from denizen.check.runner.process import Task, run_tasks
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
from denizen.check.runner.process import Task, run_tasks
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
    path = tmp_path / "known_refusals.toml"
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
    path = tmp_path / "known_refusals.toml"
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
        ("[[refusal", "known_refusals.toml"),
    ],
)
def test_a_wrong_file_of_expectations_is_an_error_that_says_where(tmp_path, text, message):
    path = tmp_path / "known_refusals.toml"
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
    documented = (Path(__file__).parents[3] / "docs" / "testing-your-type.md").read_text()
    documented = documented.partition("## `denizen audit`")[0]
    for key in [*data, *by_name["negative"]]:
        assert f"`{key}`" in documented, f"docs/testing-your-type.md does not describe {key}"


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
    from denizen.check.report.page import page

    text = page(faults)
    assert text.count('<button class="cell') == len(faults.results)
    assert text.count("<template id=") == len(faults.results)
    assert "http:" not in text and "https:" not in text
    assert not re.search(r"<(link|script src|img)", text)
    # A letter tells verdicts apart where colours do not.
    assert 'aria-label="made up: invert: crashes" aria-expanded="false">X<' in text
    assert 'aria-label="made up: negative: wrong" aria-expanded="false">W<' in text
    assert "no end within 2 s" in text


def test_pages_show_text_as_text():
    from denizen.check.report.page import page

    result = judged(lambda s: s.is_oracle or _raise(SystemError("<script>alert(1)</script>")))
    report = check.Report("m.<b>T", "1", "2", "3", "v", "c", ("<i>",), (result,), (), 0.0)
    text = page(report)
    assert "<script>alert" not in text
    assert "<b>T" not in text
    assert "<i>" not in text


def test_the_documented_program_runs():
    text = (Path(__file__).parents[3] / "docs" / "testing-your-type.md").read_text()
    section = text.partition("## From Python")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    assert len(blocks) == 2
    program = "\n".join(blocks).replace("mymodule:MyType", "denizen:Rational")
    program = program.replace('"sorting*"', '"joining"')
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=120)
