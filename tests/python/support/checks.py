"""What the tests of `denizen check` share."""

import subprocess
import sys

import denizen
from denizen import check
from denizen.check import Verdict

#: Loops of the broken type, and what comes of them.
FAULTS = {
    "negative": Verdict.WRONG,
    "positive": Verdict.WRONG,
    "absolute": Verdict.LEAKS,
    "invert": Verdict.CRASHES,
    "square": Verdict.CRASHES,
    "reciprocal": Verdict.WRONG,
    "rint": Verdict.REFUSED,
}


def table(**operations):
    made = check.Table("made up")
    for name, run in operations.items():
        made.add(name, run)
    return made


def only(report):
    (result,) = report.results
    return result


def judged(run, element=denizen.Integer, **options):
    """What comes of one operation."""
    made = check.Table("made up")
    oracle, needs = options.pop("oracle", None), options.pop("needs", ())
    made.add("it", run, oracle, needs)
    return only(check.run(element, tables=[made], **options))


# ---- verdicts ------------------------------------------------------------------------------------


def _raise(error):
    raise error


KEPT = []


# ---- the command ---------------------------------------------------------------------------------


def command(*arguments, cwd=None, **options):
    return subprocess.run(
        [sys.executable, "-m", "denizen", "check", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        **options,
    )
