"""HTML from a template and data: a part of Mustache, in which all texts are escaped."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Template", "visible"]

_TAG = re.compile(r"\{\{\{(?P<raw>\w+)\}\}\}|\{\{(?P<mark>[#^/>]?)(?P<name>\w+|\.)\}\}")
#: Tags that stand on a line alone: the line is no part of the page.
_ALONE = re.compile(r"^(\{\{[#^/>]\w+\}\})\n", re.MULTILINE)
_INDENTATION = re.compile(r"^[ ]+", re.MULTILINE)
_FRAGMENT = re.compile(r"^<!-- fragment (\w+) -->\n", re.MULTILINE)


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


@dataclass
class _Node:
    """A tag, or plain text, which has no mark; what is in a section are its parts."""

    mark: str
    name: str
    parts: list[_Node] = field(default_factory=list)


class Template:
    """A template, parsed once.

    `{{name}}` is the text of a key, escaped; `{{.}}` that of the data themselves. What stands
    between `{{#name}}` and `{{/name}}` is written once for each item of a sequence and once for a
    mapping, with their data, once with the same data for anything else that is true, else not at
    all; between `{{^name}}` and `{{/name}}` the other way round. `{{{name}}}` is a text as it
    is, or data as JSON for a script. `{{>name}}` is the fragment of that name, which follows a
    line `<!-- fragment name -->` after the page. Unlike in Mustache a key is looked up in the
    innermost data only.
    """

    def __init__(self, text: str) -> None:
        text = _ALONE.sub(r"\1", _INDENTATION.sub("", text))
        page, *fragments = _FRAGMENT.split(text)
        self._page = _parsed(page)
        self._fragments = {
            name: _parsed(fragment.strip())
            for name, fragment in zip(fragments[::2], fragments[1::2], strict=True)
        }

    def render(self, data: Mapping[str, Any]) -> str:
        """The page of some data."""
        return "".join(self._written(self._page, data))

    def _written(self, nodes: Sequence[_Node], data: Any) -> Iterator[str]:
        for node in nodes:
            match node.mark:
                case "":
                    yield node.name
                case "text":
                    yield html.escape(visible(data if node.name == "." else data[node.name]))
                case "raw":
                    yield _raw(data[node.name])
                case ">":
                    yield from self._written(self._fragments[node.name], data)
                case "^":
                    if not data.get(node.name):
                        yield from self._written(node.parts, data)
                case _:
                    for item in _items(data.get(node.name), data):
                        yield from self._written(node.parts, item)


def _items(value: Any, data: Any) -> Sequence[Any]:
    """The data with which a section is written, each time."""
    if isinstance(value, list | tuple):
        return value
    if not value:
        return ()
    return (value if isinstance(value, Mapping) else data,)


def _raw(value: Any) -> str:
    # No text in JSON can end the element of the script.
    return value if isinstance(value, str) else json.dumps(value).replace("<", "\\u003c")


def _parsed(text: str) -> list[_Node]:
    root = _Node("#", "")
    open_sections = [root]
    end = 0
    for tag in _TAG.finditer(text):
        open_sections[-1].parts.append(_Node("", text[end : tag.start()]))
        end = tag.end()
        mark, name = tag["mark"], tag["name"]
        if mark == "/":
            if open_sections.pop().name != name:
                raise ValueError(f"{{{{/{name}}}}} ends no section that begins before it")
            continue
        node = _Node("raw", tag["raw"]) if tag["raw"] else _Node(mark or "text", name)
        open_sections[-1].parts.append(node)
        if mark in ("#", "^"):
            open_sections.append(node)
    if open_sections != [root]:
        raise ValueError(f"{{{{#{open_sections[-1].name}}}}} is never ended")
    root.parts.append(_Node("", text[end:]))
    return root.parts
