"""The verdict on one operation; this runs in the operation's own process."""

from __future__ import annotations

import gc
import pickle
import re
import warnings
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ... import Integer, _runtime
from ..operations.operation import Capability, Operation, Run
from ..subject.element import COUNT, Element, Probe
from ..subject.subject import Scalars, Subject
from .comparison import Comparison, known_values, shared
from .errors import forget, in_words, lost_exceptions
from .refusals import reason_to_refuse

__all__ = ["Finding", "Verdict", "judge"]


class Verdict(StrEnum):
    """What came of an operation."""

    WORKS = "works"
    #: TypeError, ValueError or NotImplementedError with a message that says why.
    REFUSED = "refused"
    #: Ran, but there was nothing to compare its result with.
    UNCHECKED = "unchecked"
    #: Another result, or another exception, than object arrays give.
    WRONG = "wrong"
    #: Objects outlive everything that held them, or were destroyed too often.
    LEAKS = "leaks"
    #: The process died or did not end.
    CRASHES = "crashes"


@dataclass(frozen=True)
class Finding:
    """A verdict, and why."""

    verdict: Verdict
    #: What happened, in words.
    detail: str
    #: Why a refusal is as it should be, where the type or the oracle tell.
    reason: str | None = None
    #: Objects by type that were constructed but not destroyed; negative where the other way round.
    leaked: dict[str, int] = field(default_factory=dict)
    #: What the type's own code raised, here as on objects; "" where it did not.
    raised: str = ""


#: What a clean refusal raises.
_REFUSALS = (TypeError, ValueError, NotImplementedError)
#: What an object array raises where its scalars lack an operation.
_INCAPABLE = (TypeError, AttributeError, NotImplementedError)
#: What an operation raises by its nature, it raises for these.
_INTEGERS = Element(
    np.dtype(Integer), Probe(0, COUNT, frozenset(get_args(Capability)), compared_by="equality")
)
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")


def _says_why(message: str) -> bool:
    """Whether it is of at least two words, and three letters come in a row."""
    return len(message.split(None, 2)) >= 2 and _THREE_LETTERS.search(message) is not None


def judge(operation: Operation, element: Element, folder: Path) -> Finding:
    """Run an operation on arrays of the type and on object arrays, and compare."""
    warnings.simplefilter("ignore")
    before = _balances()
    with lost_exceptions() as lost:
        finding = _compared(operation, element, folder, lost)
        gc.collect()
    leaked = _leaked(before)
    if not leaked:
        return finding
    # The object arrays may have a part in it: count once more without them.
    before = _balances()
    forget(_attempt(operation.run, Subject(element, folder=folder))[1])
    leaked = _leaked(before) or leaked
    counts = ", ".join(f"{count:+d} {name}" for name, count in leaked.items())
    detail = f"objects that outlive the operation: {counts} (negative: destroyed too often)"
    if finding.verdict is Verdict.WRONG:
        return Finding(Verdict.WRONG, f"{finding.detail}; and {detail}", leaked=leaked)
    detail = f"{detail}; it {finding.verdict}: {finding.detail}"
    return Finding(Verdict.LEAKS, detail, leaked=leaked, raised=finding.raised)


def _balances() -> dict[str, int]:
    """Constructed minus destroyed objects, by type."""
    gc.collect()
    return {
        name: counters["constructed"] - counters["destroyed"]
        for name, counters in _runtime.stats().items()
    }


def _leaked(before: dict[str, int]) -> dict[str, int]:
    """How the balances have changed."""
    return {
        name: balance - before.get(name, 0)
        for name, balance in _balances().items()
        if balance != before.get(name, 0)
    }


def _attempt(run: Run, subject: Subject) -> tuple[Any, BaseException | None]:
    try:
        return run(subject), None
    except BaseException as error:
        return None, error


def _compared(operation: Operation, element: Element, folder: Path, lost: list[str]) -> Finding:
    """The verdict but for the count of objects. Holds no object when it returns."""
    subject = Subject(element, folder=folder)
    found, error = _attempt(operation.run, subject)
    if error is not None:
        finding = _judge_error(error, operation, element, folder)
        forget(error)
        return finding
    # Destructors of the type may raise whenever objects end: then they do so here as well.
    lost_here = list(lost)
    finding = _judge_result(found, subject, operation, element, folder)
    if finding.verdict is Verdict.WRONG and _counts_otherwise(operation, element):
        # What a text makes of 2 + 3 is its own affair.
        finding = Finding(
            Verdict.UNCHECKED,
            f"numbers are something else to {element.name} than to NumPy: {finding.detail}",
        )
    if lost_here and finding.verdict is not Verdict.WRONG and not lost[len(lost_here) :]:
        return Finding(Verdict.WRONG, f"an exception got lost: {lost_here[0]}")
    return finding


# ---- an operation that returned


