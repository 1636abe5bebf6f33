"""`denizen audit`: a program under audit runs as Python would run it, and is reported on."""

import json
import re
import signal
import subprocess
import sys
import textwrap

import pytest

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
def test_files_are_written_where_stdout_is_closed(program, closed):
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
