"""`denizen.audit` and `denizen audit`: what happened to objects, and where those were made that
outlive a block or a program."""

import copy
import gc
import inspect
import json
import os
import pickle
import re
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
    assert [frame["function"] for frame in leak["stack"][:3]] == [
        "rationals",
        "make_one",
        "make_two",
    ]
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
@pytest.mark.parametrize("callers", [1, 20, 40])
def test_stacks_of_a_place_are_whole_for_so_many_callers_or_always(trace, callers):
    """However often each of them calls, and whichever made what is left."""
    names = [f"caller_{number}" for number in range(callers)]
    lines = (f"def {name}(build): return build()" for name in names)
    namespace = {}
    exec("\n".join(lines), namespace)

    def build():
        return rationals(1)

    kept = None
    with denizen.audit(raises=False, trace=trace) as report:
        for _ in range(10):
            for name in names:
                kept = namespace[name](build)
    (leak,) = report.leaks
    known = trace or callers < 32
    assert leak["callers"] == ("one" if known else "unknown")
    assert ("--trace" in str(report)) is not known
    functions = [site["function"].rpartition(".")[2] for site in leak["stack"]]
    assert functions[:3] == (["rationals", "build", names[-1]] if known else ["rationals"])
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


@pytest.mark.parametrize(("old", "new"), [(8, 4), (5, 5)])
def test_new_objects_beside_fewer_old_ones_are_not_called_nothing(old, new):
    held = [rationals(*range(1, old + 1))]
    with denizen.audit() as report:
        held[0] = rationals(*range(1, new + 1))
    before = report.types["denizen.Rational"]["live_before"]
    told = f"({before + new - old:,} alive, {before:,} before)"
    assert f"no more denizen.Rational objects than before {told}" in str(report)
    assert "nothing outlived" not in str(report)


def one_caller(kept):
    kept.append(make_one())


def other_caller(kept):
    kept.append(make_one())
    kept.append(make_one())


@pytest.mark.parametrize("trace", [False, True])
def test_callers_of_one_place_are_told_apart_by_a_trace(trace):
    kept = []
    with denizen.audit(raises=False, trace=trace) as report:
        one_caller(kept)
        other_caller(kept)
        one_caller(kept)
    found = {
        tuple(frame["function"] for frame in leak["stack"][1:3]): (leak["count"], leak["callers"])
        for leak in report.leaks
    }
    lines = [leak["stack"][-1]["line"] for leak in report.leaks]
    if trace:
        # Two lines of this test call `one_caller`, two of `other_caller` call `make_one`.
        assert set(found.values()) == {(2, "one")} and len(set(lines)) == 3
        assert [leak["count"] for leak in report.leaks] == [2, 2, 2, 2]
        assert "several callers" not in str(report)
    else:
        assert found == {("make_one",): (8, "several")}
        assert "from several callers; --trace (trace=True) tells them apart" in str(report)
    assert len(kept) == 4


@pytest.mark.parametrize("depth", [20, 98, 99, 400])
def test_deep_stacks_keep_both_ends(depth):
    def dive(depth):
        return dive(depth - 1) if depth else make_one()

    def outermost():
        return dive(depth)

    with denizen.audit(raises=False, trace=True) as report:
        kept = outermost()
    (leak,) = report.leaks
    functions = [frame["function"].rpartition(".")[2] for frame in leak["stack"]]
    assert functions[:3] == ["rationals", "make_one", "dive"]
    assert len(functions) <= 100
    if depth == 400:
        # The code around the block is among those that are left out, or at the outer end.
        assert len(functions) + leak["left_out"] >= depth + 5
    assert functions[-2:] == ["outermost", "test_deep_stacks_keep_both_ends"]
    assert len(functions) + leak["left_out"] == depth + 5
    text = str(report)
    assert f"({depth + 5 - 12} more frames)" in text and "in test_deep_stacks" in text
    assert text.count("\n    > ") == 1
    assert len(kept) == 2


def test_scalars_are_found():
    denizen_example = pytest.importorskip("denizen_example")
    with denizen.audit(raises=False) as report:
        kept = denizen_example.Dual(3)
    (leak,) = report.leaks
    assert (leak["type"], leak["count"], leak["where"]) == ("denizen_example.Dual", 1, "scalar")
    assert report.types["denizen_example.Dual"]["scalars"] >= 1
    assert kept is not None


