"""Runs operations, each in a process of its own."""

from .run import run, selected

__all__ = ["run", "selected"]
