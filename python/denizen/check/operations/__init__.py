"""The operations that are checked: what one is, what they are made from, and all of them."""

from __future__ import annotations

import importlib
import pkgutil

from . import sections
from .operation import Operation, Table

__all__ = ["Operation", "Table", "tables"]


def tables() -> list[Table]:
    """The tables of all sections, by the names of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(sections.__path__))
    return [importlib.import_module(f"{sections.__name__}.{name}").TABLE for name in names]