def test_functions_of_pythons_library_are_no_sites():
    a = rationals(1, 2)
    with denizen.audit(raises=False) as report:
        kept = copy.deepcopy([a])  # deep
    assert report.leaks[0]["site"]["line"] == line_of("deep")
    assert "deepcopy" in [frame["function"] for frame in report.leaks[0]["stack"]]
    assert len(kept) == 1


def test_objects_that_only_move_are_in_their_scalars():
    denizen_raw = pytest.importorskip("denizen_raw")
    with denizen.audit(raises=False) as report:
        a = np.array([1, 2], dtype=denizen_raw.Single)
        shown = a[0]
        del a  # taken over
    (leak,) = report.leaks
    assert (leak["count"], leak["where"]) == (1, "scalar")
    assert report.foreign == []
    with denizen.audit() as report:
        del shown
    assert report.types["denizen_raw.Single"]["destroyed"] == 1


def test_unpickled_arrays_are_managed_as_any_other():
    saved = pickle.dumps(rationals(1, 2, 3))
    with denizen.audit(raises=False) as report:
        kept = pickle.loads(saved)  # loaded
    (leak,) = report.leaks
    assert (leak["count"], leak["where"], leak["segments"]) == (3, "managed", 1)
    assert leak["site"]["line"] == line_of("loaded") and report.foreign == []
    assert kept.size == 3


def test_what_is_beyond_the_books_is_in_a_place_that_is_not_known():
    """More objects outside segments than are followed one by one."""
    with denizen.audit(raises=False) as report:
        records = np.zeros(150_000, dtype=[("n", denizen.Integer.dtype), ("i", "i1")])
        records["n"] = 1
    assert [(leak["count"], leak["where"]) for leak in report.leaks] == [
        (1 << 17, "foreign"),
        (150_000 - (1 << 17), "unknown"),
    ]
    assert "in a place that is not known" in str(report)
    del records


# ---- foreign memory, reconciliations -------------------------------------------------------------


def test_casts_in_buffers_are_named():
    a, b = np.arange(20_000), np.ones(20_000, dtype=denizen.Rational)
    with denizen.audit() as report:
        total = a * b  # buffered
        del total
    row = only(report.foreign, operation="cast from int64 to denizen.Rational")
    assert row["constructed"] == 19_999 and row["calls"] >= 3
    assert row["site"]["line"] == line_of("buffered")
    assert report.types["denizen.Rational"]["foreign"] == 19_999


def test_reconciled_bits_are_named():
    a = rationals(1, 0, 2, 0, 0, 3)
    with denizen.audit(raises=False) as report:
        np.random.default_rng(1).shuffle(a)
        a += 1  # mended
    (row,) = report.reconciled
    assert row["operation"] == "add" and row["site"]["line"] == line_of("mended")
    assert row["bits"] == report.types["denizen.Rational"]["reconciled"] > 0
    a[:] = 0


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


def test_audits_nest_and_each_has_its_own_books():
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
    assert row["constructed"] == 5000 and row["site"]["line"] == line_of("outside")
    assert report.leaks[0]["site"]["line"] == line_of("outside")


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


def test_the_timeline_has_the_peak():
    with denizen.audit() as report:
        for size in (10, 500, 20):
            np.ones(size, dtype=denizen.Rational)
    timeline = report.timeline
    live = timeline["live"]["denizen.Rational"]
    assert len(live) == len(timeline["seconds"]) <= 2000
    figures = report.types["denizen.Rational"]
    assert max(live) == figures["peak"] >= figures["live_before"] + 500


