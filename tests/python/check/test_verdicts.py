"""`denizen check`: each verdict has its grounds; what a type is, and its values."""

import json
import os
import re
import sys

import numpy as np
import pytest
from support.checks import KEPT, _raise, judged, table

import denizen
from denizen import check
from denizen.check import Verdict
from denizen.check.runner.probe import probe
from denizen.check.subject.element import Element, find_dtype
from denizen.check.verdict.comparison import Comparison


@pytest.mark.parametrize(
    ("run", "verdict", "detail"),
    [
        (lambda s: s.a + s.b, Verdict.WORKS, "equal to objects"),
        (lambda s: s.a[99], Verdict.WORKS, "raises as objects do: IndexError"),
        (lambda s: s.a + (not s.is_oracle), Verdict.WRONG, r"element \[0\] is 6 instead of 5"),
        (lambda s: s.a[: 4 + s.is_oracle], Verdict.WRONG, r"shape \(4,\) instead of \(5,\)"),
        (lambda s: {"x": s.a, "y": [1, s.is_oracle]}, Verdict.WRONG, r"y\[1\]: False instead of True"),
        (lambda s: s.a > 3 if s.is_oracle else (s.a > 3).astype(int), Verdict.WRONG, "dtype int64"),
        (lambda s: (s.a, s.b) if s.is_oracle else s.a, Verdict.WRONG, "instead of"),
        (lambda s: s.a if s.is_oracle else s.a.astype(float), Verdict.WRONG, "np.float64"),
        (lambda s: s.a if s.is_oracle else _raise(SystemError("gone")), Verdict.WRONG, "SystemError"),
        (lambda s: _raise(ZeroDivisionError("no")) if s.is_oracle else s.a, Verdict.WRONG, "objects raise Zero"),
        (lambda s: s.a if s.is_oracle else _raise(TypeError("")), Verdict.WRONG, "without saying why"),
        (lambda s: s.a if s.is_oracle else _raise(ValueError("17")), Verdict.WRONG, "without saying why"),
        (
            lambda s: s.a if s.is_oracle else _raise(ValueError("x" * 10**6)),
            Verdict.WRONG,
            "without saying why",
        ),
        (lambda s: s.a if s.is_oracle else _raise(TypeError("not for these")), Verdict.REFUSED, "not for"),
        (lambda s: s.a[:] if not s.is_oracle else s.a.copy(), Verdict.WRONG, "shares memory"),
        (lambda s: None, Verdict.UNCHECKED, "nothing to compare"),
        (lambda s: [None, None], Verdict.UNCHECKED, "nothing to compare"),
        (lambda s: _raise(TypeError("no")) if s.is_oracle else s.a[::2].copy(), Verdict.WORKS, "unchecked but for"),
        (lambda s: _raise(TypeError("no")) if s.is_oracle else s.a * 9, Verdict.UNCHECKED, "cannot do it"),
        (lambda s: s.is_oracle or KEPT.append(s.a) or True, Verdict.LEAKS, r"\+10 denizen.Integer|\+3"),
        (lambda s: s.is_oracle or os.kill(os.getpid(), 9), Verdict.CRASHES, "SIGKILL"),
        (lambda s: s.is_oracle or os._exit(3), Verdict.CRASHES, "exit status 3"),
        (lambda s: s.is_oracle or os._exit(0), Verdict.CRASHES, "exit status 0 before"),
        (lambda s: s.is_oracle or sys.exit("enough"), Verdict.WRONG, "raised SystemExit"),
    ],
)  # fmt: skip
def test_each_verdict_has_its_grounds(run, verdict, detail):
    result = judged(run)
    assert result.verdict is verdict, result
    assert re.search(detail, result.detail), result


def test_an_exception_that_got_lost_is_wrong():
    def lose(s):
        class Loser:
            def __del__(self):
                raise KeyError("lost in a destructor")

        if not s.is_oracle:
            Loser()
        return s.a

    result = judged(lose)
    assert result.verdict is Verdict.WRONG
    assert "an exception got lost: KeyError" in result.detail


def test_a_missing_capability_excuses_a_refusal_and_nothing_else():
    raw = pytest.importorskip("denizen_raw")
    sort = lambda s: np.sort(s.a)  # noqa: E731
    refused = judged(sort, raw.Shared, needs={"ordering"})
    assert refused.verdict is Verdict.REFUSED
    assert refused.reason == "denizen_raw.Shared has no ordering"
    assert judged(lambda s: s.is_oracle or np.sort(s.a), raw.Shared).unexpected
    answered = judged(lambda s: s.is_oracle, raw.Shared, needs={"ordering"})
    assert answered.verdict is Verdict.WRONG


