"""The pytest plugin: which tests fail for what they leave behind, and which do not.

Each test writes a test file and runs pytest on it, in a process of its own, where every warning is
an error.
"""

import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from support.process import outside_ci

import denizen

ROOT = Path(__file__).parents[3]
HEAD = """
import gc, logging, unittest
import numpy as np, pytest
from denizen import Integer, Rational

kept = []
def ones(n):
    return np.ones(n, dtype=Integer)
def keep(n):
    kept.append(ones(n))
"""


@pytest.fixture
def run(tmp_path):
    """Writes files and runs pytest; gives the outcomes of the tests and the output."""

    def run(*arguments, plugin=True, head=HEAD, **files):
        for name, source in files.items():
            (tmp_path / f"{name}.py").write_text(head + source)
        if not plugin:
            return run_pytest(tmp_path, *arguments)
        # Other plugins that are installed take their time.
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return run_pytest(tmp_path, "-p", "pytest_denizen", *arguments, **alone)

    return run


def run_pytest(folder, *arguments, **environment):
    command = [sys.executable, "-W", "error", "-m", "pytest", "-rA", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--strict-markers", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=outside_ci() | environment,
    )
    outcomes = {}
    for outcome, name in re.findall(
        r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) \S+?\.py::(\S+)", done.stdout, re.M
    ):
        short = outcome if outcome.startswith("X") else outcome[0]
        outcomes[name] = outcomes.get(name, "") + short
    outcomes["status"] = done.returncode
    assert not done.stderr, done.stderr
    return outcomes, done.stdout


def test_a_leak_fails_the_test_and_says_where_it_was_made(run):
    outcomes, output = run(
        test_a="""
@pytest.mark.denizen_audit
def test_global():
    keep(10)

def test_after(denizen_audit):
    assert len(kept) == 1
    assert ones(3).sum() == 3
"""
    )
    assert outcomes == {"test_global": "PE", "test_after": "P", "status": 1}
    assert "ERROR at teardown of test_global" in output
    assert "10 denizen.Integer objects outlived the test" in output
    assert "denizen.Integer: 10 in 1 array (80 bytes)" in output
    assert "> test_a.py:8, in ones" in output
    assert "test_a.py:14, in test_global\n        keep(10)\n" in output
    # The frames of pytest are nobody's.
    assert f"{os.sep}_pytest{os.sep}" not in output and f"{os.sep}pluggy{os.sep}" not in output


def test_what_is_reachable_from_nowhere_is_no_leak(run):
    outcomes, _ = run(
        test_a="""
pytestmark = pytest.mark.denizen_audit

def test_cycle():
    cycle = [ones(10)]
    cycle.append(cycle)

def test_exception():
    array = ones(10)
    with pytest.raises(ZeroDivisionError) as info:
        other = ones(5)
        1 / 0
    assert info.traceback

def test_generator():
    def generate():
        array = ones(10)
        yield
    next(generator := generate())

def test_attribute_of_an_exception():
    class Error(Exception): pass
    with pytest.raises(Error):
        error = Error()
        error.array = ones(10)
        raise error

def test_logged(caplog):
    logging.getLogger().warning("%s", ones(3))
    assert len(caplog.records) == 1

def test_printed(capsys):
    print(ones(3))

def test_patched(monkeypatch):
    monkeypatch.setattr("builtins.denizen_test", ones(3), raising=False)
""",
    )
    assert outcomes.pop("status") == 0
    assert set(outcomes.values()) == {"P"} and len(outcomes) == 7


def test_a_cache_that_grows_fails_the_first_test_alone(run):
    outcomes, output = run(
        test_a="""
import functools
pytestmark = pytest.mark.denizen_audit

@functools.cache
def cached(n):
    return ones(n)

def test_first():
    cached(4)

def test_second():
    cached(4)

def test_scalar():
    kept.append(Integer(7) + 1)
    kept.append(Rational(1, 3))
"""
    )
    assert outcomes["test_first"] == "PE" and outcomes["test_second"] == "P"
    assert "4 denizen.Integer objects" in output


