"""`audit`: what happened to objects in a block, and which of them outlive it."""

from .audit import Audit, LeakError, audit

__all__ = ["Audit", "LeakError", "audit"]
