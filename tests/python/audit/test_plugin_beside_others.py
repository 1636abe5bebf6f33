"""The pytest plugin beside other tools, and how pytest finds it."""

import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from support.plugin import HEAD

import denizen

ROOT = Path(__file__).parents[3]


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
