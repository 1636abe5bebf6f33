"""Rust and C++ objects as elements of NumPy arrays.

Each object is constructed once, moved when it must move, and destroyed once, whatever NumPy does
to the bytes. Two exact number types are included:

>>> import numpy as np, denizen
>>> a = np.array(["12345678901234567890", 7], dtype=denizen.Integer)
>>> a * a
array([152415787532388367501905199875019052100, 49], dtype=denizen.Integer)

Other types come from extension modules, in Rust or C++, that register them with this package.

Look inside: `types`, `owner`, `inspect`, `stats`, `handler_name`. Arrays of any dtype on denizen's
memory handler: `handler`. Check for leaks: `audit`. Check for memory that something overwrote:
`check_memory`, `integrity`. Plain ints and fractions out of arrays:
`to_python`.
Exact linear algebra: `denizen.linalg`. Command line: `denizen demo`,
`denizen check`, `denizen audit`, `denizen info`.

PYTEST_DONT_REWRITE: programs may import denizen before they start pytest.
"""

from importlib.metadata import version as _version
from pathlib import Path as _Path

from . import _main_interpreter as _main_interpreter

# isort: split
from . import _numpy_patches, linalg
from ._audit import Audit, LeakError, audit
from ._inspect import Inspection, inspect
from ._integrity import Finding, check_memory, integrity
from ._plain import to_python
from ._runtime import (
    BorrowError,
    Integer,
    IntegerDType,
    IntegrityError,
    Rational,
    RationalDType,
    VacantError,
    handler,
    handler_name,
    owner,
    stats,
    types,
)

__all__ = [
    "Audit",
    "BorrowError",
    "Finding",
    "Inspection",
    "Integer",
    "IntegerDType",
    "IntegrityError",
    "LeakError",
    "Rational",
    "RationalDType",
    "VacantError",
    "__version__",
    "audit",
    "check_memory",
    "get_cmake_dir",
    "get_include",
    "handler",
    "handler_name",
    "inspect",
    "integrity",
    "linalg",
    "owner",
    "stats",
    "to_python",
    "types",
]

__version__ = _version("denizen")
_numpy_patches.install()


def get_include() -> str:
    """The directory to give a C or C++ compiler with `-I`."""
    return str(_Path(__file__).parent / "include")


def get_cmake_dir() -> str:
    """The directory to give CMake as `denizen_DIR` for `find_package(denizen CONFIG)`."""
    return str(_Path(__file__).parent / "cmake")
