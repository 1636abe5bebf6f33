"""A user's script that uses every public name of denizen, denizen.linalg and denizen.check. The type
checkers must accept it, and `test_typed_user.py` runs it."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import denizen
from denizen import check, linalg


def scalars() -> None:
    whole: int = denizen.Integer(3) + 4
    half = denizen.Rational(1, 2)
    hexadecimal = denizen.Integer("ff", base=16)
    numbers: list[int] = [whole, hexadecimal, denizen.Integer("1_000")]
    fractions: list[Fraction] = [half, denizen.Rational("1/3"), denizen.Rational(0.5)]
    top: int = half.numerator
    text = f"{half} {hexadecimal:>10}"
    assert numbers == [7, 255, 1000] and sum(fractions) == Fraction(4, 3) and top == 1
    assert text == "1/2        255"


def arrays() -> NDArray[Any]:
    a: NDArray[Any] = np.array(["12345678901234567890", 7], dtype=denizen.Integer)
    b = np.zeros((2, 3), dtype=denizen.RationalDType())
    c = np.full(2, denizen.Rational(4, 2)).astype(denizen.IntegerDType())
    total: NDArray[Any] = a[:, np.newaxis] * b + c[:, np.newaxis]
    return total


def dtypes() -> None:
    kinds: list[np.dtype[Any]] = [denizen.Integer.dtype, denizen.RationalDType()]
    same: denizen.IntegerDType = denizen.IntegerDType()
    record = np.dtype([("n", denizen.Integer.dtype), ("r", denizen.RationalDType())])
    names: list[str] = [kind.name for kind in kinds]
    assert names == ["denizen.Integer", "denizen.Rational"] and same == kinds[0]
    assert np.issubdtype(same, denizen.Integer) and record["n"] == same


def plain_values(a: NDArray[Any]) -> list[Any]:
    nested = denizen.to_python(a)
    assert isinstance(nested, list)
    return nested


def memory() -> None:
    a = np.array(["1/3", 2], dtype=denizen.Rational)
    found: denizen.Inspection = denizen.inspect(a)
    live: int = found.live
    bits: tuple[bool, ...] = found.bitmap
    heap: int | None = found.heap_bytes
    names: list[str] = denizen.types()
    count: int = denizen.stats()["denizen.Rational"]["live"]
    where: str = denizen.owner(a) + " " + denizen.handler_name()
    handler: str | None = denizen.handler_name(a)
    assert (live, sum(bits)) == (2, 2) and (heap is None or heap >= 0)
    assert "denizen.Rational" in names and count >= 2
    assert where.startswith("managed ") and handler == "denizen"
    with denizen.handler() as block, denizen.handler(under=None):
        inside: str = denizen.handler_name()
        assert isinstance(block, denizen.handler) and inside == "denizen"


def overwritten() -> list[str]:
    with denizen.integrity() as block, denizen.integrity(True):
        a = np.array(["1/3"], dtype=denizen.Rational)
    state: str = denizen.inspect(a).integrity
    corruption: str | None = denizen.inspect(a).corruption
    findings: list[denizen.Finding] = denizen.check_memory()
    assert isinstance(block, denizen.integrity) and (state, corruption) == ("intact", None)
    places: list[tuple[int, str | None, int | None, str]] = [
        (one.address, one.type, one.cells, one.part) for one in findings
    ]
    assert places == []
    return [one.message + str(one.site) for one in findings]


def leaks() -> dict[str, int]:
    kept: list[NDArray[Any]] = []
    try:
        with denizen.audit():
            kept.append(np.array(["1/3"], dtype=denizen.Rational))
    except denizen.LeakError as error:
        assert error.report is not None and error.report["leaks"][0]["count"] == 1
        return error.leaks
    except (denizen.VacantError, denizen.BorrowError, denizen.IntegrityError):
        raise
    return {}


@denizen.audit(trace=True)
def audited() -> list[str]:
    kept: list[NDArray[Any]] = []
    report: denizen.Audit
    with denizen.audit(raises=False) as report:
        kept.append(np.array(["1/3", 2], dtype=denizen.Rational))
    figures = report.types["denizen.Rational"]
    built: int = figures["constructed"]
    leaked: int = figures["leaked"]
    (leak,) = report.leaks
    site = leak["site"]
    assert site is not None and site["function"] == "audited" and leak["stack"][0] == site
    places: list[str] = [row["operation"] for row in report.foreign]
    bits: int = sum(row["bits"] for row in report.reconciled)
    corrupted: list[str] = [row["what"] for row in report.corruptions]
    moments: list[float] = report.timeline["seconds"]
    everything: str = report.to_json() + str(report.to_dict()["python"])
    assert built >= leaked == 2 and bits == 0 and len(moments) > 0 and everything
    del kept
    return [str(report), *places, *corrupted]


def directories() -> list[Path]:
    return [Path(denizen.get_include()), Path(denizen.get_cmake_dir())]


def linear_algebra() -> None:
    matrix: NDArray[Any] = np.array([["1/2", 1], [1, 3]], dtype=denizen.Rational)
    solution: NDArray[Any] = linalg.solve(matrix, [1, 2])
    inverse: NDArray[Any] = denizen.linalg.inv(matrix)
    determinant: Fraction = linalg.det(matrix)
    rank: int = int(linalg.matrix_rank(matrix))
    fit: linalg.LeastSquares = linalg.lstsq(matrix, np.array([1, 2], dtype=denizen.Rational))
    coefficients: NDArray[Any] = fit.x
    residuals: NDArray[Any] = fit.residuals
    assert (coefficients == solution).all() and (inverse @ matrix == np.eye(2, dtype=int)).all()
    assert (determinant, rank, fit.rank, residuals.tolist()) == (Fraction(1, 2), 2, 2, [0])
    try:
        linalg.inv(np.zeros((2, 2), dtype=denizen.Rational))
    except linalg.LinAlgError as error:
        assert "singular" in str(error).lower()
    else:
        raise AssertionError("inverted a singular matrix")


TABLE = check.Table("mine")
TABLE.add("sum", lambda s: s.a.sum(), needs={"arithmetic"})


@TABLE.operation("reversed")
def reversed_elements(s: check.Subject) -> NDArray[Any]:
    return np.asarray(s.a[::-1])


def checks() -> None:
    operations: list[check.Operation] = list(TABLE)
    titles: list[str] = [operation.title for operation in operations]
    report: check.Report = check.run("denizen:Integer", tables=[TABLE], jobs=1, timeout=60)
    results: Iterable[check.Result] = report.results
    verdicts: list[check.Verdict] = [result.verdict for result in results]
    stale: tuple[check.Stale, ...] = report.stale
    assert [result.title for result in report.results] == titles
    assert verdicts == [check.Verdict.WORKS] * 2 and report.status(strict=True) == 0
    assert "mine" in report.table(verbose=True) and report.to_json().startswith("{")
    assert isinstance(stale, tuple)
    faults: check.FaultReport = check.run_faults(
        "denizen:Integer", ["allocation"], tables=[TABLE], jobs=1, limit=2
    )
    assert faults.status() == 0 and faults.table()
    try:
        check.run("denizen:NoSuchType", tables=[TABLE])
    except check.ElementError as error:
        refusal: str = str(error)
        assert refusal
    try:
        check.run("denizen:Integer", tables=[TABLE], expected=["no such file.toml"])
    except check.ExpectedError as error:
        refusal = str(error)
        assert refusal


def main() -> None:
    scalars()
    dtypes()
    assert plain_values(arrays()) == [[2] * 3] * 2
    memory()
    assert overwritten() == []
    assert leaks() == {"denizen.Rational": 1}
    assert "2 denizen.Rational objects outlived" in audited()[0]
    assert all(folder.is_dir() for folder in directories())
    linear_algebra()
    checks()
    print(denizen.__version__)


if __name__ == "__main__":
    main()
