"""A NumPy that denizen cannot work with is an ImportError that says what to do."""

import subprocess
import sys
import textwrap

import pytest

from denizen import _runtime

# Loads the extension module alone, after `prepare`, in a fresh process.
SCRIPT = """
import importlib.util, sys
{prepare}
spec = importlib.util.spec_from_file_location("denizen._runtime", {path!r})
try:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
except ImportError as error:
    print(type(error).__name__, error, "Cause:", type(error.__cause__).__name__)
"""


def import_after(prepare):
    script = SCRIPT.format(prepare=textwrap.dedent(prepare), path=_runtime.__file__)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def import_with_version(version):
    return import_after(
        f"""
        import types
        sys.modules["numpy"] = numpy = types.ModuleType("numpy")
        numpy.__version__ = {version!r}
        """
    )


def test_a_missing_numpy_is_named_with_the_command_that_installs_it():
    message = import_after('sys.modules["numpy"] = None')
    assert message.startswith("ImportError denizen needs NumPy 2.4.0 or later")
    assert "pip install 'numpy>=2.4'" in message
    assert message.endswith("Cause: ModuleNotFoundError")


@pytest.mark.parametrize("version", ["1.26.4", "2.0.2", "2.3.5", "2.3.0.dev0+git1"])
def test_an_old_numpy_is_refused_with_both_versions(version):
    message = import_with_version(version)
    assert f"needs NumPy 2.4.0 or later, but found NumPy {version}." in message
    assert "pip install 'numpy>=2.4'" in message


@pytest.mark.parametrize("version", ["", "2", "two.four", "unknown"])
def test_a_version_that_cannot_be_read_is_quoted(version):
    assert f'whose version "{version}" it cannot read' in import_with_version(version)


@pytest.mark.parametrize("version", ["2.4", "2.4.0rc1", "2.5.5", "2.10.0", "3.0.0.dev0+git1"])
def test_versions_are_compared_by_number_and_the_c_api_decides_next(version):
    message = import_with_version(version)
    assert f"NumPy {version} has no numpy._core._multiarray_umath" in message


def test_another_layout_is_refused_with_the_difference():
    message = import_after(
        """
        import numpy._core.multiarray
        numpy._core.multiarray.get_handler_name = lambda array: "another"
        """
    )
    assert "lays out its objects in a way that this denizen does not know" in message
    assert 'handler name is "another", but denizen has "default_allocator"' in message


def test_the_running_numpy_is_accepted():
    script = "import denizen; print(denizen.types()[0])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "denizen.Integer\n"), run.stderr
