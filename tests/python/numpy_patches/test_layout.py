"""The bindings in src/numpy_abi have the layouts, constants and indices of NumPy's headers."""

import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from denizen import _runtime

SOURCE = Path(__file__).parents[3] / "cpp-bridge" / "tests" / "numpy_layout.c"
HEADERS = Path(np.get_include()) / "numpy"


@pytest.fixture(scope="module")
def ours():
    """name -> value, as compiled into denizen."""
    rows = _runtime._numpy_layout()
    table = dict(rows)
    assert len(table) == len(rows), "a name stands twice in numpy_abi::layout()"
    return table


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """name -> value, as a C compiler reads the headers of the running NumPy and Python."""
    program = tmp_path_factory.mktemp("layout") / "numpy_layout"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    includes = [f"-I{np.get_include()}", f"-I{sysconfig.get_path('include')}"]
    subprocess.run([*compiler, "-Werror", *includes, SOURCE, "-o", program], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = (line.rsplit(" ", 1) for line in lines.splitlines())
    return {name: int(value) for name, value in rows}


@pytest.fixture(scope="module")
def indices():
    """name -> index in PyArray_API or PyUFunc_API, from NumPy's generated headers."""
    entry = re.compile(
        r"^#define (\w+)[ \\\n]+\("  # a macro whose value
        r"(?:[^#]*?)"  # casts, over several lines,
        r"\(?Py(?:Array|UFunc)_API(?: \+ (\d+)\))?\[(\d+)\]\)$",  # a table entry
        re.MULTILINE,
    )
    table = {}
    for header in ("__multiarray_api.h", "_public_dtype_api_table.h", "__ufunc_api.h"):
        for name, offset, index in entry.findall((HEADERS / header).read_text()):
            table[name] = int(offset or 0) + int(index)
    return table


def test_every_layout_and_constant_is_that_of_the_headers(ours, compiled, indices):
    assert {name: ours[name] for name in ours if name not in indices} == compiled


def test_every_table_index_is_that_of_the_headers(ours, compiled, indices):
    wanted = {name: ours[name] for name in ours if name not in compiled}
    assert len(wanted) > 80
    assert wanted == {name: indices.get(name) for name in wanted}


def test_the_header_reader_knows_entries_of_every_form(indices):
    assert indices["PyArray_GetNDArrayCVersion"] == 0
    assert indices["PyArray_Type"] == 2
    assert indices["PyArrayDTypeMeta_Type"] == 320
    assert indices["PyDataMem_DefaultHandler"] == 306
    assert indices["PyUFunc_AddLoopFromSpec"] == 43
