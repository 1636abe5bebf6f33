"""`docs/trials.md` names a test for each trial, and each of those tests exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TABLE = (ROOT / "docs" / "trials.md").read_text()
ROWS = re.findall(r"^\| (T\d\d(?:, T\d\d)*) \|(.*)$", TABLE, re.M)
FOLDERS = ["tests/python", "cpp-bridge"]


def names_of_tests():
    """The names of all tests of the project."""
    return {
        name
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.M)
    }


def test_every_trial_has_a_row():
    found = [name for names, _ in ROWS for name in names.split(", ")]
    assert found == [f"T{number:02}" for number in range(1, 51)]


def test_every_test_of_the_table_exists():
    known = names_of_tests()
    named = re.findall(r"`(test_\w+)`", TABLE)
    assert len(named) > 60
    assert [name for name in named if name not in known] == []


def test_only_two_trials_come_later():
    later = [names for names, row in ROWS if "`test_" not in row]
    assert later == ["T24", "T47", "T50"]
