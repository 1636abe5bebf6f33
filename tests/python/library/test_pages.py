"""The pages of docs, and comments, name what there is."""

import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
FOLDERS = ["src", "cpp-bridge", "python", "tests", "fuzz/fuzz_targets", "benches", ".ci"]
SOURCES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.is_file()
    and not path.is_symlink()
    and not {"target", "__pycache__"} & {*path.relative_to(ROOT).parts}
)
TEXTS = {
    path: path.read_text(encoding="utf-8")
    for path in SOURCES
    if path.suffix in {"", ".rs", ".c", ".h", ".hpp", ".cpp", ".py", ".pyi", ".toml", ".txt"}
}


def test_pages_that_sources_name_are_there():
    named = [
        (path, name)
        for path, text in TEXTS.items()
        for name in re.findall(r"docs/[\w-]+\.md", text)
    ]
    assert len(named) > 30
    missing = [
        (str(path.relative_to(ROOT)), name) for path, name in named if not (ROOT / name).is_file()
    ]
    assert not missing


# What is written by `make bench`, and where `make corpus` puts what was found.
MADE = {"benches/printed.txt", "fuzz/corpus"}
# Its paths are those of the reader's project.
FOREIGN = [ROOT / "docs/testing-your-type.md"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in FOREIGN], ids=lambda page: page.name
)
def test_files_that_pages_name_are_there(page):
    """A path begins where the page says, so its end is looked for."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:rs|py|hpp|toml))`", text)
    files = [
        "/" + path.relative_to(ROOT).as_posix() for path in [*SOURCES, *PAGES, *ROOT.glob("*.*")]
    ]
    missing = {name for name in named if not any(("/" + name) in path for path in files)}
    assert not missing - MADE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_of_a_paragraph_begins_as_an_item_of_a_list(page):
    """Markdown makes a list of `999. With ..`, wherever the line was broken."""
    lines = page.read_text(encoding="utf-8").splitlines()
    broken = [
        line
        for before, line in itertools.pairwise(lines)
        if re.match(r"\s*\d+[.)] ", line)
        and before.strip()
        and not re.match(r"\s*(\d+\.|```|  )", before)
    ]
    assert not broken


def test_every_invariant_that_a_comment_names_is_in_the_tables():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## Invariants")[2]
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.M))
    assert len(rows) > 30
    comments = [
        comment
        for path, text in TEXTS.items()
        if path.suffix == ".rs" and path.is_relative_to(ROOT / "src")
        for comment in re.findall(r"//.*", text)
    ]
    named = {
        name for comment in comments for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", comment)
    }
    assert {"segment-cells", "proxy-recorded"} <= named <= rows


def test_every_folder_of_tests_and_fuzz_target_has_its_place_in_the_pages():
    page = (
        (ROOT / "docs/contributing.md")
        .read_text(encoding="utf-8")
        .partition("What the folders of")[2]
    )
    folders = {path.name for path in (ROOT / "tests/python").iterdir() if path.is_dir()}
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    assert rows == folders - {"__pycache__"} and len(rows) > 10
    tested = (ROOT / "docs/how-it-is-tested.md").read_text(encoding="utf-8")
    targets = {path.stem for path in (ROOT / "fuzz/fuzz_targets").glob("*.rs")}
    assert targets and not {name for name in targets if f"`{name}`" not in tested}
