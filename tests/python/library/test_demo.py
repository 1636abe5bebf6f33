"""The demo's certified values come out exactly, its data is what it says, its errors say where."""

import csv
import subprocess
import sys
from fractions import Fraction
from importlib.util import find_spec
from math import inf
from pathlib import Path

import numpy as np
import pytest

import denizen
from denizen.__main__ import main
from denizen.demo import run
from denizen.demo.digits import (
    is_right,
    log_relative_error,
    score,
    square_root,
    to_decimal,
)
from denizen.demo.integers import overflows, timings
from denizen.demo.ledger import counted
from denizen.demo.statistics import (
    Model,
    Term,
    exact_arithmetic,
    float_arithmetic,
    parse_model,
)
from denizen.demo.tables import parse_table, read_bundled

FIELDS = [pytest.param(denizen.Rational, id="Rational"), pytest.param(object, id="Fraction")]


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("name", run.PROBLEMS)
def test_every_certified_digit_is_right_in_exact_arithmetic(name, dtype):
    table = read_bundled(name)
    certified = run.certified_values(table)
    results = run.compute(table, run.problem_model(table), exact_arithmetic(dtype))
    assert certified.keys() == results.keys()
    for quantity, text in certified.items():
        assert is_right(results[quantity], Fraction(text)), quantity


@pytest.mark.parametrize("name", ["Wampler1", "Wampler2", "NumAcc1", "NumAcc2", "NumAcc4"])
def test_certificates_that_are_exact_are_met_exactly(name):
    table = read_bundled(name)
    model = run.problem_model(table)
    results = run.compute(table, model, exact_arithmetic(denizen.Rational))
    assert results == {
        quantity: Fraction(text) for quantity, text in run.certified_values(table).items()
    }


@pytest.mark.parametrize("name", ["Wampler1", "Wampler2", "Longley", "NumAcc3", "NumAcc4"])
def test_float64_loses_digits_on_the_hard_problems(name):
    table = read_bundled(name)
    results = run.compute(table, run.problem_model(table), float_arithmetic())
    worst = min(
        log_relative_error(results[quantity], Fraction(text))
        for quantity, text in run.certified_values(table).items()
    )
    assert 5 < worst < 13


@pytest.mark.parametrize("name", run.PROBLEMS)
def test_problems_leave_no_object(name):
    table = read_bundled(name)
    model = run.problem_model(table)
    _, _, ledger = counted(lambda: run.compute(table, model, exact_arithmetic(denizen.Rational)))
    assert ledger.balances
    # The data and the deviations, but zeros: they are no objects.
    assert ledger.constructed >= 2 * table.rows - 1


def test_wampler_rows_are_the_polynomials():
    for name, ratio in (("Wampler1", 1), ("Wampler2", Fraction(1, 10))):
        table = read_bundled(name)
        assert table.column("x") == list(range(21))
        assert table.column("y") == [
            sum((ratio * x) ** power for power in range(6)) for x in range(21)
        ]


def test_numacc_rows_are_as_nist_describes_them():
    assert read_bundled("NumAcc1").column("y") == [10000001, 10000003, 10000002]
    for name, centre in (("NumAcc2", "1.2"), ("NumAcc3", "1000000.2"), ("NumAcc4", "10000000.2")):
        middle, step = Fraction(centre), Fraction(1, 10)
        expected = [middle] + [middle - step, middle + step] * 500
        assert read_bundled(name).column("y") == expected


def test_longley_rows_are_those_of_statsmodels():
    # Only its data file is read; `make test` installs it without its dependencies.
    statsmodels = find_spec("statsmodels")
    if statsmodels is None:
        pytest.skip("statsmodels is not installed")
    path = Path(statsmodels.submodule_search_locations[0], "datasets/longley/longley.csv")
    rows = list(csv.reader(path.read_text().splitlines()))[1:]
    assert len(rows) == 16
    table = read_bundled("Longley")
    for index, name in enumerate(table.columns):
        assert table.column(name) == [Fraction(row[index + 1]) for row in rows]


