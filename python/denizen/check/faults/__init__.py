"""`denizen check --faults`: every operation again, with each of its steps failing once."""

from .report import FaultFinding, FaultReport, FaultRuns
from .run import run_faults
from .source import KINDS, Source, source_named

__all__ = [
    "KINDS",
    "FaultFinding",
    "FaultReport",
    "FaultRuns",
    "Source",
    "run_faults",
    "source_named",
]
