"""Faults that NumPy itself does not stand."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from ..verdict.known_refusals import in_range
from .report import FaultFinding

__all__ = ["Known", "explained", "read_known"]

_FILE = Path(__file__).with_name("known.toml")


@dataclass(frozen=True)
class Known:
    """What comes of a fault in some operations for any dtype, and why."""

    #: Pattern of `Operation.title`, as `fnmatch` takes it.
    operation: str
    #: `FaultFinding.what`.
    what: str
    reason: str
    #: Range of NumPy versions, such as ">=2.4, <2.5"; empty for all.
    numpy: str = ""

    def covers(self, finding: FaultFinding) -> bool:
        """Whether it explains a finding under this NumPy."""
        return (
            fnmatchcase(finding.operation, self.operation)
            and finding.what == self.what
            and in_range(np.__version__, self.numpy)
        )


def read_known() -> list[Known]:
    """The entries of the bundled file."""
    return [Known(**entry) for entry in tomllib.loads(_FILE.read_text())["known"]]


def explained(findings: list[FaultFinding]) -> list[FaultFinding]:
    """The findings, with the reasons of those that are known."""
    known = read_known()
    return [
        replace(finding, reason=next((k.reason for k in known if k.covers(finding)), None))
        for finding in findings
    ]
