"""What the tests of the pytest plugin share."""

import re
import subprocess
import sys

from support.process import outside_ci

HEAD = """
import gc, logging, unittest
import numpy as np, pytest
from denizen import Integer, Rational

kept = []
def ones(n):
    return np.ones(n, dtype=Integer)
def keep(n):
    kept.append(ones(n))
"""


def run_pytest(folder, *arguments, **environment):
    command = [sys.executable, "-W", "error", "-m", "pytest", "-rA", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--strict-markers", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=outside_ci() | environment,
    )
    outcomes = {}
    for outcome, name in re.findall(
        r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) \S+?\.py::(\S+)", done.stdout, re.M
    ):
        short = outcome if outcome.startswith("X") else outcome[0]
        outcomes[name] = outcomes.get(name, "") + short
    outcomes["status"] = done.returncode
    assert not done.stderr, done.stderr
    return outcomes, done.stdout
