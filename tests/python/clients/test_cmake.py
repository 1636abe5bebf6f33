"""The CMake package of the installed wheel, used as a stranger would: a copied example, alone."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "cpp-bridge" / "examples"
# A virtual environment that is not activated has its tools beside its interpreter.
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
CMAKE = shutil.which("cmake", path=TOOLS)

pytestmark = [pytest.mark.once, pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")]


def cmake(*arguments, check=True):
    # No generator, no paths, no flags: what CMake finds by itself.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CMAKE_", "DENIZEN")) and name not in ("denizen_ROOT", "PYTHONPATH")
    }
    result = subprocess.run(
        [CMAKE, *map(str, arguments)],
        env={**environment, "PATH": TOOLS},
        capture_output=True,
        text=True,
    )
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result


def test_a_copied_example_builds_alone_and_runs(tmp_path):
    source, build = tmp_path / "mine", tmp_path / "build"
    shutil.copytree(EXAMPLES / "bare", source)
    cmake("-S", source, "-B", build, f"-DPython_EXECUTABLE={sys.executable}")
    cmake("--build", build)
    code = """
        import numpy as np, polynomials
        a = np.array([1.0, 2.0]).astype(polynomials.Polynomial)
        a[1] = [0, 1]
        print((a * a).sum(), polynomials.evaluate(a, 3))
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=build,
        env={**os.environ, "PYTHONPATH": str(build)},
        capture_output=True,
        text=True,
    )
    assert result.stdout == "1 + 1x^2 [1.0, 3.0]\n", result.stderr


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("", True), ("0.1", True), ("0.1.0", True), ("0.0.9", False),
     ("0.2", False), ("99", False)],
)  # fmt: skip
def test_find_package_looks_at_the_version(tmp_path, wanted, found):
    (tmp_path / "CMakeLists.txt").write_text(
        textwrap.dedent(f"""
        cmake_minimum_required(VERSION 3.20)
        project(version LANGUAGES NONE)
        execute_process(COMMAND ${{PYTHON}} -m denizen --cmake-dir
                        OUTPUT_VARIABLE denizen_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
        find_package(denizen {wanted} CONFIG REQUIRED)
        message(STATUS "found ${{denizen_VERSION}} in ${{denizen_DIR}}")
        """)
    )
    result = cmake("-S", tmp_path, "-B", tmp_path / "b", f"-DPYTHON={sys.executable}", check=False)
    assert (result.returncode == 0) == found, result.stdout + result.stderr
    if found:
        assert "found 0.1." in result.stdout
    else:
        assert "denizenConfig.cmake, version: 0.1." in result.stderr
