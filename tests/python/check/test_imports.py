"""The folders of `denizen.check` import one another one way."""

import ast
from pathlib import Path

import denizen.check

FOLDER = Path(denizen.check.__file__).parent
#: Each may import those before it.
ORDER = ["subject", "operations", "verdict", "report", "runner", "faults", "command"]


def imported(path):
    """Parts of `denizen.check` that a module imports."""
    module = path.relative_to(FOLDER.parents[1]).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = [*module[: -node.level]] if node.level else []
            names += node.module.split(".") if node.module else []
            for alias in node.names:
                full = [*names, alias.name]
                if full[:2] == ["denizen", "check"]:
                    yield full[2]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                full = alias.name.split(".")
                if full[:2] == ["denizen", "check"]:
                    yield full[2]


def test_the_order_has_every_part():
    parts = {path.stem for path in FOLDER.iterdir() if path.stem != "__pycache__"}
    assert parts - {"__init__"} == set(ORDER)


def test_no_part_imports_one_after_it():
    upward = []
    seen = 0
    for index, part in enumerate(ORDER):
        files = (FOLDER / part).rglob("*.py") if part != "command" else [FOLDER / "command.py"]
        for path in files:
            for name in imported(path):
                seen += 1
                if name not in ORDER[: index + 1]:
                    upward.append(f"{path.relative_to(FOLDER)} imports {name}")
    assert upward == []
    assert seen > 100
