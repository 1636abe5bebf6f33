"""Cannot be imported in a sub-interpreter; the package imports it before anything else.

Element types are registered once a process and live as long as it does; so do the classes of the
runtime, which would stay those of the interpreter that imported it first. NumPy refuses too, but
not always, and in words that say nothing of denizen.
"""

import importlib
import sys
from typing import Any


def _number(identity: Any) -> int:
    return int(identity[0] if isinstance(identity, tuple) else identity)


def _is_main() -> bool:
    # Not public before Python 3.14, where `concurrent.interpreters` is slower to import.
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters = importlib.import_module(name)
    except ImportError:
        # The runtime looks again.
        return True
    return _number(interpreters.get_current()) == _number(interpreters.get_main())


if not _is_main():
    raise ImportError(
        "denizen cannot be imported in a sub-interpreter: its element types belong to the whole "
        "process. Import it in the main interpreter, and use threads or processes"
    )
