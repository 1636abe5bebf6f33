"""docs/cpp.md is a program: its C++ compiles into one module, and its Python runs against it."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.c_extension import INCLUDES, WARNINGS, compiler

GUIDE = (Path(__file__).parents[3] / "docs" / "cpp.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", params=["-O1", "-DNDEBUG"])
def module_folder(request, tmp_path_factory):
    """A folder with the module: with the checks of debug builds, and without."""
    folder = tmp_path_factory.mktemp("guide")
    source = folder / "guide.cpp"
    source.write_text("\n".join(blocks("cpp")))
    module = folder / ("guide" + sysconfig.get_config_var("EXT_SUFFIX"))
    command = [*compiler("CXX", "c++"), "-std=c++17", request.param, *WARNINGS, *INCLUDES]
    subprocess.run([*command, "-shared", "-fPIC", source, "-o", module], check=True)
    return folder


def test_the_guide_runs_and_every_object_is_destroyed(module_folder):
    program = "\n".join(blocks("python"))
    check = """
import gc
del a, b, f, m, r
gc.collect()
for name in ("guide.WordCount", "guide.Measurement", "guide.Fixed"):
    figures = denizen.stats()[name]
    assert figures["live"] == 0, (name, figures)
assert denizen.stats()["guide.WordCount"]["constructed"] > 10
"""
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program + check],
        check=True,
        cwd=module_folder,
        env={"PYTHONPATH": str(module_folder), "PATH": ""},
    )


def test_a_new_dtype_takes_at_most_fifteen_lines():
    registration = re.search(
        r"^    denizen::element<WordCount>.*?add_to\(module\);", GUIDE, re.M | re.S
    )
    lines = [line for line in registration.group().splitlines() if line.strip()]
    assert len(lines) <= 15
