"""A sample of the attacks of `hostile`, for seconds; `make stress` does the same for minutes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.hostile_modules import MODULES

SECONDS = 12
#: The same attacks in each run, as far as they come.
SEED = "sample"


@pytest.mark.parametrize("module", MODULES)
def test_no_hook_sees_its_operand_change_and_no_object_is_lost(module):
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "hostile", "--modules", module),
            *("--seconds", str(SECONDS), "--seed", SEED, "--most", "2"),
        ],
        cwd=Path(__file__).parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=SECONDS * 20,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]
    attacks = int(ended.stdout.splitlines()[-1].split()[0])
    assert attacks > 100
