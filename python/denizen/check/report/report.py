"""What a check found: results with types, a table, and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from ..verdict.judge import Verdict

__all__ = ["FORMAT", "Report", "Result", "Stale", "raised_in"]

#: Version of the JSON format. Keys may be added to a version; none goes or changes its meaning.
FORMAT = 1

_FAILURES = (Verdict.WRONG, Verdict.LEAKS, Verdict.CRASHES)
#: How a summary counts verdicts.
_COUNTED = {Verdict.WRONG: "wrong", Verdict.LEAKS: "leak", Verdict.CRASHES: "crash"}
_WIDTH = 100


@dataclass(frozen=True)
class Result:
    """What came of one operation."""

    section: str
    operation: str
    verdict: Verdict
    #: What happened, in words.
    detail: str
    #: Of a refusal: why it is as it should be; None where it is not expected. Of a leak: where
    #: it is NumPy's own.
    reason: str | None = None
    #: Objects by type that were constructed but not destroyed; negative where the other way round.
    leaked: dict[str, int] = field(default_factory=dict)
    #: An exception that the type's own code raised, here as on objects; "" where it did not.
    raised: str = ""
    #: The last lines that a process which crashed wrote to its standard error.
    errors: str = ""
    seconds: float = 0.0

    @property
    def title(self) -> str:
        """The section and the name."""
        return f"{self.section}: {self.operation}"

    @property
    def fails(self) -> bool:
        """Whether it is wrong, leaks or crashes, and that is not NumPy's own fault."""
        return self.verdict in _FAILURES and self.reason is None

    @property
    def unexpected(self) -> bool:
        """Whether it is a refusal that is not expected."""
        return self.verdict is Verdict.REFUSED and self.reason is None


def raised_in(results: Iterable[Result]) -> Iterator[str]:
    """For each kind of exception that the type's own code raised: in how many operations."""
    found: dict[str, list[str]] = {}
    for result in results:
        if result.raised:
            found.setdefault(result.raised.partition(":")[0], []).append(result.raised)
    for messages in found.values():
        other = len(set(messages)) - 1
        more = f" (and {other} other messages)" if other else ""
        count = f"{len(messages)} operations" if len(messages) > 1 else "1 operation"
        yield (
            f"in {count} the type's own code raised {_cut(messages[0])}{more}; its objects did so "
            "too, which is why that is not wrong"
        )


@dataclass(frozen=True)
class Stale:
    """An expected refusal that does not happen any more."""

    operation: str
    reason: str


