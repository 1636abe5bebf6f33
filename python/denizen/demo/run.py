"""The demo's text: what it prints, problem by problem, and its exit status."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.linalg import LinAlgError

from .. import _runtime
from .digits import is_right, score, to_decimal
from .integers import TIMED_ELEMENTS, overflows, timings
from .ledger import Ledger, counted
from .statistics import (
    Arithmetic,
    Model,
    Number,
    exact_arithmetic,
    float_arithmetic,
    parse_model,
    regress,
    summarise,
)
from .tables import DataError, Table, read_bundled, read_file

#: The problems, in the order of the output.
PROBLEMS = ("Wampler1", "Wampler2", "Longley", "NumAcc1", "NumAcc2", "NumAcc3", "NumAcc4")

_ROW = "{:<9} {:<19} {:>22}  {:>8}  {:>8}"


def run_demo(rational: Any = _runtime.Rational, integer: Any = _runtime.Integer) -> int:
    """Run all problems. Returns 0, or 1 where a digit is wrong or an object is left."""
    _say("Problems of the NIST Statistical Reference Datasets, computed by the same NumPy code on")
    _say("arrays of denizen.Rational and of float64. Scores are correct significant digits, of the")
    _say("15 that NIST certifies.")
    _say()
    _say(_ROW.format("problem", "quantity", "certified value", "Rational", "float64"))
    faults = []
    total = Ledger(0, 0, 0)
    for name in PROBLEMS:
        table = read_bundled(name)
        model = problem_model(table)
        exact, exact_seconds, ledger = counted(
            lambda: compute(table, model, exact_arithmetic(rational))  # noqa: B023
        )
        rounded, rounded_seconds, _ = counted(
            lambda: compute(table, model, float_arithmetic())  # noqa: B023
        )
        label = name
        for quantity, text in certified_values(table).items():
            value = Fraction(text)
            _say(
                _ROW.format(
                    label,
                    quantity,
                    to_decimal(value),
                    score(exact[quantity], value),
                    score(rounded[quantity], value),
                )
            )
            label = ""
            if not is_right(exact[quantity], value):
                faults.append(f"{name}: {quantity} is wrong")
        times = f"{_time(exact_seconds)} (float64 {_time(rounded_seconds)})"
        _say(f"{'':<9} {times}; objects: {ledger}")
        faults += _check(name, ledger)
        total = _add(total, ledger)
    faults += _show_integers(integer)
    _say()
    _say(f"Ledger of the seven problems: {total}")
    for fault in faults:
        _say(f"FAILED: {fault}")
    return 1 if faults else 0


def run_fit(path: str, formula: str, rational: Any = _runtime.Rational) -> int:
    """Fit a model to a user's file, exactly and in float64. Returns the exit status."""
    model = parse_model(formula)
    table = read_file(path, model.columns)
    model.check(table)
    try:
        exact, seconds, ledger = counted(lambda: compute(table, model, exact_arithmetic(rational)))
    except LinAlgError as error:
        raise DataError(f"{path}: the model {formula!r} has no unique fit: {error}") from error
    rounded, rounded_seconds, _ = counted(lambda: compute(table, model, float_arithmetic()))
    _say(f"{path}: {table.rows} rows, {formula}")
    _say()
    labels = [str(term) for term in model.terms]
    labels += list(exact)[len(labels) :]
    width = max(len(label) for label in (*labels, "term"))
    _say(f"{'term':<{width}}  {'exact, to 20 digits':>28}  {'float64':>24}  digits right")
    for label, quantity in zip(labels, exact, strict=True):
        value = exact[quantity]
        assert isinstance(value, Fraction)
        _say(
            f"{label:<{width}}  {to_decimal(value, 20):>28}  {rounded[quantity]!r:>24}  "
            f"{score(rounded[quantity], value)}"
        )
    _say()
    _say(f"{_time(seconds)} (float64 {_time(rounded_seconds)}); objects: {ledger}")
    faults = _check("fit", ledger)
    for fault in faults:
        _say(f"FAILED: {fault}")
    return 1 if faults else 0


def problem_model(table: Table) -> Model | str:
    """What a bundled file asks for: a model, or the column to summarise."""
    formula = dict(table.notes)["model"]
    if "~" in formula:
        return parse_model(formula)
    return formula.removeprefix("summary of ")


def certified_values(table: Table) -> dict[str, str]:
    """The certified values of a bundled file, as NIST writes them."""
    pairs = (value.split(" = ") for key, value in table.notes if key == "certified")
    return {name: text for name, text in pairs}


def compute(table: Table, model: Model | str, arithmetic: Arithmetic) -> dict[str, Number]:
    """Compute one problem. No array outlives the call."""
    if isinstance(model, Model):
        return regress(table, model, arithmetic)
    return summarise(table, model, arithmetic)


def _show_integers(dtype: Any) -> list[str]:
    """Print `Integer` beside int64 and object arrays; return what is wrong."""
    faults = []
    _say()
    _say("denizen.Integer is unbounded; int64 wraps around:")
    cases, _, ledger = counted(lambda: overflows(dtype))
    _say(f"{'':<20} {'Integer':>28} {'int64':>22}")
    for case in cases:
        _say(f"{case.what:<20} {case.integer:>28} {case.int64:>22}")
        if case.integer != case.truth:
            faults.append(f"{case.what} is wrong")
    faults += _check("overflow", ledger)
    _say()
    _say(f"Time on {TIMED_ELEMENTS:,} values below 2**31, beside Python ints in an object array:")
    measured, _, ledger = counted(lambda: timings(dtype))
    _say(f"{'':<20} {'Integer':>12} {'object':>12} {'ratio':>8}")
    for timing in measured:
        ratio = timing.objects / timing.integer
        _say(
            f"{timing.what:<20} {_time(timing.integer):>12} {_time(timing.objects):>12} "
            f"{ratio:>7.1f}x"
        )
        if not timing.equal:
            faults.append(f"{timing.what} on Integer differs from the object array")
    _say(f"objects: {ledger}")
    return faults + _check("timing", ledger)


def _check(name: str, ledger: Ledger) -> list[str]:
    """What is wrong with a ledger."""
    return [] if ledger.balances else [f"{name}: the ledger does not balance: {ledger}"]


def _add(left: Ledger, right: Ledger) -> Ledger:
    """Two ledgers as one."""
    return Ledger(
        left.constructed + right.constructed,
        left.destroyed + right.destroyed,
        left.live + right.live,
    )


def _time(seconds: float) -> str:
    """Seconds in a unit that fits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def _say(line: str = "") -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)
