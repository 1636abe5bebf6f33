"""typed_user.py, which the type checkers accept, runs and leaves no name out."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import denizen
from denizen import check, linalg

SCRIPT = Path(__file__).with_name("typed_user.py")


def test_the_script_runs():
    command = [sys.executable, "-W", "error", str(SCRIPT)]
    output = subprocess.run(command, check=True, timeout=300, stdout=subprocess.PIPE, text=True)
    assert output.stdout == f"{denizen.__version__}\n"


@pytest.mark.parametrize("module", [denizen, linalg, check], ids=lambda module: module.__name__)
def test_the_script_uses_every_public_name(module):
    name = module.__name__.rpartition(".")[2]
    used = {
        node.attr
        for node in ast.walk(ast.parse(SCRIPT.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }
    assert used >= set(module.__all__)
    assert all(hasattr(module, attribute) for attribute in used)