def _judge_result(
    found: Any, subject: Subject, operation: Operation, element: Element, folder: Path
) -> Finding:
    why = ""
    for scalars, run in _oracles(operation):
        oracle = Subject(element, scalars, folder)
        wanted, error = _attempt(run, oracle)
        if error is None:
            return _judge_values(found, subject, wanted, oracle, operation, element)
        raised = in_words(error)
        why = why or raised
        incapable = isinstance(error, _INCAPABLE)
        forget(error)
        if not incapable:
            return Finding(Verdict.WRONG, f"returned {_briefly(found)}; objects raise {raised}")
    return _judge_alone(found, element, why)


def _oracles(operation: Operation) -> list[tuple[Scalars, Run]]:
    """What the result is compared with, best first."""
    run = operation.run if operation.oracle is None else operation.oracle
    return [("scalars", run), ("element_objects", run)]


def _judge_values(
    found: Any,
    subject: Subject,
    wanted: Any,
    oracle: Subject,
    operation: Operation,
    element: Element,
) -> Finding:
    comparison = Comparison(element)
    try:
        problem = comparison.difference(found, wanted)
    except Exception as error:
        problem = f"the result cannot be read: {in_words(error)}"
        forget(error)
    # An oracle of its own makes results in its own way.
    if problem is None and operation.oracle is None:
        problem = shared(found, subject, wanted, oracle)
    if problem is not None:
        return Finding(Verdict.WRONG, problem)
    if not comparison.compared:
        return Finding(Verdict.UNCHECKED, "the result has nothing to compare")
    how = "objects" if oracle.scalars == "scalars" else "loops over one element"
    return Finding(Verdict.WORKS, f"equal to {how} in {comparison.compared} comparisons")


def _counts_otherwise(operation: Operation, element: Element) -> bool:
    """Whether an operation counts in a type that takes numbers for something else."""
    return "counting" in operation.needs - element.abilities and "numbers" in element.abilities


def _judge_alone(found: Any, element: Element, why: str) -> Finding:
    """Nothing to compare with: the elements must at least be some that were given."""
    try:
        count, unknown = known_values(found, element)
    except Exception as error:
        detail = f"the result cannot be read: {in_words(error)}"
        forget(error)
        return Finding(Verdict.WRONG, detail)
    if count and unknown is None:
        return Finding(
            Verdict.WORKS,
            f"unchecked but for its values: {count} elements are some that were given, or defaults "
            f"(object arrays cannot do it: {why})",
        )
    return Finding(
        Verdict.UNCHECKED,
        f"returned {_briefly(found)}; object arrays cannot do it ({why})",
    )


# ---- an operation that raised


def _judge_error(
    error: BaseException, operation: Operation, element: Element, folder: Path
) -> Finding:
    # `np.load` wraps what unpickling raised.
    if isinstance(error, pickle.UnpicklingError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    words = in_words(error)
    same, other = _oracle_error(error, operation, element, folder)
    if isinstance(error, _REFUSALS):
        reason = reason_to_refuse(error, operation, element)
        own = ""
        if reason is None and same:
            reason = "arrays of Python objects refuse it too"
            # A TypeError is what a missing operation gives.
            if not isinstance(error, TypeError | NotImplementedError):
                own = _own(error, operation, folder)
        return replace(_refusal(error, words, reason, element), raised=own)
    if same:
        own = _own(error, operation, folder)
        return Finding(Verdict.WORKS, f"raises as objects do: {words}", raised=own)
    instead = f"objects raise {other}" if other else "objects do not raise"
    return Finding(Verdict.WRONG, f"raised {words}; {instead}")


def _oracle_error(
    error: BaseException, operation: Operation, element: Element, folder: Path
) -> tuple[bool, str | None]:
    """Whether the object arrays raise the same, and what they raise."""
    run = operation.run if operation.oracle is None else operation.oracle
    _, other = _attempt(run, Subject(element, "scalars", folder))
    if other is None:
        return False, None
    same = isinstance(error, type(other)) or isinstance(other, type(error))
    words = in_words(other)
    forget(other)
    return same, words


def _own(error: BaseException, operation: Operation, folder: Path) -> str:
    """An exception in words if it is the type's own: integers do not raise it there."""
    _, other = _attempt(operation.run, Subject(_INTEGERS, folder=folder))
    same = other is not None and isinstance(error, type(other))
    forget(other)
    return "" if same else in_words(error)


def _refusal(error: BaseException, words: str, reason: str | None, element: Element) -> Finding:
    message = str(error)
    texts = {text for value in element.values() for text in (str(value), repr(value))}
    if not _says_why(message) or message.strip() in texts:
        return Finding(Verdict.WRONG, f"refused without saying why: {words}")
    return Finding(Verdict.REFUSED, words, reason)


# ---- words


def _briefly(found: Any) -> str:
    try:
        text = " ".join(repr(found).split())
    except Exception as error:
        return f"something whose repr raises {in_words(error)}"
    return text if len(text) <= 100 else f"{text[:97]}..."
