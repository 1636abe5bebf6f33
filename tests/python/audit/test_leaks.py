"""Leaks: where the objects were made that outlive the block of an audit."""

import copy
import os
import pickle

import numpy as np
import pytest
from support import audits
from support.audits import line_of, make_one, make_two, only, rationals

import denizen


def test_a_leak_says_where_it_was_made():
    with pytest.raises(denizen.LeakError) as info:
        with denizen.audit():
            kept = make_two()
    (leak,) = info.value.report["leaks"]
    assert leak["type"] == "denizen.Rational" and leak["where"] == "managed"
    assert (leak["count"], leak["segments"], leak["bytes"]) == (2, 1, kept.nbytes)
    site = leak["site"]
    assert os.path.samefile(site["file"], audits.__file__)
    # The line in `rationals` that NumPy was called in is the innermost one outside libraries.
    assert site["function"] == "rationals" and "np.array(values" in site["text"]
    assert [frame["function"] for frame in leak["stack"][:3]] == [
        "rationals",
        "make_one",
        "make_two",
    ]
    assert leak["stack"][1]["line"] == line_of("made", audits.__file__)
    message = str(info.value)
    assert (
        "2 in 1 array" in message
        and f"audits.py:{line_of('made', audits.__file__)}, in make_one" in message
    )
    assert len(kept) == 2


def test_functions_of_numpy_are_no_sites():
    a = rationals(1, 2)
    with denizen.audit(raises=False) as report:
        kept = np.append(a, a)  # appended
    (leak,) = report.leaks
    assert leak["site"]["line"] == line_of("appended", __file__)
    assert leak["stack"][0]["function"] == "append"
    assert kept.size == 4


def test_leaks_are_grouped_by_their_site_and_the_largest_is_first():
    kept = []
    with denizen.audit(raises=False) as report:
        for _ in range(5):
            kept.append(rationals(1))
        kept.append(np.full(50, denizen.Rational(1, 2)))
    assert [(leak["count"], leak["segments"]) for leak in report.leaks] == [(50, 1), (5, 5)]


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("callers", [1, 20, 40])
def test_stacks_of_a_place_are_whole_for_so_many_callers_or_always(trace, callers):
    """However often each of them calls, and whichever made what is left."""
    names = [f"caller_{number}" for number in range(callers)]
    lines = (f"def {name}(build): return build()" for name in names)
    namespace = {}
    exec("\n".join(lines), namespace)

    def build():
        return rationals(1)

    kept = None
    with denizen.audit(raises=False, trace=trace) as report:
        for _ in range(10):
            for name in names:
                kept = namespace[name](build)
    (leak,) = report.leaks
    known = trace or callers < 32
    assert leak["callers"] == ("one" if known else "unknown")
    assert ("--trace" in str(report)) is not known
    functions = [site["function"].rpartition(".")[2] for site in leak["stack"]]
    assert functions[:3] == (["rationals", "build", names[-1]] if known else ["rationals"])
    assert leak["site"] == leak["stack"][0]
    assert report.to_dict()["trace"] is trace and kept is not None


def test_objects_in_an_older_array_are_found():
    old = np.zeros(5, dtype=denizen.Rational)
    with denizen.audit(raises=False) as report:
        old[1:4] = 7  # filled
    (leak,) = report.leaks
    assert (leak["count"], leak["where"]) == (3, "managed")
    assert leak["site"]["line"] == line_of("filled", __file__)
    old[:] = 0


def test_objects_in_a_structured_array_are_found():
    with denizen.audit(raises=False) as report:
        records = np.zeros(3, dtype=[("n", denizen.Integer.dtype), ("i", "i4")])
        records["n"] = [10**30, 0, 5]  # stored
    (leak,) = report.leaks
    assert (leak["count"], leak["where"], leak["segments"]) == (2, "foreign", 0)
    assert leak["site"]["line"] == line_of("stored", __file__)
    row = only(report.foreign, type="denizen.Integer")
    assert row["site"] == leak["site"] and row["constructed"] == 2
    del records


def test_a_resized_array_keeps_where_it_was_made():
    with denizen.audit(raises=False) as report:
        a = rationals(*range(1, 9))
        for size in (100, 10_000, 100_000):
            a.resize(size, refcheck=False)
    (leak,) = report.leaks
    assert (leak["count"], leak["segments"], leak["bytes"]) == (8, 1, a.nbytes)
    assert leak["site"]["function"] == "rationals"


def test_objects_that_went_and_others_that_came_are_no_leak():
    held = [rationals(1, 2, 3)]
    with denizen.audit() as report:
        held[0] = rationals(4, 5, 6)
    assert report.types["denizen.Rational"]["leaked"] == 0 and report.leaks == []


