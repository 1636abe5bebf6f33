"""What an operation gave is compared and judged; this runs in the operation's own process."""

from .known_refusals import ExpectedError
from .judge import Finding, Verdict, judge

__all__ = ["ExpectedError", "Finding", "Verdict", "judge"]
