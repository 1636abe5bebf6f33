"""`denizen check`: NumPy's operations on any registered element type, judged one by one.

>>> from denizen import check
>>> report = check.run("mymodule:MyType", only="sort*")
>>> print(report.table())

Each operation runs in a process of its own, on arrays of the type and on object arrays of its
scalars, and what it gives is compared. Nothing may differ, leak or crash; what a type or NumPy
cannot do must be refused with a message that says why.

The folders import one another one way, from the last to the first: `subject`, what is checked;
`operations`; `verdict`, how a result is judged; `report`; `runner`, the processes; `faults`, the
operations again with each of their steps failing once. `command` is the command line.
"""

from .faults import FaultReport, run_faults
from .operations import Operation, Table
from .report import Report, Result, Stale
from .runner import run
from .subject import ElementError, Subject
from .verdict import ExpectedError, Verdict

__all__ = [
    "ElementError",
    "ExpectedError",
    "FaultReport",
    "Operation",
    "Report",
    "Result",
    "Stale",
    "Subject",
    "Table",
    "Verdict",
    "run",
    "run_faults",
]
