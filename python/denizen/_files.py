"""Files that commands write their reports to."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cannot_write"]


def cannot_write(path: Path) -> str | None:
    """Why a file cannot be written; found out before everything runs. Makes no file."""
    if path.is_dir():
        return f"cannot write {path}: it is a directory"
    if not path.parent.is_dir():
        return f"cannot write {path}: there is no directory {path.parent}"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return f"cannot write {path}: permission denied"
    return None
