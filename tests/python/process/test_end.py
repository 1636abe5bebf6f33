"""The end of a process: whatever still holds arrays, and whatever threads are doing then.

Each process ends with its own status, says nothing on stderr, and hangs nowhere. Elements that are
destroyed twice, or used after their end, would say so there.
"""

import signal

import pytest
from support.process import run

#: Where arrays can be when the interpreter ends: statements after `arrays = make_arrays()`.
PLACES = {
    "a module": "pass",
    "another module": "import types; m = types.ModuleType('m'); sys.modules['m'] = m; m.a = arrays",
    "builtins": "import builtins; builtins.kept = arrays; del arrays",
    "sys": "sys.kept = arrays; del arrays",
    "numpy": "np.kept = arrays; del arrays",
    "denizen": "denizen.kept = arrays; denizen._runtime.kept = arrays; del arrays",
    "a class": "class Keeper: kept = arrays\ndel arrays",
    "a scalar class": """
        class Mine(denizen.Integer): kept = arrays
        mine = Mine(3)
    """,
    "a default": "def f(kept=arrays): pass\ndel arrays",
    "a context variable": """
        import contextvars
        variable = contextvars.ContextVar("v", default=arrays); variable.set(make_arrays())
        context = contextvars.copy_context()
    """,
    "thread locals": """
        import threading
        local = threading.local(); local.kept = arrays
        def work(): local.kept = make_arrays()
        thread = threading.Thread(target=work); thread.start(); thread.join()
    """,
    "a cycle": """
        class Node: pass
        node = Node(); node.self = node; node.kept = arrays; del arrays, node
    """,
    "an object array": "kept = np.array([*arrays, None], dtype=object)",
    "scalars": "kept = [a.ravel()[0] for a in arrays if not a.dtype.names]",
    "views": "kept = [a[::-1] for a in arrays] + [a.flat for a in arrays]; del arrays",
    "iterators": """
        kept = [np.nditer(a, flags=["buffered", "refs_ok"], op_flags=["readonly"]) for a in arrays
                if not a.dtype.names and a.dtype != np.dtype(raw.Single)]
        for it in kept: next(it)
    """,
    "a generator": """
        def generator():
            mine = make_arrays()
            yield mine
            for a in mine: use(a)
        g = generator(); next(g)
    """,
    "a frame of an exception": """
        def fail():
            mine = make_arrays()
            mine[0] // 0
        try: fail()
        except ZeroDivisionError as error: kept = error
    """,
    "atexit": "import atexit; atexit.register(lambda: [use(a) for a in arrays] and make_arrays())",
    "atexit with the last reference": """
        import atexit
        atexit.register(lambda kept: [use(a) for a in kept], arrays); del arrays
    """,
    "a finalizer": """
        import weakref
        class Thing: pass
        thing = Thing(); weakref.finalize(thing, lambda kept: [use(a) for a in kept], arrays)
    """,
    "callbacks of weak references": """
        import weakref
        ended = []
        references = [weakref.ref(a, lambda r, other=arrays[0]: use(other)) for a in arrays]
    """,
    "a handler's block": """
        block = denizen.handler(); block.__enter__()
        more = make_arrays() + [np.arange(1000), np.array([None, "x"], dtype=object)]
    """,
    "an audit": "audit = denizen.audit(); audit.__enter__(); more = make_arrays()",
    "sys.modules is cleared": "sys.modules.clear()",
    "no modules of ours": """
        for name in [n for n in sys.modules if n.startswith(("denizen", "numpy"))]: del sys.modules[name]
    """,
    "a collector that is switched off": "import gc; gc.disable(); more = [arrays]; more.append(more)",
    "a thread that is joined at the end": """
        import threading, time
        def work():
            time.sleep(0.1)
            for _ in range(5): [use(a) for a in make_arrays()]
        threading.Thread(target=work).start()
    """,
    "an executor": """
        from concurrent.futures import ThreadPoolExecutor
        executor = ThreadPoolExecutor(3)
        futures = [executor.submit(make_arrays) for _ in range(6)]
    """,
    "a suspended coroutine": """
        async def wait():
            mine = make_arrays()
            class Forever:
                def __await__(self): yield
            await Forever()
            use(mine[0])
        coroutine = wait(); coroutine.send(None)
    """,
}


def indented(statements):
    import textwrap

    return textwrap.dedent(statements).strip()


@pytest.mark.parametrize("place", PLACES)
def test_arrays_that_live_to_the_end_do_no_harm(place):
    run("arrays = make_arrays()\n[use(a) for a in arrays]\n" + indented(PLACES[place]))