def test_a_failed_test_is_not_reported_for_a_leak_too(run):
    outcomes, output = run(
        test_a="""
pytestmark = pytest.mark.denizen_audit

def test_fails():
    array = ones(10)
    keep(5)
    assert array[0] == 2

@pytest.mark.xfail
def test_expected():
    array = ones(10)
    assert array[0] == 2

def test_skips():
    array = ones(10)
    pytest.skip("no reason")

@pytest.fixture
def broken():
    array = ones(10)
    yield
    raise OSError("teardown")

def test_teardown_fails(broken):
    pass

@pytest.fixture
def broken_setup():
    array = ones(10)
    raise OSError("setup")

def test_setup_fails(broken_setup):
    pass

def test_next_is_judged_alone():
    array = ones(10)

def test_next_leaks():
    keep(3)
"""
    )
    assert outcomes == {
        "test_fails": "F",
        "test_expected": "XFAIL",
        "test_teardown_fails": "PE",
        "test_setup_fails": "E",
        "test_next_is_judged_alone": "P",
        "test_next_leaks": "PE",
        "status": 1,
    }
    assert output.count("outlived the test\n") == 1
    assert "pytest_denizen" not in output


@pytest.mark.parametrize("expected", ["", "@pytest.mark.xfail"], ids=["fails", "xfails"])
def test_what_a_failure_keeps_makes_up_for_no_leak(run, expected):
    """The frames of a failed test live until pytest calls the next one."""
    outcomes, output = run(
        test_a=f"""
pytestmark = pytest.mark.denizen_audit

{expected}
def test_before():
    array = ones(10)
    assert array[0] == 2

def test_leaks_fewer():
    keep(4)

{expected}
def test_before_that():
    array = ones(10)
    assert array[0] == 2

def test_leaks_more():
    keep(13)

{expected}
def test_once_more():
    array = ones(10)
    assert array[0] == 2

def test_leaks_nothing():
    ones(3)
"""
    )
    before = "XFAIL" if expected else "F"
    assert outcomes == {
        "test_before": before,
        "test_leaks_fewer": "PE",
        "test_before_that": before,
        "test_leaks_more": "PE",
        "test_once_more": before,
        "test_leaks_nothing": "P",
        "status": 1,
    }
    assert "4 denizen.Integer objects outlived the test\n" in output
    assert "13 denizen.Integer objects outlived the test\n" in output


def test_fixtures_of_a_class_are_no_wider_than_tests_outside_classes(run):
    """There they end with the test, so nothing of theirs may stay."""
    outcomes, output = run(
        test_a="""
@pytest.fixture(scope="class")
def of_class():
    yield ones(50)

@pytest.mark.denizen_audit
def test_leaks(of_class):
    keep(20)

@pytest.mark.denizen_audit
def test_clean(of_class):
    assert of_class.sum() == 50

@pytest.mark.denizen_audit
class TestClass:
    def test_in_class(self, of_class):
        assert of_class.sum() == 50
"""
    )
    assert outcomes == {
        "test_leaks": "PE",
        "test_clean": "P",
        "TestClass::test_in_class": "P",
        "status": 1,
    }
    assert "20 denizen.Integer objects outlived the test" in output


