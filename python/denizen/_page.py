"""Pages that need nothing else: what the reports of `denizen check` and `denizen audit` share."""

from __future__ import annotations

import hashlib
import html
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["document", "escape", "read", "tiles", "visible"]


def read(file: Path) -> str:
    """A style or a script that lies beside the module of its page."""
    return file.read_text(encoding="utf-8")


_STYLE = read(Path(__file__).parent / "_page.css")


def visible(text: object) -> str:
    """Any text with all its characters to be seen: those that cannot be, those that turn the
    direction of writing among them, and halves of surrogate pairs (of file names that are not
    UTF-8) are written as Python escapes them."""
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode()
        for character in str(text)
    )


def escape(text: object) -> str:
    """Any text as HTML that shows it, in elements and in quoted attributes."""
    return html.escape(visible(text))


def document(title: str, style: str, script: str, body: Iterable[str]) -> Iterator[str]:
    """The lines of a whole page. Its policy lets no other script run and nothing be loaded."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    yield "<!doctype html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'\">"
    )
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}{style}</style></head><body>"
    yield from body
    yield f"<script>{script}</script></body></html>"


def tiles(counts: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Numbers in a row, each with its name."""
    yield '<ul class="tiles">'
    for name, count in counts:
        yield f"<li><b>{count:,}</b>{escape(name)}</li>"
    yield "</ul>"
