"""Failures at every step, for tracers in every storage, with and without the GIL.

Here a part of the operations runs; `make faults` runs all.
"""

import json
import subprocess
import sys

import denizen_raw as raw
import numpy as np
import pytest

from denizen.check import Table
from denizen.check.faults import run_faults

TRACERS = ["Tracer", "BoxedTracer", "InlineTracer", "HeldTracer"]
#: Of a type that reads and writes all there is: in whose functions a failure is raised or reported.
SLOTS = {
    "construct", "copy_construct", "assign", "destroy", "compare", "sort", "argsort", "nonzero",
    "to_text", "from_text", "save", "load", "a loop", "an identity",
}  # fmt: skip
#: The functions of a tracer.
STEPS = {
    "default", "clone", "assign", "drop", "cmp", "eq", "display", "parse", "save", "load",
    "nonzero", "add", "sub", "mul", "neg", "div", "one", "from i64", "to i64",
}  # fmt: skip


def misses(report, kind="denizen_raw:countdown"):
    """What is not as it should be, in words; and that much was tried at all."""
    tried = [tried for tried in report.tried if tried.kind == kind]
    assert sum(entry.tried for entry in tried) > 100
    assert all(entry.tried >= entry.planned for entry in tried)
    return [finding for finding in report.findings if finding.reason is None]


@pytest.mark.regression("T36", "llvm/llvm-project#61718", "dtolnay/cxx#570")
@pytest.mark.parametrize("name", TRACERS)
@pytest.mark.parametrize(
    "section", ["creation", "assignment", "indexing", "joining", "resizing", "sorting*"]
)
def test_a_failure_at_any_step_of_any_operation_loses_nothing(name, section):
    report = run_faults(
        f"denizen_raw:{name}", ["denizen_raw:countdown"], section=section, every=3, limit=40, jobs=1
    )
    assert misses(report) == []