def test_fixtures_of_the_test_may_hold_arrays_and_wider_ones_keep_them(run):
    outcomes, output = run(
        conftest="""
@pytest.fixture(scope="session")
def session():
    return ones(100)
""",
        test_a="""
@pytest.fixture(scope="module", params=[1, 2])
def module(request, session):
    return [ones(10 * request.param)]

@pytest.fixture(scope="module")
def lazy():
    return ones(30)

@pytest.fixture(scope="class")
def of_class():
    yield ones(5)

@pytest.fixture
def own():
    return ones(7)

@pytest.fixture(autouse=True)
def everywhere():
    array = ones(2)
    yield
    assert array.sum() == 2

pytestmark = pytest.mark.denizen_audit

def test_module(module, own):
    assert own.sum() == 7

def test_lazy(request, own):
    assert request.getfixturevalue("lazy").size == 30

class TestClass:
    def test_class(self, of_class, own):
        self.array = own + 1

    def test_other(self, of_class):
        keep(3)

def test_appends_to_a_wider_one(module):
    module.append(ones(11))
""",
    )
    assert outcomes == {
        "test_module[1]": "P",
        "test_module[2]": "P",
        "test_lazy": "P",
        "TestClass::test_class": "P",
        "TestClass::test_other": "PE",
        "test_appends_to_a_wider_one[1]": "PE",
        "test_appends_to_a_wider_one[2]": "PE",
        "status": 1,
    }
    assert output.count("11 denizen.Integer objects outlived the test\n") == 2
    assert output.count("3 denizen.Integer objects outlived the test\n") == 1


def test_a_leak_beside_a_wider_fixture_is_named_without_it(run):
    outcomes, output = run(
        test_a="""
@pytest.fixture(scope="module")
def module():
    return ones(1000)

@pytest.mark.denizen_audit
def test_both(module):
    kept.append(np.zeros(6, dtype=Integer) + 1)
"""
    )
    assert outcomes == {"test_both": "PE", "status": 1}
    assert "6 denizen.Integer objects outlived the test" in output
    assert "denizen.Integer: 6 in 1 array" in output and "1,000 in" not in output


def test_the_marker_has_arguments(run):
    outcomes, output = run(
        test_a="""
class TestAllowed:
    pytestmark = pytest.mark.denizen_audit(allow={"denizen.Integer": 5})

    def test_few(self):
        keep(5)

    def test_many(self):
        keep(6)

    def test_other_type(self):
        kept.append(np.ones(1, dtype=Rational))

    @pytest.mark.denizen_audit(False)
    def test_not_at_all(self):
        keep(100)

@pytest.mark.denizen_audit(allow={"Integer": 3})
def test_no_such_type():
    pass

@pytest.mark.denizen_audit(trace=True)
def test_trace(denizen_audit):
    assert denizen_audit.to_dict()["trace"]

@pytest.mark.denizen_audit(alow={})
def test_unknown():
    pass

@pytest.mark.denizen_audit(allow=3)
def test_no_mapping():
    pass

@pytest.mark.denizen_audit("yes")
def test_no_bool():
    pass
"""
    )
    assert outcomes == {
        "TestAllowed::test_few": "P",
        "TestAllowed::test_many": "PE",
        "TestAllowed::test_other_type": "PE",
        "TestAllowed::test_not_at_all": "P",
        "test_no_such_type": "PE",
        "test_trace": "P",
        "test_unknown": "E",
        "test_no_mapping": "E",
        "test_no_bool": "E",
        "status": 1,
    }
    assert "6 denizen.Integer objects (5 allowed) outlived the test" in output
    assert "1 denizen.Rational object outlived the test" in output
    assert "'Integer' objects, but no element type is called so; is denizen.Integer mean" in output
    assert "the marker denizen_audit got an unexpected keyword argument 'alow'" in output
    assert "got allow=3; numbers by names of types are expected" in output


def test_the_fixture_counts(run):
    outcomes, output = run(
        test_a="""
@pytest.fixture
def array():
    return ones(10)

def test_figures(array, denizen_audit):
    assert denizen_audit.types["denizen.Integer"]["constructed"] >= 10
    assert denizen_audit.leaks[0]["count"] == 10

def test_too_late(request):
    request.getfixturevalue("denizen_audit")

@pytest.mark.usefixtures("denizen_audit")
def test_used():
    keep(3)

@pytest.mark.denizen_audit(False)
def test_not_judged(denizen_audit):
    keep(3)
    assert denizen_audit.leaks[0]["count"] == 3

def test_beside_a_block(denizen_audit):
    import denizen
    with pytest.raises(denizen.LeakError):
        with denizen.audit():
            array = ones(3)
"""
    )
    assert outcomes == {
        "test_figures": "P",
        "test_too_late": "F",
        "test_used": "PE",
        "test_not_judged": "P",
        "test_beside_a_block": "P",
        "status": 1,
    }
    assert "denizen_audit must be an argument of the test" in output