def test_demo_command_balances_and_says_so(capsys):
    assert main(["demo"]) == 0
    output = capsys.readouterr().out
    assert output.count("exact") > 20
    assert "FAILED" not in output
    assert output.rstrip().endswith("0 live")
    assert "denizen.Integer is unbounded" in output


def test_demo_fails_when_an_object_is_left(capsys, monkeypatch):
    kept = []

    def keeping(table, model, arithmetic):
        kept.append(arithmetic.array([Fraction(1, 3)]))
        return compute(table, model, arithmetic)

    compute = run.compute
    monkeypatch.setattr(run, "compute", keeping)
    assert main(["demo"]) == 1
    assert "FAILED: NumAcc4: the ledger does not balance" in capsys.readouterr().out


def test_integer_never_overflows_and_times_the_same_values():
    for case in overflows(denizen.Integer):
        assert case.integer == case.truth
        assert case.int64 != case.truth
    assert all(timing.equal for timing in timings(denizen.Integer, count=500, repeats=1))


def write(tmp_path, text):
    path = tmp_path / "data.csv"
    path.write_text(text)
    return str(path)


def test_user_file_is_fitted_exactly(tmp_path, capsys):
    path = write(tmp_path, "y,x1,x2\n0.3,0.1,0\n1.3,0.1,1\n2.5,0.2,2\n3.7,0.3,3\n")
    assert main(["demo", "--data", path, "--fit", "y ~ x1 + x2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # By hand: 0.1 * 2 + 0.1 = 0.3, and so on: y = 0.1 + 2 x1 + x2 for all rows.
    values = {line.split()[0]: line.split()[1] for line in lines[3:6]}
    assert values == {"1": "0.1", "x1": "2", "x2": "1"}
    assert lines[-1].endswith("0 live")


def test_user_file_may_have_powers_and_no_constant(tmp_path, capsys):
    path = write(tmp_path, "t;s\n".replace(";", ",") + "1,5\n2,20\n3,45\n")
    assert main(["demo", "--data", path, "--fit", "s ~ t^2 + 0"]) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[3].split()[:2] == ["t^2", "5"]
    assert "R squared" not in output


def test_columns_that_the_model_does_not_name_may_hold_text(tmp_path, capsys):
    path = write(tmp_path, 'name,y,x\n"Doe, J",3,1\nsomebody,5,2\n,8,3\n')
    assert main(["demo", "--data", path, "--fit", "y ~ x"]) == 0
    output = capsys.readouterr().out
    assert "3 rows" in output
    assert output.splitlines()[4].split()[:2] == ["x", "2.5"]
    assert main(["demo", "--data", path, "--fit", "y ~ name"]) == 2
    assert "column 'name': 'Doe, J' is not a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "no row below"),
        ("1,2\n3,4\n", "line 1: a header row"),
        ("a,a\n1,2\n", "line 1: two columns are called 'a'"),
        ("a,\n1,2\n", "line 1: column 2 has no name"),
        ("a,b\n1,2\n\n3\n", "line 4: 1 fields, but the header row has 2"),
        ("a,b\n1,2\n3,x\n", "line 3, column 'b': 'x' is not a number"),
        ("a,b\n1,\n", "line 2, column 'b': no value"),
        ("a,b\n1,nan\n", "line 2, column 'b': 'nan' is not a number"),
        ("a;b\n1;2\n", "no column 'a'; the header row has: a;b (fields are separated by commas)"),
        ("a,b\n1;2\n", "line 2: 1 fields, but the header row has 2 (fields are separated by"),
        ("a,b\n1,1;2\n", "'1;2' is not a number (fields are separated by commas)"),
        ("a,b\n1,1/0\n", "line 2, column 'b': '1/0' is not a number"),
    ],
)
def test_bad_files_are_refused_with_line_and_column(tmp_path, capsys, text, message):
    assert main(["demo", "--data", write(tmp_path, text), "--fit", "a ~ b"]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y = x", "does not read"),
        ("y ~", "does not read"),
        ("y ~ x +", "empty term"),
        ("y ~ x + x", "term x twice"),
        ("y ~ 0", "has no terms"),
        ("y ~ z", "no column 'z'; the header row has: y, x, x2, zero"),
        ("y ~ x + x2", "the term x2 is a combination of the terms before it"),
        ("y ~ zero - 1", "the term zero is zero in every row"),
        ("y ~ x^500", "the power 500; powers are whole numbers from 1 to 99"),
        ("y ~ x**0.5", "the power 0.5; powers are whole"),
        ("y ~ x + x^2 + x2 + x^3 + x^4", "3 rows cannot determine 6 coefficients"),
    ],
)
def test_bad_models_are_refused(tmp_path, capsys, formula, message):
    path = write(tmp_path, "y,x,x2,zero\n1,1,2,0\n2,2,4,0\n4,3,6,0\n")
    assert main(["demo", "--data", path, "--fit", formula]) == 2
    assert message in capsys.readouterr().err


