"""What an operation gave is compared and judged; this runs in the operation's own process."""

from .judge import Finding, Verdict, judge
from .known_refusals import ExpectedError

__all__ = ["ExpectedError", "Finding", "Verdict", "judge"]