def test_destructors_at_the_end_use_arrays_that_are_still_whole():
    printed = run("""
        import builtins, os
        class Uses:
            def __init__(self, arrays): self.arrays = arrays
            def __del__(self, use=use, write=os.write):
                for array in self.arrays: use(array)
                self.arrays[0].sort()
                write(1, b"used ")
        builtins.first = Uses(make_arrays())
        second = Uses(make_arrays())
        second.me = second
        class Last:
            kept = Uses(make_arrays())
    """)
    assert printed.split() == ["used"] * 3


@pytest.mark.parametrize(
    "option",
    ["-O", "-OO", "-B", "-E", "-I", "-S", "-s", "-P", "-u", "-q", "-b", "-bb", "-X dev", "-X utf8",
     "-X tracemalloc=5", "-X faulthandler", "-X no_debug_ranges", "-X frozen_modules=off",
     "-W error -X dev", "-W error"],
)  # fmt: skip
def test_every_start_of_python_has_a_quiet_end(option):
    run(
        "arrays = make_arrays()\n[use(a) for a in arrays]\nnode = [arrays]; node.append(node)",
        *option.split(),
    )


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONMALLOC": "debug"},
        {"PYTHONMALLOC": "malloc_debug", "PYTHONDEVMODE": "1"},
        {"PYTHONHASHSEED": "0", "PYTHONOPTIMIZE": "2"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"},
        {"NPY_DISABLE_CPU_FEATURES": "", "OPENBLAS_NUM_THREADS": "1"},
    ],
    ids=lambda variables: " ".join(variables),
)
def test_every_environment_of_python_has_a_quiet_end(variables):
    run("arrays = make_arrays()\n[use(a) for a in arrays]", **variables)


def test_the_log_of_imports_has_a_good_end():
    run(
        "arrays = make_arrays()", "-X", "importtime", stderr=lambda text: "denizen._runtime" in text
    )


def test_closed_streams_do_no_harm():
    run("""
        import os
        arrays = make_arrays()
        os.close(0); os.close(1)
        sys.stdout = sys.stdin = sys.stderr = None
    """)


# ---- ends that are none of Python's ------------------------------------------------------------


def test_an_end_in_the_middle_runs_nothing():
    run(
        """
        import os, threading
        arrays = make_arrays()
        def work():
            while True: arrays[0] * arrays[0]
        for _ in range(3): threading.Thread(target=work, daemon=True).start()
        os._exit(7)
        """,
        status=7,
    )


def test_an_exit_code_and_an_exception_arrive_as_they_are():
    run("arrays = make_arrays(); sys.exit(5)", status=5)
    run(
        "arrays = make_arrays(); arrays[0] // 0",
        status=1,
        stderr=lambda text: (
            text.rstrip().endswith("ZeroDivisionError: division by zero")
            or "ZeroDivisionError" in text.splitlines()[-1]
        ),
    )


