"""Exceptions in words, lost ones, and such as hold no objects any more."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["forget", "in_words", "lost_exceptions"]


def in_words(error: BaseException | None) -> str:
    """An exception and its causes on one line."""
    parts: list[str] = []
    while error is not None and len(parts) < 3:
        text = " ".join(str(error).split())
        text = text if len(text) <= 300 else f"{text[:297]}..."
        parts.append(f"{type(error).__name__}: {text}" if text else type(error).__name__)
        error = error.__cause__
    return ", caused by ".join(parts)


def forget(error: BaseException | None) -> None:
    """Let go of the frames of an exception, and with them of their objects."""
    while error is not None:
        error.__traceback__ = None
        following = error.__cause__ or error.__context__
        error.__cause__ = error.__context__ = None
        error = following


@contextlib.contextmanager
def lost_exceptions(of_threads: list[str] | None = None) -> Iterator[list[str]]:
    """Exceptions that Python could not raise, in words; `of_threads` gets such as end threads."""
    lost: list[str] = []

    def note(unraisable: Any) -> None:
        lost.append(in_words(unraisable.exc_value))

    def note_of_thread(end: Any) -> None:
        if of_threads is not None:
            of_threads.append(in_words(end.exc_value))

    old, sys.unraisablehook = sys.unraisablehook, note
    old_of_threads = threading.excepthook
    if of_threads is not None:
        threading.excepthook = note_of_thread
    try:
        yield lost
    finally:
        sys.unraisablehook, threading.excepthook = old, old_of_threads