def test_missing_file_and_lonely_option_are_refused(tmp_path, capsys):
    assert main(["demo", "--data", str(tmp_path / "none.csv"), "--fit", "y ~ x"]) == 2
    assert "none.csv: No such file" in capsys.readouterr().err
    assert main(["demo", "--data", "x.csv"]) == 2
    assert "belong together" in capsys.readouterr().err


def test_models_are_parsed():
    assert parse_model("y ~ x1 + x2 ** 2") == Model("y", (Term("1", 0), Term("x1"), Term("x2", 2)))
    assert parse_model("y~a - 1") == parse_model("y ~ 0 + a") == Model("y", (Term("a"),))
    assert parse_model("y ~ 1") == Model("y", (Term("1", 0),))


def test_decimals_are_read_exactly():
    table = parse_table(["x", "0.1", "1e-3", "1/3", "-7"], "text")
    assert table.column("x") == [Fraction(1, 10), Fraction(1, 1000), Fraction(1, 3), -7]


def test_scores_are_nists_log_relative_error():
    assert log_relative_error(1.0, Fraction(1)) == inf
    assert log_relative_error(Fraction(1001, 1000), Fraction(1)) == pytest.approx(3)
    assert log_relative_error(1e-5, Fraction(0)) == pytest.approx(5)
    assert log_relative_error(5.0, Fraction(1)) == 0
    assert log_relative_error(float("nan"), Fraction(1)) == 0
    assert score(Fraction(1, 3), Fraction("0.333333333333333")) == "all 15"
    assert score(Fraction(1, 3), Fraction(1, 3)) == "exact"
    assert score(0.33, Fraction(1, 3)) == "2.0"


def test_square_roots_are_exact_or_right_to_40_digits():
    assert square_root(Fraction(9, 100)) == Fraction(3, 10)
    for value in (Fraction(2), Fraction(1, 7 * 10**30), Fraction(3 * 10**31)):
        root = square_root(value)
        assert abs(root * root / value - 1) < Fraction(1, 10**39)
    with pytest.raises(ValueError, match="not real"):
        square_root(Fraction(-1))


def test_numbers_print_as_decimals():
    assert to_decimal(Fraction(1, 3), 5) == "0.33333"
    assert to_decimal(Fraction(10**7)) == "10000000"
    assert to_decimal(Fraction(0)) == "0"
    assert to_decimal(Fraction(1, 10**9)) == "1e-9"


def test_demo_works_in_a_pipe_whose_reader_leaves():
    process = subprocess.Popen(
        [sys.executable, "-m", "denizen", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline().startswith(b"Problems of the NIST")
    process.stdout.close()
    assert process.wait(60) == 1
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


def test_float_arithmetic_is_plain_numpy():
    assert float_arithmetic().array([Fraction(1, 3)]).dtype == np.float64
