"""`denizen check` as a command."""

import json
import re
import textwrap

import pytest
from support.checks import command

from denizen.check.operations import tables


def test_the_command_exits_with_1_where_something_fails(broken_folder, tmp_path):
    found = command(
        "broken:Broken",
        "--only", "ufuncs: negative",
        "--json", str(tmp_path / "report.json"),
        "--html", str(tmp_path / "report.html"),
        cwd=broken_folder,
    )  # fmt: skip
    assert found.returncode == 1, found
    assert "1 wrong" in found.stdout
    assert json.loads((tmp_path / "report.json").read_text())["type"] == "broken.Broken"
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()


def test_the_command_exits_with_0_where_nothing_fails():
    found = command("denizen:Integer", "--only", "assignment: *", "--jobs", "2")
    assert found.returncode == 0, found
    assert re.search(r"0 wrong, 0 leak, 0 crash$", found.stdout.strip())
    assert "operations" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["denizen:Nothing"], "denizen has no Nothing"),
        ([], "name an element type"),
        (["denizen:Integer", "--only", "no such operation"], "--list"),
        (["denizen:Integer", "--values", "math:pi"], "no list of values"),
        (["denizen:Integer", "--expected", "nowhere.toml"], "nowhere.toml"),
        (["denizen:Integer", "--html", "/"], "cannot write /: it is a directory"),
        (["denizen:Integer", "--json", "no/where.json"], "there is no directory no"),
        (["denizen:Integer", "--values", "random:betavariate"], "betavariate raised TypeError: "),
        (
            ["denizen:Integer", "--values", "string:ascii_letters"],
            "--values gives 'a', which is no",
        ),
        (["denizen:Integer", "--timeout", "0"], "'0' is no number of seconds"),
        (["denizen:Integer", "--timeout", "inf"], "'inf' is no number of seconds"),
        (["denizen:Integer", "--jobs", "0"], "'0' is no number of processes"),
        (["denizen:Integer", "--jobs", "two"], "'two' is no number of processes"),
    ],
)
def test_the_command_exits_with_2_where_it_cannot_check(arguments, message):
    found = command(*arguments)
    assert found.returncode == 2, found
    # One line, below the usage where an option is wrong in itself.
    assert len(found.stderr.strip().split("denizen check: ")[-1].splitlines()) == 1
    assert found.stdout == ""
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_the_command_takes_types_and_values_of_the_current_directory(tmp_path):
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
            import denizen
            Number = denizen.Rational
            def values():
                return [denizen.Rational(n, 7) for n in range(1, 30)]
        """)
    )
    found = command("mine:Number", "--values", "mine:values", "--only", "joining*", cwd=tmp_path)
    assert found.returncode == 0, found
    assert "values: given" in found.stdout


def test_a_name_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from random import choice\nimport denizen\nNumber = denizen.Integer\nvalues = [1, 2]\n"
        "_hidden = []\ncount = 3\ndef more(): return [1]\n"
        "class faults:\n    plan = end = print\n"
    )
    for arguments, message in [
        (["mine:Numbers"], "mine has no Numbers; element types there: Number"),
        (
            ["mine:Number", "--values", "mine:valuess"],
            "mine has no valuess; lists, and functions that may give one, there: values, more",
        ),
        (
            ["mine:Number", "--faults", "--kind", "mine:fault"],
            "mine has no fault; sources of faults there: faults",
        ),
        (
            ["mine:Number", "--values", "math:values"],
            "math has no values; lists, and functions that may give one, there: none",
        ),
    ]:
        found = command(*arguments, cwd=tmp_path)
        assert (found.returncode, found.stderr) == (2, f"denizen check: {message}\n")


def test_the_command_lists_operations():
    found = command("--list", "--section", "joining")
    titles = found.stdout.splitlines()
    assert found.returncode == 0
    assert titles
    assert all(title.startswith("joining: ") for title in titles)
    assert (
        len(command("--list").stdout.splitlines()) == sum(len(table) for table in tables()) >= 250
    )
