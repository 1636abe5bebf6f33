"""Memory that runs out, clients that are missing, other processes: a clear error, nothing lost."""

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.kinds import KINDS
from support.transport import come_back

PICKLING = {name: kind for name, kind in KINDS.items() if kind.pickles}


def python(code, *arguments, **options):
    """Runs a script in an interpreter of its own; `support` can be imported there."""
    folder = str(Path(__file__).parents[1])
    script = f"import sys; sys.path.insert(0, {folder!r})\n" + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


@pytest.mark.regression("T49", "numpy/numpy#28829")
def test_a_failed_allocation_is_a_memory_error_and_nothing_is_lost():
    done = python(
        """
        import gc, resource
        import numpy as np
        from support.kinds import COPYABLE
        import denizen

        arrays = {name: kind.make(1000) for name, kind in COPYABLE.items()}
        texts = {name: kind.read(arrays[name][:20]) for name, kind in COPYABLE.items()}
        gc.freeze()
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        limit = used + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for name, kind in COPYABLE.items():
            a, size = arrays[name], (128 << 20) // arrays[name].itemsize
            live = kind.stats()["live"]
            for work in (
                lambda: np.empty(size, dtype=kind.element),
                lambda: np.zeros(size, dtype=kind.element),
                lambda: a.repeat(size // 1000 + 1),
                lambda: a.resize(size, refcheck=False),
                lambda: np.broadcast_to(a, (size // 1000 + 1, 1000)).copy(),
                lambda: np.concatenate([a] * (size // 1000 + 1)),
            ):
                try:
                    work()
                except MemoryError:
                    gc.collect()
                else:
                    raise SystemExit(f"{name}: no MemoryError")
                assert kind.stats()["live"] == live, name
                assert kind.read(a[:20]) == texts[name], name
                assert denizen.handler_name() == "default_allocator"
            a[:] = a[::-1].copy()
        del a, work
        arrays.clear()
        gc.collect()
        assert all(counters["live"] == 0 for counters in denizen.stats().values()), denizen.stats()
        print("whole")
        """
    )
    assert done.stdout.endswith("whole\n"), done.stdout + done.stderr


@pytest.mark.parametrize("module", ["denizen_example", "denizen_raw", "denizen_sorting"])
def test_unpickling_without_the_clients_module_names_it(module, tmp_path):
    kind = next(kind for kind in PICKLING.values() if kind.name.startswith(module))
    a = kind.make()
    things = {"array": a, "scalar": a[0], "dtype": a.dtype}
    for name, thing in things.items():
        (tmp_path / name).write_bytes(pickle.dumps(thing))
    done = python(
        """
        import pathlib, pickle, sys
        sys.modules[sys.argv[2]] = None
        for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
            try:
                pickle.loads(path.read_bytes())
            except ImportError as error:
                print(path.name, sys.argv[2] in str(error))
        """,
        str(tmp_path),
        module,
    )
    assert done.stdout.split("\n")[:3] == ["array True", "dtype True", "scalar True"], done.stderr


@pytest.mark.regression("T21")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_arrays_come_back_from_other_processes(method):
    come_back(KINDS, method)
