"""The viewer of reports: one page for what `denizen check` and `denizen audit` write with `--html`.

`page.html`, `page.css` and `page.js` are the page, all of it in one file that loads nothing. A
report comes to it as plain data, made of what JSON has, with a key for each part that it shows;
parts without data are left out. The page can be read without its script.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .template import Template, visible

__all__ = ["show", "visible"]


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


_TEMPLATE = Template(_read("page.html"))
_STYLE = _read("page.css")
_SCRIPT = _read("page.js")
#: The policy of the page lets no other script run and nothing be loaded.
_DIGEST = b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()


def show(data: Mapping[str, Any]) -> str:
    """A report's data as HTML: one page, with nothing to load."""
    return _TEMPLATE.render({**data, "style": _STYLE, "script": _SCRIPT, "digest": _DIGEST})