@pytest.mark.parametrize("way", ["option", "ini"])
def test_all_tests_can_be_audited(run, tmp_path, way):
    if way == "ini":
        (tmp_path / "pytest.ini").write_text("[pytest]\ndenizen_audit = true\n")
    outcomes, _ = run(
        *(["--denizen-audit"] if way == "option" else []),
        test_a="""
@pytest.mark.parametrize("n", [0, 1, 2])
def test_some(n):
    keep(n)

def test_none():
    ones(3)

def test_denizen_is_not_needed():
    pass

@pytest.mark.denizen_audit(False)
def test_knows_why():
    keep(3)
""",
    )
    assert outcomes == {
        "test_some[0]": "P",
        "test_some[1]": "PE",
        "test_some[2]": "PE",
        "test_none": "P",
        "test_denizen_is_not_needed": "P",
        "test_knows_why": "P",
        "status": 1,
    }


def test_without_option_marker_and_fixture_nothing_is_audited(run):
    outcomes, _ = run(test_a="def test_some():\n    keep(5)\n")
    assert outcomes == {"test_some": "P", "status": 0}


def test_tests_of_unittest(run):
    outcomes, _ = run(
        test_a="""
@pytest.mark.denizen_audit
class Tests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = ones(50)

    def setUp(self):
        self.array = ones(4)

    def test_attributes(self):
        self.other = self.array + self.shared[:4]

    def test_leak(self):
        keep(3)

    def test_failure(self):
        self.other = ones(4)
        self.assertEqual(self.other[0], 2)

    def test_subtests(self):
        for n in range(3):
            with self.subTest(n=n):
                ones(n)

class Asynchronous(unittest.IsolatedAsyncioTestCase):
    pytestmark = pytest.mark.denizen_audit

    async def test_passes(self):
        self.array = ones(3)

    async def test_leaks(self):
        keep(3)
"""
    )
    tests = {name.rpartition("::")[2]: outcome for name, outcome in outcomes.items()}
    assert tests == {
        "test_attributes": "P",
        "test_leak": "PE",
        "test_failure": "F",
        "test_subtests": "P",
        "test_passes": "P",
        "test_leaks": "PE",
        "status": 1,
    }


def test_doctests_are_audited_by_the_option(run, tmp_path):
    (tmp_path / "module.py").write_text(
        '"""\n>>> import numpy as np, denizen\n'
        ">>> a = np.ones(3, dtype=denizen.Integer)\n>>> int(a.sum())\n3\n"
        '"""\n'
    )
    outcomes, output = run("--denizen-audit", "--doctest-modules")
    assert outcomes["status"] == 0 and "1 passed" in output


def test_workers_of_xdist_report_leaks(run):
    pytest.importorskip("xdist")
    outcomes, output = run(
        "-n", "2", "-p", "xdist.plugin",
        test_a="""
pytestmark = pytest.mark.denizen_audit

@pytest.mark.parametrize("n", range(6))
def test_some(n):
    keep(n % 2)
""",
    )  # fmt: skip
    assert [outcomes[f"test_some[{n}]"] for n in range(6)] == ["P", "PE"] * 3
    assert output.count("1 denizen.Integer object outlived the test\n") == 3


def test_hypothesis_and_threads(run):
    pytest.importorskip("hypothesis")
    outcomes, _ = run(
        test_a="""
import threading
from hypothesis import given, strategies
pytestmark = pytest.mark.denizen_audit

@given(strategies.integers(0, 20))
def test_property(n):
    assert ones(n).sum() == n

def test_thread():
    thread = threading.Thread(target=lambda: ones(100))
    thread.start()
    thread.join()
"""
    )
    assert outcomes == {"test_property": "P", "test_thread": "P", "status": 0}


