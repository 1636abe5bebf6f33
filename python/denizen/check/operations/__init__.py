"""The operations, one module a section; each has its `TABLE`."""

from __future__ import annotations

import importlib
import pkgutil

from ..operation import Table

__all__ = ["tables"]


def tables() -> list[Table]:
    """The tables of all sections, by the names of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}").TABLE for name in names]
