"""The computations of the demo: ordinary NumPy code, the same for exact and rounded elements."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import linalg
from .digits import square_root
from .tables import DataError, Table

Number = Fraction | float

#: The highest power of a column in a formula: two digits.
MOST_POWER = 99


@dataclass(frozen=True)
class Term:
    """A column of the design matrix: a column of the table to a power; power 0 is the constant."""

    name: str
    power: int = 1

    def __str__(self) -> str:
        if self.power == 0:
            return "1"
        return self.name if self.power == 1 else f"{self.name}^{self.power}"


@dataclass(frozen=True)
class Model:
    """`y ~ x1 + x2^2`: a response and its terms, with a constant unless the formula drops it."""

    response: str
    terms: tuple[Term, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return (self.response, *(term.name for term in self.terms if term.power))

    def check(self, table: Table) -> None:
        """Refuse columns that the table lacks, and fewer rows than coefficients."""
        for name in self.columns:
            table.column(name)
        if table.rows < len(self.terms):
            raise DataError(
                f"{table.source}: {table.rows} rows cannot determine {len(self.terms)} coefficients"
            )


def parse_model(formula: str) -> Model:
    """Parse `y ~ x1 + x2 + x2^2`. A constant term is added; `+ 0` or `- 1` drops it."""
    response, found, right = (part.strip() for part in formula.partition("~"))
    if not found or not response or not right:
        raise DataError(f"the model {formula!r} does not read 'response ~ column + column + ...'")
    constant = True
    terms: list[Term] = []
    right, dropped = re.subn(r"\s*-\s*1\s*$", "", right)
    if dropped:
        constant = False
    for text in (part.strip() for part in right.split("+")) if right else ():
        match = re.fullmatch(r"(.*?)\s*(?:\^|\*\*)\s*(-?[0-9.]+)", text)
        if match and not re.fullmatch(r"[1-9][0-9]?", match[2]):
            raise DataError(
                f"the model {formula!r} has the power {match[2]}; powers are whole numbers from "
                f"1 to {MOST_POWER}"
            )
        term = Term(match[1], int(match[2])) if match else Term(text)
        if text in ("0", "1"):
            constant = constant and text == "1"
        elif not term.name:
            raise DataError(f"the model {formula!r} has an empty term")
        elif term in terms:
            raise DataError(f"the model {formula!r} has the term {term} twice")
        else:
            terms.append(term)
    if constant:
        terms.insert(0, Term("1", 0))
    if not terms:
        raise DataError(f"the model {formula!r} has no terms")
    return Model(response, tuple(terms))


@dataclass(frozen=True)
class Arithmetic:
    """How one kind of element is made from exact numbers, and how it solves and takes roots."""

    name: str
    dtype: Any
    array: Callable[[list[Fraction]], NDArray[Any]]
    least_squares: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    root: Callable[[Any], Number]
    number: Callable[[Any], Number]


def exact_arithmetic(dtype: Any) -> Arithmetic:
    """Exact elements: `denizen.Rational`, or object for `fractions.Fraction`."""
    return Arithmetic(
        name=getattr(dtype, "__name__", str(dtype)),
        dtype=dtype,
        array=lambda values: np.array(values, dtype=dtype),
        least_squares=lambda design, y: linalg.lstsq(design, y).x,
        root=lambda value: square_root(Fraction(value)),
        number=Fraction,
    )


def float_arithmetic() -> Arithmetic:
    """float64, with NumPy's own least squares (singular value decomposition)."""
    return Arithmetic(
        name="float64",
        dtype=np.float64,
        array=lambda values: np.array([float(value) for value in values]),
        least_squares=lambda design, y: np.linalg.lstsq(design, y, rcond=None)[0],
        root=lambda value: sqrt(value),
        number=float,
    )


def regress(table: Table, model: Model, arithmetic: Arithmetic) -> dict[str, Number]:
    """Least squares: coefficients B0, B1, ..., the residual standard deviation and R squared.

    The last two are missing where they are not defined: no degree of freedom is left, there is
    no constant term, or the response is constant.
    """
    y = arithmetic.array(table.column(model.response))
    design = _design(table, model, arithmetic)
    try:
        coefficients = arithmetic.least_squares(design, y)
    except linalg.LinAlgError as error:
        raise linalg.LinAlgError(_dependent_term(design, model) or str(error)) from error
    residuals = y - design @ coefficients
    squares = residuals @ residuals
    results = {f"B{i}": arithmetic.number(value) for i, value in enumerate(coefficients)}
    count, parameters = design.shape
    if count > parameters:
        results["residual sd"] = arithmetic.root(squares / (count - parameters))
    deviations = y - y.sum() / count
    total = deviations @ deviations
    if total != 0 and any(term.power == 0 for term in model.terms):
        results["R squared"] = arithmetic.number(1 - squares / total)
    return results


def summarise(table: Table, name: str, arithmetic: Arithmetic) -> dict[str, Number]:
    """Mean, standard deviation (n - 1) and lag-1 autocorrelation of a column."""
    y = arithmetic.array(table.column(name))
    mean = y.sum() / y.size
    deviations = y - mean
    squares = deviations @ deviations
    return {
        "mean": arithmetic.number(mean),
        "standard deviation": arithmetic.root(squares / (y.size - 1)),
        "autocorrelation": arithmetic.number(deviations[:-1] @ deviations[1:] / squares),
    }


def _dependent_term(design: NDArray[Any], model: Model) -> str | None:
    """Which term keeps the design matrix from full rank; None if none does."""
    for index, term in enumerate(model.terms):
        if linalg.matrix_rank(design[:, : index + 1]) <= index:
            if not index:
                return f"the term {term} is zero in every row"
            return f"the term {term} is a combination of the terms before it"
    return None


def _design(table: Table, model: Model, arithmetic: Arithmetic) -> NDArray[Any]:
    """The design matrix, powers by repeated multiplication of whole columns."""
    ones = arithmetic.array([Fraction(1)] * table.rows)
    columns = []
    for term in model.terms:
        column = ones
        if term.power:
            factor = arithmetic.array(table.column(term.name))
            for _ in range(term.power):
                column = column * factor
        columns.append(column)
    return np.stack(columns, axis=1)
