"""`denizen demo`: certified problems solved exactly in NumPy arrays, with the objects counted."""

from .run import run_demo, run_fit

__all__ = ["run_demo", "run_fit"]
