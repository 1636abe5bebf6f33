"""What a check found: as values, as text, as JSON and as a page."""

from .report import Report, Result, Stale

__all__ = ["Report", "Result", "Stale"]
