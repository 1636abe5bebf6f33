"""docs/testing-your-type.md: programs of audits run and print what the page says, and its tables
name what reports have."""

import contextlib
import io
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from support.process import outside_ci

TOP = Path(__file__).parents[3]
PAGE = (TOP / "docs" / "testing-your-type.md").read_text()
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def program(start):
    """The block of Python that begins so, and the output that follows it."""
    index = next(i for i, (kind, text) in enumerate(BLOCKS) if kind == "python" and start in text)
    kind, output = BLOCKS[index + 1]
    assert kind == "text"
    return BLOCKS[index][1], re.sub(r"^\$ .*\n", "", output)


def same_but_for_times(text):
    """Seconds are others each time; pytest fills lines with a character."""
    text = re.sub(r"\d+(\.\d+)?(e-\d+)? ?s\b", "T s", text)
    return re.sub(r"(=|_|-| ){4,}", " ", text).strip()


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=outside_ci() | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80"},
    )


def test_the_program_reports_what_the_page_shows(tmp_path):
    source, output = program("# rod.py")
    (tmp_path / "rod.py").write_text(source)
    (command,) = re.findall(r"^\$ denizen audit (.* rod\.py)$", PAGE, re.M)
    done = run(tmp_path, "denizen", "audit", "--json", "a.json", *command.split())
    assert same_but_for_times(done.stderr) == same_but_for_times(output)
    assert done.returncode == 3
    report = json.loads((tmp_path / "a.json").read_text())
    assert "rod.py" in (tmp_path / "report.html").read_text()
    # The keys of the JSON, and the members of its lists.
    table = PAGE[PAGE.index("### JSON") : PAGE.index("A site is")]
    rows = re.findall(r"^\| (`.*?`) \| (.*) \|$", table, re.M)
    keys = {key for first, _ in rows for key in re.findall(r"`(\w+)`", first)}
    assert keys == set(report)
    members = {first.strip("`"): set(re.findall(r"`(\w+)`", second)) for first, second in rows}
    assert set(report["held"][0]) == members["leaks"] - {"leaks"}
    for key in ("leaks", "foreign", "timeline"):
        found = report[key] if key == "timeline" else report[key][0]
        assert members[key] == set(found)
    assert members["reconciled"] == {"type", "operation", "site", "bits"}
    columns = PAGE[PAGE.index("| column |") : PAGE.index("Foreign memory and")]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|(.*?)\|", columns, re.M))))
    assert named == set(report["types"]["denizen.Rational"])
    assert set(report["leaks"][0]["site"]) == {"file", "line", "function", "text"}


COMMANDS = [
    command
    for page in ((TOP / "README.md").read_text(), PAGE)
    for command in re.findall(r"(?:^\$ |`)(denizen audit [^`\n]*\.py\b[^`\n]*)", page, re.M)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_do_what_they_say_as_they_are_written(tmp_path, command):
    source, _ = program("# rod.py")
    for name in ("rod.py", "script.py"):
        (tmp_path / name).write_text(source)
    # What stands in a table has its bars escaped.
    words, *piped = (part.split() for part in command.replace("\\|", "|").split("|"))
    done = run(tmp_path, *words)
    assert done.returncode == 3
    assert done.stderr.startswith(f"\ndenizen audit of {words[-1]}: "), done.stderr
    for option, file in pairwise(words):
        if option == "--html":
            assert "<html" in (tmp_path / file).read_text()
        elif option == "--json":
            assert piped[0] == ["tail", "-n", "1"]
            assert json.loads(done.stdout.splitlines()[-1])["leaks"]


def test_commands_are_found():
    assert len(COMMANDS) == 4 and any(" --html " in command for command in COMMANDS)


def test_the_blocks_print_what_the_page_shows(tmp_path, monkeypatch):
    source, output = program("cache = {}")
    (tmp_path / "block.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "block.py"], cwd=tmp_path, capture_output=True, text=True
    )
    message = done.stderr[done.stderr.index("denizen.LeakError") :]
    assert same_but_for_times(message) == same_but_for_times(output)
    source, output = program("raises=False")
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("import numpy as np\nimport denizen\n" + source, names)
    assert printed.getvalue() == output
    names.clear()


def test_the_tests_end_as_the_page_shows(tmp_path):
    source, output = program("# test_squares.py")
    (tmp_path / "test_squares.py").write_text(source)
    arguments = ["-q", "-p", "pytest_denizen", "-p", "no:cacheprovider", "test_squares.py"]
    done = run(tmp_path, "pytest", *arguments)
    assert same_but_for_times(done.stdout) == same_but_for_times(output)
    assert done.returncode == 1


@pytest.mark.parametrize("option", re.findall(r"^\| `(-[\w-]+)", PAGE, re.M))
def test_options_exist(tmp_path, option):
    assert option in run(tmp_path, "denizen", "audit", "--help").stdout


def test_pictures_are_small_enough_to_keep():
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", PAGE)
    assert pictures
    for picture in pictures:
        assert 0 < (TOP / "docs" / picture).stat().st_size < 100_000
