"""A C++ type that throws at any step of its own, in a part of NumPy's operations.

`make faults` runs all.
"""

import cpp_tracer
import numpy as np
import pytest

from denizen.check.faults import run_faults


@pytest.mark.parametrize("name", ["Tracer", "TaggedTracer"])
def test_an_exception_at_any_step_of_any_operation_loses_nothing(name):
    report = run_faults(f"cpp_tracer:{name}", ["cpp_tracer:countdown"], every=7, limit=40, jobs=1)
    assert [finding for finding in report.findings if finding.reason is None] == []
    assert sum(tried.raised for tried in report.tried) > 1000
    assert set(report.functions()) >= {
        *("default", "copy", "assign", "+", "-", "*", "/", "==", "<", "parse", "text", "save"),
        *("load", "nonzero", "from int64", "to int64"),
    }


def test_a_hash_that_throws_is_an_exception():
    (value,) = np.array([7]).astype(cpp_tracer.Tracer)
    cpp_tracer.countdown.plan(0)
    with pytest.raises(RuntimeError, match="planned fault in hash"):
        hash(value)
    assert cpp_tracer.countdown.end() == (1, True)
