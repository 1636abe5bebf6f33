"""A whole program, run as Python would run it, up to its end and no further."""

from __future__ import annotations

import atexit
import builtins
import functools
import gc
import importlib.util
import io
import os
import pkgutil
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from .report import libraries

__all__ = ["ProgramError", "clear_up", "daemons", "run", "wait_for_end"]

_CACHE = type(functools.lru_cache(len))
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class ProgramError(Exception):
    """There is no such program."""


def run(name: str, arguments: Sequence[str], *, is_module: bool) -> int:
    """Runs a script, a directory or archive with a `__main__`, or (with `is_module`) a module, as
    `python NAME ARGUMENTS` would: `sys.argv`, `sys.path[0]` and `__main__` are the program's.

    Returns the status that Python would exit with; the traceback of an exception is printed.

    Raises:
        ProgramError: there is no such program, or it cannot be read.
    """
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.argv = ["-m" if is_module else name, *arguments]
    is_file = not is_module and pkgutil.get_importer(name) is None
    path = os.path.abspath(name)
    if not is_module and not is_file:
        _put_first(path)
    elif not sys.flags.safe_path:
        _put_first(os.path.dirname(os.path.realpath(path)) if is_file else os.getcwd())
    # A program that does not compile ends as one that fails.
    try:
        code = _script(main, path) if is_file else _module(main, name if is_module else "__main__")
        if is_module:
            sys.argv[0] = str(main.__file__)
    except ProgramError:
        raise
    except BaseException as error:
        return _status(error)
    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
    except BaseException as error:
        return _status(error)
    return 0


def _put_first(folder: str) -> None:
    """Makes a folder the first of `sys.path`, in place of the one that started this command."""
    sys.path[: 0 if sys.flags.safe_path else 1] = [folder]


def _script(main: ModuleType, path: str) -> CodeType:
    """The code of a file."""
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        raise ProgramError(f"cannot read {path!r}: {error.strerror}") from None
    main.__file__ = path
    main.__dict__["__cached__"] = None
    main.__loader__ = SourceFileLoader("__main__", path)
    return compile(source, path, "exec", dont_inherit=True)


def _module(main: ModuleType, name: str) -> CodeType:
    """The code of a module, or of a package's `__main__`."""
    spec = _find(name)
    if spec.submodule_search_locations is not None and name != "__main__":
        spec = _find(f"{name}.__main__")
    loader = spec.loader
    code = loader.get_code(spec.name) if isinstance(loader, InspectLoader) else None
    if code is None:
        raise ProgramError(f"there is no code to run in the module {name}")
    main.__spec__ = spec
    main.__loader__ = loader
    main.__package__ = spec.parent
    main.__file__ = spec.origin
    main.__dict__["__cached__"] = spec.cached
    return code


def _find(name: str) -> ModuleSpec:
    # Python's own `-m` and ours both find `__main__` in `sys.modules` already.
    mine = sys.modules.pop("__main__", None) if name == "__main__" else None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ProgramError(f"cannot find the module {name}: {error}") from None
    finally:
        if mine is not None:
            sys.modules["__main__"] = mine
    if spec is None:
        raise ProgramError(f"there is no module {name}")
    return spec


def _status(error: BaseException) -> int:
    """What Python does with an exception that was not caught; the exit status."""
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        if isinstance(error.code, int):
            return error.code & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    trace = error.__traceback__
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    error.__traceback__ = trace
    try:
        sys.excepthook(type(error), error, trace)
    except BaseException:
        traceback.print_exc()
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _is_ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_HERE)


def wait_for_end() -> None:
    """What Python waits for and runs after a program's last line, in Python's order: functions that
    tell the threads of pools to end, all threads but daemons, and what it registered with `atexit`.

    What is raised meanwhile is printed and changes nothing, as in Python. When the interpreter ends
    it comes here again and finds nothing left to do.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
    except BaseException:
        traceback.print_exc()
        # Not again when the interpreter ends.
        getattr(threading, "_threading_atexits", []).clear()
    atexit._run_exitfuncs()


def daemons() -> list[str]:
    """Names of the threads that run on, whatever the program's last line was."""
    return sorted(
        thread.name
        for thread in threading.enumerate()
        if thread.daemon and thread is not threading.current_thread()
    )


def clear_up(before: Sequence[str]) -> None:
    """Lets go of what the program's modules hold, as Python does at its end: `__main__` and what
    was imported since the names `before`, but for modules of installed packages. Caches of
    `functools` are emptied too: those of `typing` keep classes.

    While daemon threads run, modules are dropped and not emptied: the threads may be using them.
    """
    namespaces = _drop_modules(before, emptied=not daemons())
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    for cache in [found for found in gc.get_objects() if type(found) is _CACHE]:
        cache.cache_clear()
    # What has a destructor ends here, while the names that it uses mean something.
    gc.collect()
    for namespace in [found for found in gc.get_objects() if id(found) in namespaces]:
        # An older one may be gone, and its address another dict's.
        if type(namespace) is dict and namespace.get("__name__") is namespaces[id(namespace)]:
            _empty(namespace)
    gc.collect()


def _drop_modules(before: Sequence[str], *, emptied: bool) -> dict[int, object]:
    """Takes the program's modules out of `sys.modules`. Returns the names of those that are to be
    emptied, by the addresses of their namespaces."""
    namespaces: dict[int, object] = {}
    for name, module in _own(before):
        # A C extension's functions do not expect to lose their module.
        if emptied and isinstance(getattr(module, "__loader__", None), SourceFileLoader):
            namespaces[id(module.__dict__)] = module.__dict__.get("__name__")
        if name != "__main__":
            del sys.modules[name]
    sys.modules["__main__"] = ModuleType("__main__")
    return namespaces


def _own(before: Sequence[str]) -> list[tuple[str, ModuleType]]:
    """`__main__`, and the modules that were imported since the names `before`, but for those of
    installed packages."""
    installed = tuple(folder for folder, _ in libraries())
    known = set(before)

    def own(name: str, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        return name == "__main__" or (
            name not in known and isinstance(file, str) and not file.startswith(installed)
        )

    return [(name, module) for name, module in sys.modules.items() if own(name, module)]


def _empty(namespace: dict[str, object]) -> None:
    """Takes the values out of a module's namespace as Python does: names with an underscore first,
    and each is None until all are gone, for destructors that look."""
    names = [name for name in namespace if name != "__builtins__"]
    for name in sorted(names, key=lambda name: not name.startswith("_") or name[1:2] == "_"):
        namespace[name] = None
    for name in names:
        namespace.pop(name, None)
