"""The table of regressions in the documentation and the marks on their tests say the same.

`python tests/python/regressions/test_table.py` prints the public threads, and the tests that come from
each.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (T\d\d(?:, T\d\d)*) \|(.*)$", re.M)
THREAD = re.compile(r"[\w.-]+/[\w.-]+#\d+")


def rows():
    """Ids and text of each row; the table stands on one page of the documentation."""
    pages = [ROW.findall(page.read_text()) for page in sorted((ROOT / "docs").glob("*.md"))]
    return max(pages, key=len)


def marked():
    """The arguments of the mark `regression` of each test of the project, by its name."""
    found = defaultdict(list)
    for folder in ("tests/python", "cpp-bridge"):
        for file in (ROOT / folder).rglob("test_*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    found[node.name] += marks(node)
    return found


def marks(function):
    return [
        ast.literal_eval(argument)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func) == "pytest.mark.regression"
        for argument in decorator.args
    ]


def test_every_id_has_a_row():
    found = [name for names, _ in rows() for name in names.split(", ")]
    assert found == [f"T{number:02}" for number in range(1, 51)]


def test_every_test_of_the_table_has_the_mark_of_its_row():
    found, named = marked(), 0
    for names, row in rows():
        for test in re.findall(r"`(test_\w+)`", row):
            named += 1
            assert test in found, f"{test} is nowhere"
            assert {*names.split(", ")} <= {*found[test]}, f"{test} is in the row of {names}"
    assert named > 60


def test_every_mark_is_of_a_row_or_a_public_thread():
    ids = {name for names, _ in rows() for name in names.split(", ")}
    for test, arguments in marked().items():
        wrong = [text for text in arguments if text not in ids and not THREAD.fullmatch(text)]
        assert not wrong, f"{test}: {wrong}"


def test_only_three_come_later_or_are_no_tests_here():
    later = [names for names, row in rows() if "`test_" not in row]
    assert later == ["T24", "T47", "T50"]


def threads():
    """The tests that come from each public thread."""
    found = defaultdict(list)
    for test, arguments in marked().items():
        for thread in filter(THREAD.fullmatch, arguments):
            found[thread].append(test)
    return dict(sorted(found.items()))


if __name__ == "__main__":
    for thread, names in threads().items():
        print(f"| {thread} | {', '.join(f'`{name}`' for name in names)} |")