@pytest.mark.regression("T37", "pybind/pybind11#2764", "numpy/numpy#2067", "numpy/numpy#5719")
@pytest.mark.parametrize("name", ["Tracer", "HeldTracer"])
def test_every_function_of_a_type_fails_with_and_without_the_gil(name, tmp_path):
    file = tmp_path / "faults.json"
    end = subprocess.run(
        [
            *(sys.executable, "-m", "denizen", "check", f"denizen_raw:{name}", "--faults"),
            *("--kind", "element", "--kind", "denizen_raw:countdown", "--every", "6"),
            *("--limit", "60", "--jobs", "1", "--json", str(file)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 0, end.stdout + end.stderr
    failed = {"element": set(), "denizen_raw:countdown": set()}
    for tried in json.loads(file.read_text())["tried"]:
        failed[tried["kind"]] |= set(tried["functions"])
    slots, steps = set(SLOTS), set(STEPS)
    if name == "HeldTracer":
        # Objects that may run Python code are made beside the array: none is assigned to.
        slots.remove("assign")
        steps.remove("assign")
    assert failed["element"] >= slots, slots - failed["element"]
    assert failed["denizen_raw:countdown"] >= steps, steps - failed["denizen_raw:countdown"]


@pytest.mark.regression("T37", "pybind/pybind11#2764", "numpy/numpy#2067", "numpy/numpy#5719")
@pytest.mark.parametrize("name", TRACERS)
def test_a_hash_that_fails_is_an_exception(name):
    (value,) = np.array([7]).astype(getattr(raw, name))
    raw.countdown.plan(0)
    with pytest.raises(RuntimeError, match="planned fault in hash"):
        hash(value)
    assert raw.countdown.end() == (1, True)
    assert hash(value) == hash(value)


EMPTY = Table("empty arrays")
EMPTY.add("zeros", lambda s: s.zeros(0))
EMPTY.add("empty of two dimensions", lambda s: s.empty((3, 0)).copy())
EMPTY.add("resize to nothing", lambda s: (s.a.resize(0, refcheck=False), s.a))
EMPTY.add("resize from nothing", lambda s: (x := s.zeros(0), x.resize(4, refcheck=False)))
EMPTY.add("select nothing", lambda s: [s.a[[]], s.a[s.a != s.a], s.a.take([])])
EMPTY.add("concatenate nothing", lambda s: np.concatenate([s.zeros(0), s.a[:0]]))
EMPTY.add("sort nothing", lambda s: np.sort(s.a[:0]))
EMPTY.add("add nothing", lambda s: s.a[:0] + s.b[:0])
EMPTY.add("cast nothing", lambda s: s.a[:0].astype(np.int64).astype(s.dtype))


@pytest.mark.regression("T38", "bevyengine/bevy#2295")
@pytest.mark.parametrize("name", TRACERS)
@pytest.mark.parametrize("kind", ["allocation", "heap", "denizen_raw:countdown"])
def test_arrays_of_no_elements_stand_a_failure_at_every_step(name, kind):
    report = run_faults(f"denizen_raw:{name}", [kind], tables=[EMPTY], jobs=1)
    assert not report.findings, report.table()
    if kind == "allocation":
        assert sum(tried.raised for tried in report.tried) >= len(EMPTY) - 2


UFUNC_AT = Table("ufunc.at of packed records")


def packed(values):
    """The values in unaligned cells, but for the first, by which `ufunc.at` judges."""
    records = np.zeros(len(values) + 7, dtype=[("pad", "u1"), ("x", values.dtype)])
    cells = records["x"][7:]
    cells[...] = values
    places = [cells[i:].ctypes.data % 8 for i in range(len(values))]
    assert places[0] == 0 and all(places[1:8])
    return cells


AT = [0, 5, 1, 1, 9]
UFUNC_AT.add("operand", lambda s: (np.add.at(s.a, AT, packed(s.b)[:5]), s.a))
UFUNC_AT.add("array", lambda s: (x := packed(s.a), np.add.at(x, AT, s.b[:5]), x))
UFUNC_AT.add("array in place", lambda s: (x := packed(s.a), np.square.at(x, AT), x))
UFUNC_AT.add("both", lambda s: (x := packed(s.a), np.subtract.at(x, AT, packed(s.b)[:5]), x))
UFUNC_AT.add("both, shared", lambda s: (x := packed(s.a), np.add.at(x, AT, x[:5]), x))


@pytest.mark.regression("T41", "joblib/joblib#1254")
@pytest.mark.parametrize("name", ["Tracer", "InlineTracer", "HeldTracer"])
def test_ufunc_at_of_unaligned_cells_reads_at_suitable_addresses(name):
    misused = raw.countdown.counts["dead tracers used"]
    element = getattr(raw, name)
    b = np.arange(10, 20).astype(element)
    for make in (np.array, packed):
        a = make(np.arange(10).astype(element))
        for operand in (b[:5], packed(b)[:5]):
            expected = a.astype(np.int64)
            np.add.at(a, AT, operand)
            np.add.at(expected, AT, operand.astype(np.int64))
            assert a.astype(np.int64).tolist() == expected.tolist()
    assert raw.countdown.counts["dead tracers used"] == misused
    report = run_faults(f"denizen_raw:{name}", ["denizen_raw:countdown"], tables=[UFUNC_AT], jobs=1)
    assert not report.findings, report.table()


class Counts:
    """Allocations, with the counters of types that cannot carry one."""

    def plan(self, after, /):
        from denizen import _runtime

        _runtime._plan_fault("allocation", after)

    def end(self):
        from denizen import _runtime

        return _runtime._end_fault()

    @property
    def counts(self):
        return {"units": raw.units(), "astray": raw.astray()}


counting = Counts()


@pytest.mark.regression(
    "T39", "bevyengine/bevy#6615", "bluss/arrayvec#308", "ibraheemdev/boxcar#41"
)
@pytest.mark.parametrize("name", ["Unit", "Aligned"])
def test_objects_of_size_zero_and_over_aligned_ones_stand_a_failure_at_every_step(name, tmp_path):
    kind = f"{__name__}:counting"
    report = run_faults(f"denizen_raw:{name}", [kind], every=4, jobs=1)
    assert misses(report, kind) == []
    end = subprocess.run(
        [
            *(sys.executable, "-m", "denizen", "check", f"denizen_raw:{name}", "--faults"),
            *("--kind", "element", "--every", "8", "--limit", "40", "--jobs", "1"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 0, end.stdout + end.stderr
