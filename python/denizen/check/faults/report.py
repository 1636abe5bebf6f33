"""What the runs with faults found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

__all__ = ["FORMAT", "FaultFinding", "FaultReport", "FaultRuns"]

#: Version of the JSON format. Keys may be added to a version; none goes or changes its meaning.
FORMAT = 1
#: The step of a finding that needs no fault.
ALONE = -1
#: Most operations that a table names in a list.
_NAMED = 30


@dataclass
class FaultRuns:
    """The runs of one operation, in each of which a step of one kind was to fail."""

    operation: str
    kind: str
    #: Steps that it makes without a fault.
    steps: int = 0
    #: Steps that are to fail: all, or an even sample.
    planned: int = 0
    #: Runs in which one was to fail.
    tried: int = 0
    #: Runs that ended with the planned failure.
    raised: int = 0
    #: Runs with the right result, the failure reported as one that Python could not raise.
    reported: int = 0
    #: Runs in which a step failed that was not needed: the result is right.
    survived: int = 0
    #: Runs that did not come to the step: they take another way each time.
    missed: int = 0
    #: Functions that failed, by what the failures say, and how often.
    functions: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FaultFinding:
    """A fault that an operation did not stand."""

    operation: str
    #: What failed.
    kind: str
    #: After how many steps; `ALONE` for a crash without any fault.
    step: int
    #: "crashes", "leaks", "unusable", "wrong result", "other error" or "no error".
    what: str
    detail: str
    #: The last lines that a process which crashed wrote to its standard error.
    errors: str = ""
    #: Why this is not denizen's fault; None where it is.
    reason: str | None = None


@dataclass(frozen=True)
class FaultReport:
    """What came of all operations with all faults."""

    type: str
    denizen: str
    numpy: str
    python: str
    kinds: tuple[str, ...]
    tried: tuple[FaultRuns, ...]
    findings: tuple[FaultFinding, ...]
    #: Most steps of an operation that were made to fail; beyond it, an even sample.
    limit: int
    seconds: float

    def table(self) -> str:
        """A table of all kinds, and the findings."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"faults in the operations of {self.type}: NumPy {self.numpy}, Python {self.python}"
        yield ""
        names = ("steps", "tried", "raised", "reported", "survived", "missed")
        yield f"{'kind':<12}" + "".join(
            f"{name:>11}" for name in ("operations", *names, "findings")
        )
        for kind in self.kinds:
            those = [tried for tried in self.tried if tried.kind == kind]
            found = sum(finding.kind == kind for finding in self.findings)
            sums = (sum(getattr(tried, name) for tried in those) for name in names)
            yield f"{kind:<12}" + "".join(f"{number:>11}" for number in (len(those), *sums, found))
        sampled = [tried for tried in self.tried if tried.planned < tried.steps]
        if sampled:
            yield ""
            yield (
                f"{len(sampled)} of {len(self.tried)} were tried with an even sample of their "
                f"steps (limit {self.limit} steps or the time of an operation):"
            )
            for tried in sampled[:_NAMED]:
                yield f"  {tried.operation}: {tried.kind}, {tried.planned} of {tried.steps}"
            if len(sampled) > _NAMED:
                yield f"  and {len(sampled) - _NAMED} more, which --json names"
        for kind in self.untried():
            yield ""
            yield f"{kind}: NOTHING WAS TESTED, as no operation makes a step of this kind"
        if functions := self.functions():
            yield ""
            yield "failed: " + ", ".join(f"{name} {count}" for name, count in functions.items())
        yield from self._crashes_alone()
        yield from self._findings()
        yield ""
        yield f"{self.failures()} failures in {self.seconds:.1f} s"

    def _crashes_alone(self) -> Iterator[str]:
        """Crashes without any fault, said once: another command is for them."""
        alone = [finding for finding in self.findings if finding.step == ALONE]
        if not alone:
            return
        titles = list(dict.fromkeys(finding.operation for finding in alone))
        yield ""
        crash = "1 operation crashes" if len(titles) == 1 else f"{len(titles)} operations crash"
        yield f"{crash} WITHOUT a fault, and no fault was tried there: run `denizen check` first"
        yield from (f"  {title}" for title in titles[:_NAMED])
        if len(titles) > _NAMED:
            yield f"  and {len(titles) - _NAMED} more, which --json names"
        yield f"the first: {alone[0].detail}"
        yield from (f"  | {line}" for line in alone[0].errors.splitlines()[:12])

    def untried(self) -> list[str]:
        """Kinds of which no operation makes a step."""
        stepped = {tried.kind for tried in self.tried if tried.steps}
        return [kind for kind in self.kinds if kind not in stepped]

    def _findings(self) -> Iterator[str]:
        grouped: dict[tuple[str, str, str], list[FaultFinding]] = {}
        for finding in self.findings:
            if finding.step == ALONE:
                continue
            key = (finding.operation, finding.kind, finding.what)
            grouped.setdefault(key, []).append(finding)
        if grouped:
            yield ""
        for (operation, kind, what), those in grouped.items():
            steps = ", ".join(str(finding.step) for finding in those[:12])
            more = ", .." if len(those) > 12 else ""
            reason = f" [{those[0].reason}]" if those[0].reason else ""
            yield f"{what:<13} {operation}: {kind} {steps}{more}{reason}"
            yield f"              {those[0].detail}"
            if those[0].errors:
                yield from (f"              | {line}" for line in those[0].errors.splitlines()[:12])

    def failures(self) -> int:
        """Findings that have no reason outside denizen."""
        return sum(finding.reason is None for finding in self.findings)

    def status(self) -> int:
        """The exit status: 1 where something failed."""
        return int(self.failures() > 0)

    def functions(self) -> dict[str, int]:
        """Functions of the type that failed, and how often."""
        total: Counter[str] = Counter()
        for tried in self.tried:
            total.update(tried.functions)
        return dict(total.most_common())

    def counts(self) -> dict[str, int]:
        """Findings by what they are."""
        return dict(Counter(finding.what for finding in self.findings))

    def to_json(self) -> str:
        """Everything."""
        content = {"format": FORMAT, "counts": self.counts(), **asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
