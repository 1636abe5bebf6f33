"""Tables of numbers as text files hold them: read exactly, refused with line and column."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path


class DataError(ValueError):
    """A file or a model that cannot be used; the message says where and what to do."""


@dataclass(frozen=True)
class Table:
    """Columns of exact numbers under their names, all of one length."""

    #: Where it came from, for messages.
    source: str
    #: Rows below the header row.
    rows: int
    #: The names in the header row.
    header: tuple[str, ...]
    #: The columns that were asked for, in the order of the file.
    columns: dict[str, list[Fraction]]
    #: `# key: value` lines before the header row, in order.
    notes: tuple[tuple[str, str], ...] = ()

    def column(self, name: str) -> list[Fraction]:
        """One column, or a `DataError` that lists the others."""
        try:
            return self.columns[name]
        except KeyError:
            known = ", ".join(self.header)
            raise DataError(
                f"{self.source}: no column {name!r}; the header row has: {known}"
                + _separator_advice(self.header)
            ) from None


def read_bundled(name: str) -> Table:
    """One of the data sets that ship with the package."""
    resource = files(__package__) / "data" / f"{name}.csv"
    return parse_table(resource.read_text(encoding="utf-8").splitlines(), resource.name)


def read_file(path: str, wanted: Collection[str]) -> Table:
    """A user's CSV file: a header row, then numbers (`3`, `0.1`, `1e-5`, `1/3`).

    Columns that are not wanted may hold anything.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    return parse_table(text.splitlines(), path, wanted)


def parse_table(lines: Iterable[str], source: str, wanted: Collection[str] | None = None) -> Table:
    """Parse CSV text whose first lines may be `#` comments. Empty lines are skipped.

    Only the columns that are wanted are read as numbers; by default all are.
    """
    notes: list[tuple[str, str]] = []
    names: list[str] | None = None
    columns: dict[str, list[Fraction]] = {}
    rows = 0
    numbered = _Numbered(lines)
    try:
        for cells in csv.reader(numbered, strict=True):
            if names is None and cells and cells[0].startswith("#"):
                key, found, value = numbered.line.lstrip("# ").partition(": ")
                if found:
                    notes.append((key, value))
            elif not any(cell.strip() for cell in cells):
                continue
            elif names is None:
                names = _header([cell.strip() for cell in cells], source, numbered.number)
                columns = {name: [] for name in names if wanted is None or name in wanted}
            else:
                _append_row(columns, names, cells, source, numbered.number)
                rows += 1
    except csv.Error as error:
        raise DataError(f"{source}, line {numbered.number}: {error}") from error
    if names is None:
        raise DataError(f"{source}: the file is empty; it needs a header row with column names")
    if not rows:
        raise DataError(f"{source}: there is no row below the header row")
    return Table(source, rows, tuple(names), columns, tuple(notes))


class _Numbered:
    """Lines that remember where they are."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.number = 0
        self.line = ""

    def __iter__(self) -> _Numbered:
        return self

    def __next__(self) -> str:
        self.line = next(self._lines)
        self.number += 1
        return self.line


def _header(names: list[str], source: str, line: int) -> list[str]:
    """Check the names in the header row."""
    for position, name in enumerate(names, 1):
        if not name:
            raise DataError(f"{source}, line {line}: column {position} has no name")
        if names.index(name) != position - 1:
            raise DataError(f"{source}, line {line}: two columns are called {name!r}")
    if all(_number(name) is not None for name in names):
        raise DataError(f"{source}, line {line}: a header row with column names must come first")
    return names


def _append_row(
    columns: dict[str, list[Fraction]], names: list[str], cells: list[str], source: str, line: int
) -> None:
    """Read one row into the columns."""
    if len(cells) != len(names):
        raise DataError(
            f"{source}, line {line}: {len(cells)} fields, but the header row has {len(names)}"
            + _separator_advice((*names, *cells))
        )
    for name, cell in zip(names, cells, strict=True):
        if name not in columns:
            continue
        value = _number(cell)
        if value is None:
            what = f"{cell.strip()!r} is not a number" if cell.strip() else "no value"
            raise DataError(
                f"{source}, line {line}, column {name!r}: {what}" + _separator_advice((cell,))
            )
        columns[name].append(value)


def _separator_advice(fields: Iterable[str]) -> str:
    """What to add to a message about fields that seem to hold several."""
    several = any(mark in field for field in fields for mark in ";\t")
    return " (fields are separated by commas)" if several else ""


def _number(text: str) -> Fraction | None:
    """The exact value of a decimal or a ratio; None for anything else."""
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        return None
