"""Fixtures that several files of this folder share."""

import numpy as np
import pytest
from support.c_extension import build, load
from support.checks import FAULTS, table

from denizen import check


@pytest.fixture(scope="session")
def broken_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    build("broken", folder)
    return folder


@pytest.fixture(scope="session")
def broken(broken_folder):
    (path,) = broken_folder.glob("broken*.so")
    return load("broken", path)


@pytest.fixture(scope="session")
def faults(broken):
    """The report on the broken type."""
    operations = {name: lambda s, name=name: getattr(np, name)(s.a) for name in FAULTS}
    operations["take"] = lambda s: np.take(s.a, [3, 1])
    return check.run(broken.Broken, tables=[table(**operations)], timeout=2.0, jobs=4)