# ---- the command -----------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path):
    """Runs `denizen audit` on a program; gives the process and the report."""

    def run(source, *arguments, options=(), stdin=None, module=False):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(source))
        found = tmp_path / "report.json"
        found.unlink(missing_ok=True)
        named = ["-m", "program"] if module else [str(script)]
        process = subprocess.run(
            [
                sys.executable,
                "-m",
                "denizen",
                "audit",
                "--json",
                str(found),
                *options,
                *named,
                *arguments,
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            input=stdin,
            timeout=60,
        )
        report = json.loads(found.read_text()) if found.exists() else None
        return process, report

    return run


LEAK = """
    import sys, numpy as np, denizen
    sys.__dict__["kept"] = np.ones(3, dtype=denizen.Rational)
"""


def test_globals_at_the_end_are_no_leak(program, tmp_path):
    (tmp_path / "helper.py").write_text(
        "import numpy as np, denizen\nheld = np.ones(4, dtype=denizen.Rational)\n"
    )
    process, report = program(
        """
        import numpy as np, denizen, helper
        from typing import Optional
        class Holder:
            array = np.ones(3, dtype=denizen.Rational)
        kept = Optional[Holder]
        def function(): return kept
        kept_too = [np.ones(2, dtype=denizen.Rational), function]
        """
    )
    assert process.returncode == 0, process.stderr
    assert report["types"]["denizen.Rational"]["peak"] >= 9
    assert report["leaks"] == [] and "nothing outlived the audit" in process.stderr
    told = "9 denizen.Rational objects were held by the program's modules until they were dropped"
    assert told in process.stderr and report["notes"] == []
    places = [(row["count"], row["site"]["function"]) for row in report["held"]]
    assert places == [(4, "<module>"), (3, "Holder"), (2, "<module>")]


GROWS = """
    import functools, sys
    import numpy as np, denizen
    kept = []
    @functools.lru_cache
    def ones(n):
        return np.ones(n, dtype=denizen.Integer)
    def grow():
        kept.append(np.ones(10, dtype=denizen.Integer))
    for _ in range(5):
        grow()
    ones(20)
    ones(10)
    sys.__dict__["stays"] = ones(10), kept[0]
"""


@pytest.mark.parametrize("trace", [False, True])
def test_what_modules_held_is_shown_with_its_places_and_is_no_leak(program, tmp_path, trace):
    page = tmp_path / "page.html"
    options = ["--html", str(page), *(["--trace"] if trace else [])]
    process, report = program(GROWS, options=options)
    assert process.returncode == 3, process.stderr
    assert sum(leak["count"] for leak in report["leaks"]) == 20
    kept, cached = report["held"]
    # Less what is alive at the end.
    assert (kept["count"], kept["segments"], kept["bytes"]) == (40, 4, 320)
    assert (kept["where"], kept["callers"]) == ("managed", "one")
    assert kept["site"]["text"] == "kept.append(np.ones(10, dtype=denizen.Integer))"
    assert [site["function"] for site in kept["stack"]][-2:] == ["grow", "<module>"]
    assert (cached["count"], cached["segments"], cached["site"]["function"]) == (20, 1, "ones")
    assert (
        "60 denizen.Integer objects were held by the program's modules until they were dropped\n"
        "  40 in 4 arrays (320 bytes), made at program.py:9 in grow\n"
        "  20 in 1 array (160 bytes), made at program.py:7 in ones\n"
    ) in process.stderr
    shown = page.read_text()
    assert "program.py:9" in shown[shown.index('id="held"') :]
    process, report = program(GROWS.replace("sys.__dict__", "globals()"))
    assert process.returncode == 0 and report["leaks"] == []
    assert [row["count"] for row in report["held"]] == [50, 30]


def test_of_what_modules_held_the_most_important_places_are_shown(program):
    process, report = program(
        "import numpy as np, denizen\n"
        + "".join(f"a{n} = np.ones({n}, dtype=denizen.Integer)\n" for n in range(1, 10))
    )
    assert [row["count"] for row in report["held"]] == list(range(9, 0, -1))
    (shown,) = re.findall(r"held by the .*\n((?:  .*\n)*)", process.stderr)
    assert len(shown.splitlines()) == 6
    assert shown.endswith("  and 4 more, which --json or --html show\n")


@pytest.mark.parametrize(
    ("arguments", "options", "told"),
    [
        (["--html", "a b.html"], [], "--html 'a b.html'"),
        (["x", "--html=a.html", "--trace"], [], "--html=a.html --trace"),
        (["--trace", "--json", "b.json"], [], "--trace"),
        (["--trace"], ["--trace"], None),
        (["--tracer", "html", "-m"], [], None),
        (["--", "--trace"], [], None),
    ],
)
def test_options_behind_the_programs_name_are_the_programs_and_said_so(
    program, tmp_path, arguments, options, told
):
    process, report = program(
        "import sys; print(sys.argv[1:]); print('runs', file=sys.stderr)",
        *arguments,
        options=options,
    )
    assert process.stdout == f"{arguments}\n"
    assert report is not None and process.returncode == 0
    before = process.stderr[: process.stderr.index("runs")]
    script = tmp_path / "program.py"
    assert before == (
        f"denizen: {told} went to the program; options of denizen audit come before its name: "
        f"denizen audit {told} {script}\n"
        if told
        else ""
    )
    assert not list(tmp_path.glob("*.html")) and not list(tmp_path.glob("b.json"))


def test_leaks_of_a_program_have_a_status_of_their_own(program):
    process, report = program(LEAK)
    assert process.returncode == 3
    (leak,) = report["leaks"]
    assert leak["count"] == 3 and leak["site"]["line"] == 3
    assert leak["stack"][-1]["function"] == "<module>"
    assert "3 denizen.Rational objects outlived the audit" in process.stderr
    assert "program.py:3, in <module>" in process.stderr


@pytest.mark.parametrize(
    ("end", "status"), [("sys.exit(7)", 7), ("sys.exit('no')", 1), ("1 / 0", 1), ("sys.exit()", 3)]
)
def test_the_status_is_the_programs(program, end, status):
    process, report = program(LEAK + "    " + end)
    assert process.returncode == status
    assert report["types"]["denizen.Rational"]["leaked"] == 3


def test_an_exception_is_shown_as_python_shows_it(program, tmp_path):
    source = "def f():\n    return 1 / 0\n\nf()\n"
    process, report = program(source)
    plain = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True
    )
    assert process.stderr.startswith(plain.stderr) and "ZeroDivisionError" in plain.stderr
    assert process.returncode == plain.returncode == 1
    assert report["leaks"] == []
    broken, _ = program("def f(:\n")
    assert broken.returncode == 1 and "SyntaxError" in broken.stderr