def test_scalars_without_operators_are_compared_with_loops_over_one_element():
    def add(s):
        if s.scalars == "scalars":
            raise TypeError("these have no operators")
        return s.a + s.b

    result = judged(add)
    assert result.verdict is Verdict.WORKS
    assert result.detail.startswith("equal to loops over one element")


def test_what_the_types_own_code_raises_is_counted_in_a_note(broken):
    made = table(
        picky=lambda s: np.sort(s.a),
        also=lambda s: s.a < s.b,
        everyone=lambda s: s.a[99],
        take=lambda s: s.a[:2],
    )
    report = check.run(broken.Picky, tables=[made])
    assert [bool(result.raised) for result in report.results] == [True, True, False, False]
    note = (
        "in 2 operations the type's own code raised RuntimeError: no order of 17; its objects did"
    )
    assert report.notes[0].startswith(note)
    assert f"note: {note}" in report.table()
    assert json.loads(report.to_json())["results"][0]["raised"] == "RuntimeError: no order of 17"


# ---- comparisons ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def integer():
    dtype = find_dtype(denizen.Integer)
    return Element(dtype, probe(dtype))


def test_nan_equals_nan_and_floats_are_exact(integer):
    comparison = Comparison(integer)
    nan = float("nan")
    assert comparison.difference([nan, np.array([nan, 1.0])], [nan, np.array([nan, 1.0])]) is None
    assert comparison.difference(0.1 + 0.2, 0.3) is not None
    assert comparison.difference(nan, 1.0) is not None


def test_masked_arrays_are_equal_under_their_masks_only(integer):
    compare = Comparison(integer).difference
    one = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    assert compare(one, np.ma.array([1, 9, 3], mask=[0, 1, 0])) is None
    assert compare(one, np.ma.array([1, 2, 4], mask=[0, 1, 0])) is not None
    assert compare(one, np.ma.array([1, 2, 3], mask=[0, 0, 0])) is not None


def test_fields_of_records_are_compared(integer):
    compare = Comparison(integer).difference
    one = np.array([(1, "a"), (2, "b")], dtype=[("x", int), ("y", "U1")])
    other = one.copy()
    assert compare(one, other) is None
    other["y"][1] = "c"
    assert "'y'" in compare(one, other)


# ---- what a type is, and its values --------------------------------------------------------------


@pytest.mark.parametrize(
    "element",
    [denizen.Integer, denizen.IntegerDType, np.dtype(denizen.Integer), "denizen:Integer"],
    ids=str,
)
def test_a_type_is_named_in_each_way(element):
    assert find_dtype(element) == np.dtype(denizen.Integer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("denizen", "write MODULE:NAME"),
        ("denizen:Float", "denizen has no Float; element types there: Integer, Rational"),
        ("no_such_module:T", "cannot import no_such_module: ModuleNotFoundError"),
        ("numpy:float64", "not a type that is registered with denizen"),
        ("math:pi", "neither a scalar class nor a dtype"),
    ],
)
def test_what_is_no_element_type_is_an_error_that_says_so(text, message):
    with pytest.raises(check.ElementError, match=re.escape(message)):
        check.run(text)


def test_values_are_found_for_numbers_and_include_large_ones(integer):
    values = integer.values()
    assert len(values) == 24
    assert len(set(values[:10])) == 10
    assert any(abs(value) > 2**64 for value in values[:10])
    assert integer.abilities == {
        "arithmetic", "codec", "copy", "counting", "default", "division", "equality", "numbers",
        "ordering", "text",
    }  # fmt: skip


def test_a_type_without_values_says_what_to_do():
    raw = pytest.importorskip("denizen_raw")
    report = check.run(raw.Pinned, tables=[table(it=lambda s: s.a)])
    assert any("--values" in note for note in report.notes)


def test_values_can_be_given():
    seen = judged(lambda s: [int(value) for value in s.values], values=[7, 8])
    assert seen.verdict is Verdict.WORKS
    report = check.run(denizen.Integer, tables=[table(it=lambda s: s.a)], values=lambda: [7, 8])
    assert report.values == "given"
    assert "only 2 different values" in report.notes[0]
    with pytest.raises(check.ElementError, match="no values"):
        check.run(denizen.Integer, values=[])
