"""What is wrong in NumPy has one table, in the runtime: the documentation shows it, the command line
says what became of each patch, and an import that cannot be safe fails."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from denizen.__main__ import main
from denizen._numpy_patches import _IN_PYTHON, patches

TESTS = next(path for path in Path(__file__).parents if path.name == "tests")
PAGE = TESTS.parent / "docs" / "numpy.md"
SOURCES = TESTS.parent / "src" / "dtype" / "numpy_patches"
BEGIN, END = "<!-- patches: make patches-table -->\n", "<!-- end of patches -->\n"
NAMES = [patch.name for patch in patches()]


def run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


# ---- the table -----------------------------------------------------------------------------------


def table() -> str:
    columns = ("patch", "what NumPy does", "until", "replaced", "what denizen does", "keeps")
    lines = [(*columns, "tests", "thread"), ("---",) * 8]
    for patch in patches():
        lines.append((f"`{patch.name}`", patch.wrong, patch.until, patch.replaces, patch.instead))
        lines[-1] += (patch.keeps, patch.tests, patch.thread)
    assert not [cell for line in lines for cell in line if "|" in cell or "\n" in cell]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def test_the_documentation_shows_the_table_of_the_runtime():
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("DENIZEN_UPDATE_PATCHES") == "1":
        PAGE.write_text(before + BEGIN + table() + END + after)
        return
    assert shown == table(), "docs/numpy.md shows another table: make patches-table"


def test_each_patch_has_one_name_and_says_all_that_it_should():
    assert len(set(NAMES)) == len(NAMES)
    for patch in patches():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", patch.name)
        assert all((patch.replaces, patch.wrong, patch.instead, patch.tests)), patch.name
        assert patch.until == "open" or re.fullmatch(r"2\.\d+\.\d+", patch.until), patch.name
        assert (patch.replaces == "nothing") == (patch.when == "slots"), patch.name


def test_each_patch_names_tests_that_exist():
    top = TESTS / "python"
    files = {str(path.relative_to(top)) for path in top.glob("*/test_*.py")}
    for patch in patches():
        named = set(re.findall(r"`([\w/]+\.py)`", patch.tests))
        assert named and named <= files, patch.name


def test_the_patches_in_python_are_those_of_the_table():
    assert set(_IN_PYTHON) == {patch.name for patch in patches() if patch.when == "python"}


def test_nothing_but_swap_replaces_what_numpy_has():
    swaps = re.compile(r"ml_meth|tp_getset|d_wrapped|PyType_Modified|\bsetattr\(|transmute")
    found = {path.name for path in SOURCES.glob("*.rs") if swaps.search(path.read_text())}
    assert found == {"swap.rs"}


# ---- what became of them -------------------------------------------------------------------------


def test_every_patch_that_this_numpy_needs_is_placed():
    for patch in patches():
        if patch.when in ("import", "python"):
            assert patch.state in ("placed", "not needed"), patch
            assert patch.state == "placed" or patch.until != "open", patch
        if patch.when == "slots":
            assert patch.state in ("in each type", "not needed"), patch


def test_the_command_line_says_what_an_import_changes(capsys):
    assert main(["info", "--patches"]) == 0
    output = capsys.readouterr().out
    found = re.findall(r"^([a-z-]+): ([a-z ]+) \((every NumPy|NumPy below 2\.\d\.\d)", output, re.M)
    assert [(name, state) for name, state, _ in found] == [(p.name, p.state) for p in patches()]
    counts = dict(re.findall(r"(\d+) ([a-z ]+)", output.splitlines()[0].partition(":")[2]))
    assert sum(map(int, counts)) == len(NAMES) and set(counts.values()) == {s for _, s, _ in found}
    text = " ".join(output.split())
    for patch in patches():
        for part in (patch.replaces, patch.wrong, patch.instead):
            assert part.replace("`", "") in text, patch.name
    assert max(map(len, output.splitlines())) <= 100


def test_some_patches_wait_for_a_type_that_needs_them():
    pytest.importorskip("denizen_sorting")
    code = """
import denizen
from denizen._numpy_patches import patches
print(*sorted({patch.state for patch in patches() if patch.when == "type"}), sep=",")
import denizen_sorting
print(*sorted({patch.state for patch in patches() if patch.when == "type"}), sep=",")
"""
    assert run(code).stdout.splitlines() == ["not yet needed", "placed"]


@pytest.mark.parametrize(
    ("change", "patch"),
    [
        ("import numpy._core.einsumfunc as module; del module.c_einsum", "einsum"),
        ("import numpy._core._multiarray_umath as module; del module.lexsort", "raw-comparisons"),
        (
            "import numpy._core._multiarray_umath as module; module.array = lambda *given: None",
            "array-interface",
        ),
    ],
)
def test_an_import_that_cannot_keep_memory_safe_fails_and_names_the_patch(change, patch):
    done = run(f"{change}\ntry: import denizen\nexcept ImportError as error: print(error)")
    row = next(row for row in patches() if row.name == patch)
    assert f"the patch {patch} replaces {row.replaces}, which was not found" in done.stdout
    assert "memory is not safe" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("change", "patch"),
    [
        ("import numpy.linalg._linalg as module; del module._commonType", "linalg"),
        (
            "import numpy.lib._histograms_impl as module; del module._get_bin_edges",
            "histogram-edges",
        ),
    ],
)
def test_another_patch_that_cannot_be_placed_is_a_warning_and_shown(change, patch):
    code = f"{change}\nfrom denizen.__main__ import main\nmain(['info', '--patches'])"
    done = run(code)
    assert f"could not be placed: {patch};" in done.stderr
    assert f"\n{patch}: not placed (" in done.stdout
    assert done.returncode == 0
    failed = run(code, "-W", "error::RuntimeWarning")
    assert f"could not be placed: {patch};" in failed.stderr
    assert failed.returncode == 1


def test_functions_that_were_imported_before_are_patched_as_well():
    done = run("""
from numpy import linspace, nanstd, unwrap
import numpy as np
method = np.ndarray.std
np.arange(3.0).std()
import denizen
a = np.array([1, 2, 4], dtype=denizen.Integer)
assert [str(x) for x in linspace(a[0], a[1], 3)] == ["1", "3/2", "2"]
assert abs(method(a) ** 2 - 14 / 9) < 1e-9 and abs(nanstd(a) ** 2 - 14 / 9) < 1e-9
try: unwrap(a)
except TypeError as error: print("exact" in str(error))
""")
    assert (done.stdout, done.stderr) == ("True\n", "")