PRINT = """
    import os, sys
    print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name)
    print(sys.modules["__main__"].__dict__ is globals(), type(__builtins__), input())
"""


@pytest.mark.parametrize("module", [False, True])
def test_a_program_runs_as_python_would_run_it(program, tmp_path, module):
    arguments = ["one", "--json", "-m", "--", "x"]
    process, _ = program(PRINT, *arguments, stdin="line\n", module=module)
    named = ["-m", "program"] if module else [str(tmp_path / "program.py")]
    plain = subprocess.run(
        [sys.executable, *named, *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        input="line\n",
    )
    assert process.stdout == plain.stdout and plain.stdout.count("\n") == 2, process.stderr
    assert process.returncode == plain.returncode == 0


def test_packages_and_archives_run(program, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text(textwrap.dedent(PRINT))
    (package / "__init__.py").write_text("")
    for named in (["-m", "package"], ["package"]):
        outputs = [
            subprocess.run(
                [sys.executable, *command, *named],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                input="line\n",
            ).stdout
            for command in ([], ["-m", "denizen", "audit"])
        ]
        assert outputs[0] == outputs[1] != ""


def test_threads_and_atexit_functions_run_before_the_report(program):
    process, report = program(
        """
        import atexit, threading, time, numpy as np, denizen
        held = []
        def late():
            time.sleep(0.2)
            held.append(np.ones(3, dtype=denizen.Rational))
            print("thread")
        threading.Thread(target=late).start()
        atexit.register(lambda: (held.append(np.ones(2, dtype=denizen.Rational)), print("atexit")))
        print("end")
        """
    )
    assert process.stdout.split() == ["end", "thread", "atexit"], process.stderr
    assert process.returncode == 0
    assert report["types"]["denizen.Rational"]["peak"] >= 5
    assert report["leaks"] == []


POOLS = {
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(pool.submit(lambda: int(np.ones(5, dtype=denizen.Rational).sum())).result())
    """,
    "processes": """
        from concurrent.futures import ProcessPoolExecutor
        if __name__ == "__main__":
            pool = ProcessPoolExecutor(2)
            print(pool.submit(len, "words").result())
    """,
    "registered": """
        import threading
        stop = threading.Event()
        def work():
            stop.wait()
            print(5)
        threading._register_atexit(stop.set)
        threading.Thread(target=work).start()
    """,
    "never asked": """
        import atexit, time
        from concurrent.futures import ThreadPoolExecutor
        def late():
            time.sleep(0.2)
            print(5)
        ThreadPoolExecutor(1).submit(late)
        atexit.register(lambda: np.ones(2, dtype=denizen.Rational).sum())
    """,
}


@pytest.mark.parametrize("pool", POOLS)
def test_a_pool_that_is_open_at_the_end_is_told_to_end(program, pool):
    """Its workers wait for work until functions that `threading` runs at the end tell them."""
    source = "import numpy as np, denizen\n" + textwrap.dedent(POOLS[pool])
    process, report = program(source)
    assert process.stdout == "5\n", process.stderr
    assert process.returncode == 0 and "Traceback" not in process.stderr
    assert report["leaks"] == []


def test_what_functions_at_the_end_raise_is_printed(program):
    process, report = program(
        """
        import threading
        threading._register_atexit(lambda: 1 / 0)
        """
    )
    assert process.returncode == 0 and process.stderr.count("ZeroDivisionError") == 1
    assert report is not None


def test_a_daemon_thread_at_work_is_not_disturbed(program):
    process, report = program(
        """
        import threading, time, numpy as np, denizen
        def work():
            while True:
                (np.ones(30, dtype=denizen.Rational) + 1).sum()
        threading.Thread(target=work, daemon=True, name="busy").start()
        time.sleep(0.3)
        """
    )
    assert process.returncode in (0, 3), process.stderr
    assert "Traceback" not in process.stderr
    assert report["types"]["denizen.Rational"]["constructed"] > 60
    assert "still running: daemon thread 'busy'" in process.stderr
    assert any("'busy'" in note for note in report["notes"])


def test_a_forked_child_writes_no_report(program):
    process, report = program(
        """
        import os, sys, numpy as np, denizen
        a = np.ones(3, dtype=denizen.Rational)
        child = os.fork()
        if child == 0:
            b = a + 1
            sys.exit(int((b == 2).all()) + 40)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert process.stdout == "41\n" and process.returncode == 0, process.stderr
    assert process.stderr.count("denizen audit of") == 1
    assert 3 <= report["types"]["denizen.Rational"]["peak"] < 6


def test_multiprocessing_finds_the_programs_functions(program):
    process, _ = program(
        """
        import multiprocessing, numpy as np, denizen
        def square(n): return int((np.full(3, denizen.Integer(n)) ** 2).sum())
        if __name__ == "__main__":
            for way in ("spawn", "fork"):
                with multiprocessing.get_context(way).Pool(2) as pool:
                    print(pool.map(square, range(4)))
        """
    )
    assert process.stdout == "[0, 3, 12, 27]\n" * 2, process.stderr
    assert process.returncode == 0


def test_a_type_registered_by_the_program_is_in_its_report(program):
    pytest.importorskip("denizen_example")
    process, report = program(
        """
        import numpy as np, denizen, denizen_example, builtins
        builtins.kept = np.full(3, denizen_example.Dual(2))
        """
    )
    assert process.returncode == 3, process.stderr
    (leak,) = report["leaks"]
    assert (leak["type"], leak["count"]) == ("denizen_example.Dual", 3)


def test_json_on_stdout_is_its_last_line_whatever_the_program_prints(program):
    for printed in ("", "print('one\\ntwo')", "print('no end', end='')"):
        process, _ = program(f"{textwrap.dedent(LEAK)}\n{printed}", options=["--json", "-"])
        assert json.loads(process.stdout.splitlines()[-1])["leaks"][0]["count"] == 3


def test_lists_of_numbers_have_a_line_each(program, tmp_path):
    _, report = program(f"{textwrap.dedent(LEAK)}\nimport time; time.sleep(0.2)\n")
    assert len(report["timeline"]["seconds"]) > 1000
    lines = (tmp_path / "report.json").read_text().splitlines()
    numbers = [line for line in lines if re.match(r'\s*"[\w.]+": \[\d', line)]
    assert [json.loads(line.rstrip(",").partition(": ")[2]) for line in numbers] == [
        report["timeline"]["seconds"],
        report["timeline"]["live"]["denizen.Rational"],
    ]


def test_json_goes_to_stdout_and_html_to_a_file(program, tmp_path):
    process, _ = program(LEAK, options=["--json", "-", "--html", str(tmp_path / "page.html")])
    assert json.loads(process.stdout)["leaks"][0]["count"] == 3
    assert "<html" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "end",
    [
        "sys.stdout = sys.stderr = io.StringIO()",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout = sys.stderr = None",
        "os.chdir('/')",
    ],
)
def test_a_program_that_moves_away_is_reported_where_the_command_began(program, tmp_path, end):
    # The file is named from where the command runs.
    process, _ = program(
        f"import io, os\n{textwrap.dedent(LEAK)}\n{end}\n", options=["--json", "from here.json"]
    )
    assert json.loads((tmp_path / "from here.json").read_text())["leaks"][0]["count"] == 3
    assert "3 denizen.Rational objects outlived the audit" in process.stderr
    assert "> program.py:4, in <module>" in process.stderr
    assert process.returncode == 3 and "Traceback" not in process.stderr


@pytest.mark.parametrize("closed", ["1", "2", "1, 2"])
def test_files_are_written_where_nobody_listens_any_more(program, closed):
    source = f"{textwrap.dedent(LEAK)}\nimport os\nfor stream in ({closed},): os.close(stream)\n"
    process, report = program(source)
    assert report["leaks"][0]["count"] == 3
    assert process.returncode == (2 if "2" in closed else 3), process.stderr
    assert ("outlived the audit" in process.stderr) is ("2" not in closed)


@pytest.mark.parametrize(
    "end",
    [
        "sys.setrecursionlimit(30)",
        "sys.path.clear(); sys.meta_path.clear()",
        "import warnings; warnings.simplefilter('error')",
    ],
)
def test_the_report_stands_what_a_program_does_to_its_interpreter(program, end):
    process, report = program(f"{textwrap.dedent(LEAK)}\n{end}\n")
    assert process.returncode == 3, process.stderr
    assert report["leaks"][0]["count"] == 3 and "Traceback" not in process.stderr


@pytest.mark.parametrize("cyclic", [False, True])
def test_destructors_at_the_end_find_the_names_that_they_use(program, tmp_path, cyclic):
    source = f"""\
        import numpy as np, denizen
        class Holder:
            def __init__(self):
                self.array = np.ones(3, dtype=denizen.Rational)
                self.cycle = self if {cyclic} else None
            def __del__(self):
                print(np.sum(self.array), "at the end")
        held = Holder()
    """
    (tmp_path / "helper.py").write_text(textwrap.dedent(source))
    process, report = program(f"import helper\n{textwrap.dedent(source)}")
    assert process.stdout == "3 at the end\n" * 2, process.stderr
    assert report["leaks"] == [] and "Exception ignored" not in process.stderr


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("file", ["missing/report", "."])
def test_a_file_that_cannot_be_written_is_said_before_the_program_runs(program, option, file):
    process, _ = program("print('ran')", options=[option, file])
    assert process.returncode == 2 and process.stdout == ""
    assert re.fullmatch(r"denizen: cannot write .*\n", process.stderr)


def test_an_interrupted_program_ends_as_interrupted(program):
    process, report = program("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    assert process.returncode == 128 + signal.SIGINT
    assert "KeyboardInterrupt" in process.stderr and report is not None


@pytest.mark.parametrize("named", [["missing.py"], ["-m", "missing"], ["-m", "denizen._runtime"]])
def test_programs_that_are_not_there(named):
    process = subprocess.run(
        [sys.executable, "-m", "denizen", "audit", *named], capture_output=True, text=True
    )
    assert process.returncode == 2
    assert process.stderr.startswith("denizen: ") and "Traceback" not in process.stderr


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
