"""What the tests of access share: types whose hooks use the array at hand, each test in a process."""

import textwrap

from support.process import run

HELPERS = """
import gc, importlib, os, pickle, sys, threading, time
import numpy as np
import denizen
from denizen.check.runner.process import Task, run_tasks

hostile = importlib.import_module(os.environ["HOSTILE"])
RUST = hostile.__name__ == "denizen_hostile"

#: The types from and to which a type of C++ is cast.
MIXED = {
    "FreeInline": ["Inline", "Boxed"],
    "FreeBoxed": ["Boxed", "FreeInline"],
    "Tagged": ["FreeInline", "FreeBoxed"],
}
#: Those that can be copied.
TYPES = [getattr(hostile, name) for name in hostile.types() if name != "Only"]

def make(T, size=10, value=1):
    return np.full(size, value, dtype=T)

def of_destructors(T):
    '''How a destructor's use of an array ends that an operation is at work on: those of types that say
    that they need no GIL run under the lock.'''
    return {"works", "BorrowError"} if T.__name__.startswith("Free") else {"works"}

def outcome(work):
    '''How something ended that is called, or executed as a text.'''
    try:
        work() if callable(work) else exec(work, sys._getframe(1).f_globals)
    except Exception as error:
        return type(error).__name__
    return "works"

class On:
    '''A hook that does `work` with the array at hand, once or `times` times; how that ended.'''
    def __init__(self, hook, work, after=0, times=1):
        self.outcomes, self.work = [], work
        hostile.on(hook, self, after, times)
    def __call__(self):
        self.outcomes.append(outcome(self.work))

def finish(T):
    '''Nothing changed under a hook, nothing is left, by the type's own counters and by denizen's.'''
    hostile.off()
    gc.collect()
    name = T.__name__
    assert (wrong := hostile.violations()) == [], (name, wrong[:3])
    live = dict(hostile.live())[name], denizen.stats()[f"{hostile.__name__}.{name}"]["live"]
    assert live == (0, 0), (name, live)

def unpickled(T):
    return pickle.loads(pickle.dumps(make(T)))

def records(T, packed, values=(1,) * 10):
    layout = [("tag", "u1"), ("x", T)] if packed else [("x", T), ("n", "i8")]
    made = np.zeros(len(values), dtype=layout)
    made["x"] = values
    return made

def numbered(T, packed):
    return records(T, packed, np.arange(40)[::-1] % 23)

class Worker:
    '''Another thread that does `work` on and on; what it raised comes out at the end.'''
    def __init__(self, work):
        self.work, self.stop, self.error = work, False, None
        self.thread = threading.Thread(target=self.run)
    def run(self):
        try:
            while not self.stop:
                self.work()
        except BaseException as error:
            self.error = error
    def __enter__(self):
        sys.setswitchinterval(1e-5)
        self.thread.start()
        return self
    def __exit__(self, *error):
        self.stop = True
        self.thread.join()
        if self.error is not None:
            raise self.error
"""


def attack(code, *cases, **options):
    """Runs code for each case and each type `T`, the cases in processes of their own, and looks at the
    counters after each type; what failed comes on stderr. A case gives names to texts."""
    run(
        f"""{HELPERS}
CODE = {textwrap.dedent(code)!r}
CASES = {cases or ({},)!r}

def work(case):
    for T in TYPES:
        print(f"with {{T.__name__}}", file=sys.stderr)
        names = globals() | {{"T": T}} | case
        exec(compile(CODE, "<attack>", "exec"), names)
        hostile.off()
        names.clear()
        finish(T)

tasks = [Task(lambda case=case: work(case), 20) for case in CASES]
for place, ending in run_tasks(tasks, 2):
    if ending.failure is not None:
        print(CASES[place], ending.failure, ending.errors, sep="\\n", file=sys.stderr)
""",
        arrays=False,
        seconds=200,
        RUST_BACKTRACE="0",
        **options,
    )