def test_an_exception_in_a_callback_at_the_end_is_reported_and_all_goes_on():
    run(
        """
        import atexit
        arrays = make_arrays()
        atexit.register(lambda: [use(a) for a in arrays] and print("went on"))
        atexit.register(lambda: arrays[0] // 0)
        """,
        stderr=lambda text: "ZeroDivisionError" in text and "Fatal" not in text,
    )
    run(
        """
        class Fails:
            def __del__(self, array=make_arrays()[0]): array // 0
        kept = Fails()
        """,
        stderr=lambda text: text.count("ZeroDivisionError") == 1 and "Fatal" not in text,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_signals_end_a_process_as_they_do_without_arrays(number):
    stderr = (lambda text: "KeyboardInterrupt" in text) if number == signal.SIGINT else ""
    run(
        f"""
        import os, time
        arrays = make_arrays()
        os.kill(os.getpid(), {int(number)})
        while True: arrays[0] * arrays[0]
        """,
        status=-number,
        stderr=stderr,
    )


def test_an_interrupt_waits_for_the_loop_and_loses_nothing():
    printed = run("""
        import gc, os, signal, threading, time
        before = denizen.stats()["denizen.Integer"]["live"]
        a = np.array([3], dtype=denizen.Integer) ** 20_000
        a = np.repeat(a, 600)
        for round in range(3):
            def interrupt():
                time.sleep(0.05)
                os.kill(os.getpid(), signal.SIGINT)
            thread = threading.Thread(target=interrupt); thread.start()
            caught = False
            out = np.zeros(600, dtype=denizen.Integer)
            try:
                while True:
                    np.multiply(a, a, out=out)
                    np.multiply(a, a, out=out)
                    out.sort()
                    out.astype(object)
            except KeyboardInterrupt:
                caught = True
            thread.join()
            assert caught
            out[:] = a
            assert (out == a).all()
        del a, out
        gc.collect()
        assert denizen.stats()["denizen.Integer"]["live"] == before
        print("whole")
    """)
    assert printed == "whole\n"


def test_an_interrupt_between_python_calls_of_one_assignment_loses_nothing():
    """Sequences and conversions run Python code, in which the interrupt is raised."""
    run("""
        import gc, os, signal
        before = {name: s["live"] for name, s in denizen.stats().items()}, raw.bombs()[2]
        class Interrupts:
            def __len__(self): return 100
            def __getitem__(self, index):
                if index == 60: os.kill(os.getpid(), signal.SIGINT)
                if index >= 100: raise IndexError
                return "7"
        for element in (raw.Bomb, raw.HeldBomb, raw.BoxedBomb, denizen.Integer, denizen.Rational):
            a = np.array(["5"] * 100, dtype=element)
            for attempt in (lambda: a.__setitem__(slice(None), Interrupts()),
                            lambda: np.array(Interrupts(), dtype=element),
                            lambda: np.fromiter(Interrupts(), dtype=element)):
                try: attempt()
                except KeyboardInterrupt: pass
                else: raise AssertionError
            assert all(str(x) in "57" for x in a)
        del a, attempt
        gc.collect()
        after = {name: s["live"] for name, s in denizen.stats().items()}, raw.bombs()[2]
        assert before == after, (before, after)
    """)


# ---- threads that are in the middle of something -------------------------------------------------

BUSY = """
import threading, time

a = np.array([2**100] * 2000, dtype=denizen.Integer)
zero = np.zeros(2000, dtype=denizen.Integer)
bombs = np.array(["5", "-3"] * 1000, dtype=raw.Bomb)
held = np.array(["5", "-3"] * 1000, dtype=raw.HeldBomb)
started = threading.Barrier(5)

def divide():
    try:
        a // zero
    except ZeroDivisionError:
        pass

def resize():
    mine = bombs.copy()
    mine.resize(5000, refcheck=False)
    mine.resize(3, refcheck=False)

def handler():
    with denizen.handler():
        np.arange(1000.0).copy(), bombs.copy()

def short_thread():
    thread = threading.Thread(target=lambda: bombs.copy())
    try:
        thread.start()
    except RuntimeError:
        time.sleep(1000)  # Python starts none any more.

work = {
    "objects": lambda: a.astype(object),
    "from objects": lambda: np.array([1.0, "2", 3] * 100, dtype=denizen.Rational),
    "element": lambda: a[3],
    "sort": lambda: np.sort(a),
    "exception": divide,
    "shared writes": lambda: bombs.__setitem__(slice(None), bombs[::-1]),
    "with the GIL": lambda: np.sort(held + held),
    "resize": resize,
    "handler": handler,
    "short threads": short_thread,
}[WORK]

def run():
    started.wait()
    while True:
        work()

for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
started.wait()
time.sleep(0.1)
"""
WORKS = [
    "objects", "from objects", "element", "sort", "exception", "shared writes", "with the GIL",
    "resize", "handler", "short threads",
]  # fmt: skip


@pytest.mark.parametrize("work", WORKS)
def test_daemon_threads_in_loops_do_not_abort_the_exit(work):
    for _ in range(2):
        run(BUSY.replace("WORK", repr(work)))


def test_arrays_that_threads_write_outlive_the_modules_that_hold_them():
    """The main thread lets go of what the daemons are at work on, and ends."""
    run(
        BUSY.replace("WORK", "'shared writes'")
        + """
import builtins, atexit
builtins.kept = bombs, a
atexit.register(time.sleep, 0.05)
"""
    )


# ---- destructors that run Python -------------------------------------------------------------------


def test_a_destructor_of_an_element_runs_python_that_uses_its_own_array():
    printed = run("""
        import gc
        words = []
        a = np.empty(6, dtype=raw.Herald)
        def hears(word):
            words.append(word)
            if word == "ends":
                try: a[2:4], repr(a), denizen.inspect(a)
                except (denizen.BorrowError, denizen.VacantError, NameError) as error:
                    words.append(type(error).__name__)
            return word
        for index in range(6): a[index] = hears
        a[1] = hears                    # ends one in place
        a.resize(3, refcheck=False)     # ends a tail
        a.fill(hears) if False else None
        live = denizen.inspect(a).live
        del a
        gc.collect()
        print(words.count("ends"), raw.singles())
    """)
    ends, left = printed.split()
    # Six, and the one that was replaced, each once.
    assert (ends, left) == ("7", "0")


def test_destructors_that_run_python_at_the_end_of_the_process_use_their_own_array():
    printed = run("""
        import builtins
        def hears(word, print=print):
            if word == "ends":
                # Whatever is left of the array, and of the modules.
                try: builtins.a[0], len(builtins.a), builtins.a[::-1]
                except Exception: pass
                print("ends")
            return word
        builtins.a = np.empty(4, dtype=raw.Herald)
        for index in range(4): builtins.a[index] = hears
        b = np.empty(3, dtype=raw.Herald)
        for index in range(3): b[index] = hears
        b = [b]; b.append(b)
    """)
    assert printed.split().count("ends") <= 7