@dataclass(frozen=True)
class Report:
    """What a check of one element type found."""

    type: str
    denizen: str
    numpy: str
    python: str
    #: Where the values come from, and what they are compared by.
    values: str
    compared_by: str
    #: What a reader must know about the verdicts.
    notes: tuple[str, ...]
    results: tuple[Result, ...]
    stale: tuple[Stale, ...]
    seconds: float

    def count(self, verdict: Verdict) -> int:
        """How many operations have a verdict."""
        return sum(result.verdict is verdict for result in self.results)

    @property
    def unexpected(self) -> tuple[Result, ...]:
        """Refusals that are not expected."""
        return tuple(result for result in self.results if result.unexpected)

    @property
    def failures(self) -> tuple[Result, ...]:
        """What is wrong, leaks or crashes, but for what NumPy does to any dtype."""
        return tuple(result for result in self.results if result.fails)

    def status(self, strict: bool = False) -> int:
        """The exit status: 1 with failures, and if `strict` with refusals that are not expected."""
        return int(bool(self.failures) or (strict and bool(self.unexpected)))

    def _failed(self, verdict: Verdict) -> int:
        return sum(result.verdict is verdict for result in self.failures)

    def sections(self) -> dict[str, list[Result]]:
        """Results by section, in order."""
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.section, []).append(result)
        return found

    def summary(self) -> str:
        """Everything on one line."""
        refused = self.count(Verdict.REFUSED)
        parts = [
            f"{self.count(Verdict.WORKS)} work",
            f"{refused} refused ({refused - len(self.unexpected)} expected)",
            *(f"{self._failed(verdict)} {word}" for verdict, word in _COUNTED.items()),
        ]
        if known := self.count(Verdict.LEAKS) - self._failed(Verdict.LEAKS):
            parts.append(f"{known} leak of NumPy's own")
        if unchecked := self.count(Verdict.UNCHECKED):
            parts.append(f"{unchecked} unchecked")
        return (
            f"{self.type} on NumPy {self.numpy}: {len(self.results)} operations: {', '.join(parts)}"
        )

    def table(self, verbose: bool = False) -> str:
        """Verdicts by section, then what does not work and why; if `verbose`, everything."""
        lines = [
            f"{self.type}, NumPy {self.numpy}, Python {self.python}, denizen {self.denizen}",
            f"values: {self.values}; compared by {self.compared_by}",
            *(f"note: {note}" for note in self.notes),
            "",
            *self._counts(),
        ]
        for heading, results in self._groups(verbose):
            if results:
                lines += ["", f"{heading}:"]
                lines += [line for result in results for line in _described(result)]
        if not verbose:
            lines += self._expected()
        if self.stale:
            lines += ["", "Expected to be refused, but works now:"]
            lines += [f"  {entry.operation} (expected: {entry.reason})" for entry in self.stale]
        return "\n".join([*lines, "", self.summary()])

    def _counts(self) -> Iterator[str]:
        """The table by section."""
        verdicts = [v for v in Verdict if v is not Verdict.UNCHECKED or self.count(v)]
        sections = self.sections()
        width = max([len("section"), *map(len, sections)])
        yield f"{'section':<{width}}  " + "  ".join(f"{verdict:>9}" for verdict in verdicts)
        for section, results in sections.items():
            counts = Counter(result.verdict for result in results)
            yield f"{section:<{width}}  " + "  ".join(
                f"{counts[verdict] or '.':>9}" for verdict in verdicts
            )

    def _groups(self, verbose: bool) -> Iterator[tuple[str, list[Result]]]:
        def having(verdict: Verdict) -> list[Result]:
            return [result for result in self.results if result.verdict is verdict]

        yield "Crashes", having(Verdict.CRASHES)
        yield "Leaks", [result for result in having(Verdict.LEAKS) if result.fails]
        yield "Wrong", having(Verdict.WRONG)
        yield "Refused, not expected", list(self.unexpected)
        yield "Unchecked", having(Verdict.UNCHECKED)
        yield "Leaks of NumPy's own", [r for r in having(Verdict.LEAKS) if not r.fails]
        if verbose:
            yield "Refused", [r for r in having(Verdict.REFUSED) if not r.unexpected]
            yield "Works", having(Verdict.WORKS)

    def _expected(self) -> Iterator[str]:
        """How many refusals are expected, by reason."""
        reasons = Counter(
            result.reason
            for result in self.results
            if result.verdict is Verdict.REFUSED and result.reason is not None
        )
        if reasons:
            yield ""
            yield "Refused, as expected (--verbose lists the operations):"
            yield from (f"  {count:>4}  {_cut(why)}" for why, count in reasons.most_common())

    def to_json(self) -> str:
        """Everything, as JSON; docs/testing-your-type.md describes the format."""
        plain: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        plain["counts"] = {
            **{str(verdict): self.count(verdict) for verdict in Verdict},
            "refused, not expected": len(self.unexpected),
        }
        plain["summary"] = self.summary()
        return json.dumps(plain, indent=1) + "\n"


def _described(result: Result) -> Iterator[str]:
    yield f"  {result.title}"
    yield f"      {_cut(result.detail)}"
    if result.reason is not None:
        yield f"      expected: {_cut(result.reason)}"
    if result.errors:
        yield from (f"      | {line}" for line in result.errors.splitlines())


def _cut(text: str) -> str:
    return text if len(text) <= 400 else f"{text[:397]}..."