@pytest.mark.parametrize(("old", "new"), [(8, 4), (5, 5)])
def test_new_objects_beside_fewer_old_ones_are_not_called_nothing(old, new):
    held = [rationals(*range(1, old + 1))]
    with denizen.audit() as report:
        held[0] = rationals(*range(1, new + 1))
    before = report.types["denizen.Rational"]["live_before"]
    told = f"({before + new - old:,} alive, {before:,} before)"
    assert f"no more denizen.Rational objects than before {told}" in str(report)
    assert "nothing outlived" not in str(report)


def one_caller(kept):
    kept.append(make_one())


def other_caller(kept):
    kept.append(make_one())
    kept.append(make_one())


@pytest.mark.parametrize("trace", [False, True])
def test_callers_of_one_place_are_told_apart_by_a_trace(trace):
    kept = []
    with denizen.audit(raises=False, trace=trace) as report:
        one_caller(kept)
        other_caller(kept)
        one_caller(kept)
    found = {
        tuple(frame["function"] for frame in leak["stack"][1:3]): (leak["count"], leak["callers"])
        for leak in report.leaks
    }
    lines = [leak["stack"][-1]["line"] for leak in report.leaks]
    if trace:
        # Two lines of this test call `one_caller`, two of `other_caller` call `make_one`.
        assert set(found.values()) == {(2, "one")} and len(set(lines)) == 3
        assert [leak["count"] for leak in report.leaks] == [2, 2, 2, 2]
        assert "several callers" not in str(report)
    else:
        assert found == {("make_one",): (8, "several")}
        assert "from several callers; --trace (trace=True) tells them apart" in str(report)
    assert len(kept) == 4


@pytest.mark.parametrize("depth", [20, 98, 99, 400])
def test_deep_stacks_keep_both_ends(depth):
    def dive(depth):
        return dive(depth - 1) if depth else make_one()

    def outermost():
        return dive(depth)

    with denizen.audit(raises=False, trace=True) as report:
        kept = outermost()
    (leak,) = report.leaks
    functions = [frame["function"].rpartition(".")[2] for frame in leak["stack"]]
    assert functions[:3] == ["rationals", "make_one", "dive"]
    assert len(functions) <= 100
    if depth == 400:
        # The code around the block is among those that are left out, or at the outer end.
        assert len(functions) + leak["left_out"] >= depth + 5
    assert functions[-2:] == ["outermost", "test_deep_stacks_keep_both_ends"]
    assert len(functions) + leak["left_out"] == depth + 5
    text = str(report)
    assert f"({depth + 5 - 12} more frames)" in text and "in test_deep_stacks" in text
    assert text.count("\n    > ") == 1
    assert len(kept) == 2


def test_scalars_are_found():
    denizen_example = pytest.importorskip("denizen_example")
    with denizen.audit(raises=False) as report:
        kept = denizen_example.Dual(3)
    (leak,) = report.leaks
    assert (leak["type"], leak["count"], leak["where"]) == ("denizen_example.Dual", 1, "scalar")
    assert report.types["denizen_example.Dual"]["scalars"] >= 1
    assert kept is not None


def test_functions_of_pythons_library_are_no_sites():
    a = rationals(1, 2)
    with denizen.audit(raises=False) as report:
        kept = copy.deepcopy([a])  # deep
    assert report.leaks[0]["site"]["line"] == line_of("deep", __file__)
    assert "deepcopy" in [frame["function"] for frame in report.leaks[0]["stack"]]
    assert len(kept) == 1


def test_objects_that_only_move_are_in_their_scalars():
    denizen_raw = pytest.importorskip("denizen_raw")
    with denizen.audit(raises=False) as report:
        a = np.array([1, 2], dtype=denizen_raw.Single)
        shown = a[0]
        del a  # taken over
    (leak,) = report.leaks
    assert (leak["count"], leak["where"]) == (1, "scalar")
    assert report.foreign == []
    with denizen.audit() as report:
        del shown
    assert report.types["denizen_raw.Single"]["destroyed"] == 1


def test_unpickled_arrays_are_managed_as_any_other():
    saved = pickle.dumps(rationals(1, 2, 3))
    with denizen.audit(raises=False) as report:
        kept = pickle.loads(saved)  # loaded
    (leak,) = report.leaks
    assert (leak["count"], leak["where"], leak["segments"]) == (3, "managed", 1)
    assert leak["site"]["line"] == line_of("loaded", __file__) and report.foreign == []
    assert kept.size == 3


def test_what_is_beyond_the_figures_is_in_a_place_that_is_not_known():
    """More objects outside segments than are followed one by one."""
    with denizen.audit(raises=False) as report:
        records = np.zeros(150_000, dtype=[("n", denizen.Integer.dtype), ("i", "i1")])
        records["n"] = 1
    assert [(leak["count"], leak["where"]) for leak in report.leaks] == [
        (1 << 17, "foreign"),
        (150_000 - (1 << 17), "unknown"),
    ]
    assert "in a place that is not known" in str(report)
    del records