def test_pytest_within_an_audited_test(run):
    outcomes, _ = run(
        "-p", "pytester",
        test_a="""
def test_inner(pytester, denizen_audit):
    pytester.makepyfile('''
        import numpy as np, denizen, pytest
        @pytest.mark.denizen_audit
        def test_leaks():
            global array
            array = np.ones(3, dtype=denizen.Integer)
        @pytest.mark.denizen_audit
        def test_passes():
            np.ones(3, dtype=denizen.Integer)
    ''')
    pytester.runpytest_inprocess("-p", "pytest_denizen").assert_outcomes(passed=2, errors=1)
    keep(5)
""",
    )  # fmt: skip
    assert outcomes["test_inner"] == "PE"


def test_the_plugin_brings_neither_numpy_nor_denizen(run):
    outcomes, output = run(
        head="",
        test_a="""
import sys
def test_not_imported(request):
    assert request.config.pluginmanager.has_plugin("pytest_denizen")
    assert not {"denizen", "numpy"} & set(sys.modules)
""",
    )
    assert outcomes == {"test_not_imported": "P", "status": 0}, output


def test_marker_option_and_fixture_are_described(run):
    _, output = run("--markers")
    assert "@pytest.mark.denizen_audit(judged=True, *, trace=False, allow={}): the test" in output
    _, output = run("--help")
    assert "--denizen-audit" in output and "denizen_audit (bool)" in output
    _, output = run("--fixtures")
    assert re.search(r"^denizen_audit.*\n    The running audit of the test", output, re.M)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder with what an installer writes for the wheel: pytest finds the plugin by it."""
    folder = tmp_path / "site" / "denizen_of_this_test-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: denizen_of_this_test\nVersion: 1\n"
    )
    (folder / "RECORD").write_text("denizen/__init__.py,,\npytest_denizen.py,,\n")
    table = re.search(
        r"^\[project.entry-points.pytest11\]\n(.*?)\n\n",
        (ROOT / "pyproject.toml").read_text(),
        re.M | re.S,
    ).group(1)
    (folder / "entry_points.txt").write_text("[pytest11]\n" + table.replace('"', "") + "\n")
    path = f"{folder.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    monkeypatch.setenv("PYTHONPATH", path)


LEAKY = HEAD + "@pytest.mark.denizen_audit\ndef test_leaks():\n    keep(3)\n"


@pytest.mark.parametrize("arguments", [[], ["-p", "pytest_denizen"]], ids=["found", "named too"])
def test_pytest_finds_the_plugin_by_its_entry_point(run, installed, arguments):
    outcomes, _ = run(*arguments, plugin=False, head="", test_a=LEAKY)
    assert outcomes == {"test_leaks": "PE", "status": 1}


def test_the_plugin_can_be_blocked(run, installed):
    source = "def test_off(request):\n    assert not request.config.pluginmanager.has_plugin('pytest_denizen')\n"
    outcomes, _ = run("-p", "no:denizen", plugin=False, head="", test_a=source)
    assert outcomes == {"test_off": "P", "status": 0}


def test_programs_may_import_denizen_before_they_start_pytest(tmp_path, installed):
    (tmp_path / "test_a.py").write_text(HEAD + "def test_ones():\n    assert ones(3).size\n")
    program = "import denizen, pytest, sys; sys.exit(pytest.main(['-p', 'no:cacheprovider']))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    "site-packages" not in denizen.__file__, reason="needs denizen as it is installed"
)
def test_the_wheel_has_the_plugin():
    (point,) = distribution("denizen").entry_points.select(group="pytest11")
    assert (point.name, point.value) == ("pytest_denizen", "pytest_denizen")
    assert point.load().denizen_audit
