"""Who may touch a cell, and when: what was once seen to crash, to show a client an object that
changed, or to count wrong. Each in a process of its own, with types of every kind.

The hooks of `denizen_hostile` call Python, and tell of every object that did not stay what it was.
"""

import textwrap

from process import run

HELPERS = """
import gc, importlib.util, pickle, sys, threading, time
import numpy as np
import denizen
from denizen.check.runner.process import Task, run_tasks

# The types of C++, where they are built.
if importlib.util.find_spec("cpp_hostile"):
    import cpp_hostile as hostile
else:
    import denizen_hostile as hostile
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
    '''Nothing changed under a hook, nothing is left, by the type's own books and by denizen's.'''
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
    books after each type; what failed comes on stderr. A case gives names to texts."""
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


# ---- one thread: a hook that uses the array at hand ----------------------------------------------


def test_a_hook_that_assigns_to_its_operand_is_refused_or_changes_nothing_it_was_given():
    attack(
        """
        a, b = make(T), make(T, value=5)
        v = b[0]
        if hook in hostile.hooks():
            on = On(hook, lambda: a.__setitem__(slice(None), 7))
            assert outcome(operation) == "works"
            expected = [["BorrowError"], ["works"]] + ([] if RUST else [[]])
            assert on.outcomes in expected, on.outcomes
            assert set(a.astype(int)) <= {*range(300)}, a
        """,
        *(
            {"hook": hook, "operation": operation}
            for hook, operation in [
                ("add", "a + a"),
                ("add", "np.add(a, a, out=a)"),
                ("add", "a.sum()"),
                ("add", "np.add.accumulate(a, out=a)"),
                ("add", "np.add.at(a, [1, 1], a[:2].copy())"),
                ("in_place", "np.square(b, out=a)"),
                ("in_place_binary", "np.fmod(b, b, out=a)"),
                ("negative", "-a"),
                ("clone", "a.copy()"),
                ("clone", "a[[3, 1]]"),
                ("clone", "a[3]"),
                ("clone", "a[...] = b"),
                ("clone", "a.fill(v)"),
                ("compare", "a.sort()"),
                ("compare", "a.argsort()"),
                ("compare", "a.searchsorted(b)"),
                ("compare", "a.argmax()"),
                ("compare", "a < b"),
                ("equal", "a == b"),
                ("to_float", "a.astype(float)"),
                ("to_int", "a.astype(int)"),
                ("from_float", "a[...] = np.arange(10.0)"),
                ("from_int", "a[...] = np.arange(10)"),
                ("from_python", "a[...] = list(range(10))"),
                ("from_python", "a[...] = [str(i) for i in range(10)]"),
                ("parse", "a[...] = np.arange(10).astype('U5')"),
                ("display", "a.astype('U30')"),
                ("save", "pickle.dumps(a)"),
                ("nonzero", "np.nonzero(a)"),
                ("heap_bytes", "denizen.inspect(a)"),
            ]
        ),
    )


def test_an_operand_that_a_closure_of_two_operands_assigns_to_stays_as_it_is():
    attack(
        """
        a = make(T)
        on = On("add", lambda: a.__setitem__(slice(None), 7), times=-1)
        assert (a + a).astype(int).tolist() == [2] * 10
        assert on.outcomes == ["BorrowError"] * 10, on.outcomes
        assert a.astype(int).tolist() == [1] * 10
        """
    )


def test_an_array_that_an_order_assigns_to_is_sorted_all_the_same():
    attack(
        """
        a = np.arange(200)[::-1].astype(T)
        on = On("compare", lambda: a.__setitem__(slice(None), 7), times=50)
        a.sort()
        assert set(on.outcomes) == {"BorrowError"}, on.outcomes
        assert a.astype(int).tolist() == list(range(200))
        """
    )


def test_a_destructor_reads_its_own_array_and_sees_whole_objects():
    attack(
        """
        a, b = make(T), make(T, value=5)
        v, copies = b[0], []
        def look():
            copies.append(a.copy())
            copies.append(a.tolist())
            copies.append(a[3])
            assert len(str(a)) > 10 and denizen.inspect(a).cells == 10
        on = On("drop", look, times=2)
        assert outcome(operation) == "works"
        hostile.off()
        assert on.outcomes or not RUST
        assert set(on.outcomes) <= of_destructors(T), on.outcomes
        for x in copies:
            str(x)
        """,
        *(
            {"operation": operation}
            for operation in [
                "a[...] = b",
                "a[2:7] = b[2:7]",
                "a[3] = 5",
                "a[...] = 5",
                "a[[1, 2]] = b[:2]",
                "a.fill(v)",
                "np.copyto(a, b)",
                "np.add(a, b, out=a)",
                "a[...] = np.arange(10)",
                "a[...] = np.zeros(10, dtype=T)",
                "a.put([1, 2], b[:2])",
                "np.putmask(a, np.arange(10) > 4, b)",
            ]
        ),
    )


def test_a_copy_made_by_the_destructors_of_what_an_assignment_replaces_is_of_live_objects():
    attack(
        """
        a, b = make(T, 200), make(T, 200, value=5)
        copies = []
        on = On("drop", lambda: copies.append(a.copy()), times=-1)
        a[:] = b
        a[:] = np.zeros(200, T)
        hostile.off()
        assert on.outcomes and set(on.outcomes) <= of_destructors(T), set(on.outcomes)
        assert all(set(x.astype(int)) <= {0, 1, 5} for x in copies)
        """
    )


def test_a_destructor_writes_to_its_own_array():
    attack(
        """
        a, b = make(T), make(T, value=5)
        on = On("drop", lambda: a.__setitem__(slice(None), 7), times=3)
        a[:] = b
        assert set(on.outcomes) <= {"works", "BorrowError"}, on.outcomes
        assert set(a.astype(int)) <= {5, 7}
        """
    )


def test_an_order_that_assigns_ends_nothing_that_numpy_compares_raw_copies_of():
    """Keys of lexsort that are not contiguous, and fields of records that are not aligned, NumPy copies
    as bytes and compares the copies."""
    attack(
        """
        for after in (1, 9):
            a = eval(array)
            cells = a["x"] if a.dtype.names else a
            on = On("compare", lambda: cells.__setitem__(slice(None), 7), after)
            ended = outcome(operation)
            hostile.off()
            assert ended in ("works", "BorrowError") and on.outcomes, (ended, on.outcomes)
            assert set(cells.astype(int)) <= {*range(40)}, cells
        """,
        *(
            {"array": array, "operation": operation}
            for array, operation in [
                ("np.arange(40)[::-1].astype(T)[::2]", "np.lexsort([a])"),
                ("numbered(T, False)", "np.lexsort([a['x']])"),
                ("numbered(T, True)", "a.sort(order='x')"),
                ("numbered(T, True)", "a.argsort(order='x')"),
                ("numbered(T, True)", "a.partition(7, order='x')"),
                ("numbered(T, True)", "a.argpartition(7, order='x')"),
                ("numbered(T, False)", "a.sort(order='x')"),
                ("numbered(T, False)", "a.partition(7, order='x')"),
            ]
        ),
    )


# ---- two threads ---------------------------------------------------------------------------------


def test_two_threads_share_an_array_whose_hooks_let_others_run():
    attack(
        """
        a, b, c = make(T, 40), make(T, 40, value=5), make(T, 40, value=9)
        hostile.on(hook, lambda: time.sleep(0), times=-1)
        def other():
            a[:] = b
            np.add(a, c, out=a)
        with Worker(other):
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                a[:] = c
                np.add(a, b, out=a)
                a.sort()
                a.copy()
        """,
        *({"hook": hook} for hook in ("clone", "drop", "add", "compare")),
    )


def test_a_cast_to_another_type_waits_for_those_who_write():
    """To floats, and to and from types that lock otherwise; `BorrowError` is for those who nest."""
    attack(
        """
        low, high = make(T, 2000, 7), make(T, 2000, 9)
        a = low.copy()
        others = [float, int] if RUST else [float, *(
            getattr(hostile, name)
            for mixed in (MIXED, {b: [a for a in MIXED if b in MIXED[a]] for b in hostile.types()})
            for name in mixed.get(T.__name__, ())
        )]
        def write():
            np.copyto(a, high)
            np.copyto(a, low)
        with Worker(write):
            end = time.monotonic() + 0.15
            while time.monotonic() < end:
                for other in others:
                    seen = {int(float(str(x))) for x in a.astype(other)[::50]}
                    assert seen <= {7, 9}, (other, seen)
        """
    )


def test_inspecting_beside_a_writer_finds_no_damage_and_whole_objects():
    run(
        HELPERS
        + """
for T in [*TYPES, denizen.Integer, denizen.Rational]:
    big, size = ([7**300], 20_000) if T.__module__ == "denizen" else ([7**20], 400)
    big, zero, cells = np.array(big * size, dtype=T), np.zeros(size, T), np.zeros(size, T)
    one = denizen.inspect(big[:1].copy()).heap_bytes
    def write():
        np.copyto(cells, big)
        np.copyto(cells, zero)
    with Worker(write):
        end, wrong = time.monotonic() + 0.3, []
        while time.monotonic() < end:
            seen = denizen.inspect(cells)
            # Default values may own memory as well, where the type says so.
            if T.__module__ == "denizen" and (seen.heap_bytes or 0) % one:
                wrong.append(("heap bytes", seen.heap_bytes, one))
            if seen.integrity != "intact":
                wrong.append(seen.integrity)
    assert not wrong, (T, wrong[:3])
    assert hostile.violations() == []
""",
        arrays=False,
        seconds=100,
    )


# ---- views ---------------------------------------------------------------------------------------

LENDABLE = ("make(T)", "unpickled(T)", "records(T, False)['x']", "make(T, 20)[::2]")


def test_who_comes_second_to_a_view_that_writes_gets_an_error():
    attack(
        """
        a = eval(memory)
        def second():
            seen.append(outcome(lambda: hostile.while_writing(a, lambda: None, 3)))
            seen.append(outcome(lambda: hostile.while_reading(a, lambda: None)))
            seen.append(outcome(lambda: a.__setitem__(0, 9)))
            seen.append(outcome(lambda: a[0]))
            seen.append(outcome(lambda: a.copy()))
            seen.append(outcome(lambda: np.add(a, a, out=a)))
        seen = []
        hostile.while_writing(a, second, 5)
        assert seen == ["BorrowError"] * 12, seen
        assert a.astype(int).tolist() == [5] * 10
        """,
        *({"memory": memory} for memory in LENDABLE),
    )


def test_nothing_writes_under_a_view_that_reads():
    attack(
        """
        a = eval(memory)
        writes = [
            lambda: a.__setitem__(0, 9),
            lambda: a.__setitem__(slice(None), make(T, value=9)),
            lambda: a.fill(9),
            lambda: a.sort(),
            lambda: np.add(a, a, out=a),
            lambda: np.copyto(a, np.arange(10)),
            lambda: hostile.while_writing(a, lambda: None, 3),
        ]
        reads = [lambda: a.copy(), lambda: a[0], lambda: hostile.while_reading(a, lambda: None)]
        def second():
            seen.extend(outcome(work) for work in writes)
            read.extend(outcome(work) for work in reads)
        seen, read = [], []
        hostile.while_reading(a, second)
        assert seen == ["BorrowError"] * 7, seen
        assert read == ["works"] * 3, read
        assert a.astype(int).tolist() == [1] * 10
        """,
        *({"memory": memory} for memory in LENDABLE),
    )


def test_views_of_foreign_memory_are_refused_with_what_to_do():
    attack(
        """
        denizen._runtime._set_arming(False)
        a = make(T)
        denizen._runtime._set_arming(True)
        assert denizen.owner(a) == "foreign"
        for work in (
            lambda: hostile.while_reading(a, lambda: None),
            lambda: hostile.while_writing(a, lambda: None, 3),
        ):
            try:
                work()
            except TypeError as error:
                assert "copy" in str(error), error
            else:
                raise AssertionError("lent")
        hostile.while_writing(a.copy(), lambda: None, 3)
        """
    )


def test_setting_the_state_of_an_array_that_is_lent_raises_and_frees_nothing():
    attack(
        """
        a, b = make(T), make(T, value=9)
        state = b.__reduce__()[2]
        seen = []
        def second():
            seen.append(outcome(lambda: a.__setstate__(state)))
        hostile.while_reading(a, second)
        hostile.while_writing(a, second, 5)
        assert seen == ["BorrowError"] * 3, seen
        assert a.astype(int).tolist() == [5] * 10
        assert outcome(lambda: a.__setstate__(state)) == "ValueError"
        assert a.astype(int).tolist() == [5] * 10
        empty = a[:0].copy()
        empty.__setstate__(state)
        assert empty.astype(int).tolist() == [9] * 10
        """
    )


def test_setting_the_state_of_an_array_in_the_middle_of_an_operation_raises():
    attack(
        """
        a = make(T)
        state = make(T, value=9).__reduce__()[2]
        on = On(hook, lambda: a.__setstate__(state))
        exec(operation, globals())
        assert on.outcomes == ["BorrowError"], on.outcomes
        assert set(a.astype(int)) <= {1, 2}
        """,
        {"hook": "clone", "operation": "a.copy()"},
        {"hook": "add", "operation": "np.add(a, a, out=a)"},
        {"hook": "compare", "operation": "a.sort()"},
        {"hook": "to_float", "operation": "a.astype(float)"},
    )


# ---- resizes -------------------------------------------------------------------------------------


def test_a_resize_from_the_middle_of_an_operation_raises():
    attack(
        """
        for size in (2, 30, 3000):
            a, b = make(T), make(T, value=5)
            v = b[0]
            # The first copy of what an array is filled with is NumPy's own.
            on = On(hook, lambda: a.resize(size, refcheck=False), 1 if "fill" in operation else 0)
            exec(operation, globals())
            hostile.off()
            if hook == "drop":
                # What a resize gives up ends when it is done.
                assert on.outcomes in (["works"], ["BorrowError"]), (size, on.outcomes)
                assert a.size == (size if on.outcomes == ["works"] else 4)
            else:
                expected = [["BorrowError"]] if RUST or hook != "clone" else [["BorrowError"], []]
                assert on.outcomes in expected, (size, on.outcomes)
                assert a.size == 10
            a.tolist()
        """,
        *(
            {"hook": hook, "operation": operation}
            for hook, operation in [
                ("clone", "a.copy()"),
                ("clone", "a[...] = b"),
                ("clone", "a.fill(v)"),
                ("to_float", "a.astype(float)"),
                ("from_int", "a[...] = np.arange(10)"),
                ("from_python", "a[...] = list(range(10))"),
                ("from_python", "a[...] = [str(i) for i in range(10)]"),
                ("parse", "a[...] = np.arange(10).astype('U5')"),
                ("add", "np.add(a, b, out=a)"),
                ("add", "a.sum()"),
                ("compare", "a.sort()"),
                ("drop", "a.resize(4, refcheck=False)"),
            ]
        ),
    )


def test_a_destructor_uses_an_array_that_shrinks_and_nothing_is_lost_or_counted_wrong():
    attack(
        """
        a = make(T)
        kept = []
        def work():
            kept.append(eval(callback))
        on = On("drop", work, times=3)
        a.resize(3, refcheck=False)
        hostile.off()
        assert set(on.outcomes) <= {"works", "BorrowError"} and on.outcomes, on.outcomes
        # A sort puts the cells that are vacant already in front.
        assert a.size == 3 and set(a.astype(int)) <= {0, 1, 9}, a
        """,
        {"callback": "a.copy()"},
        {"callback": "a.tolist()"},
        {"callback": "a.__setitem__(0, 9)"},
        {"callback": "a.__setitem__(slice(None), 9)"},
        {"callback": "a.sort()"},
    )


def test_hooks_use_the_records_at_hand_and_nothing_is_lost_or_counted_wrong():
    attack(
        """
        for after, packed in ((0, False), (5, False), (0, True), (5, True)):
            s = records(T, packed)
            kept = []
            def work():
                kept.append(eval(callback))
            on = On(hook, work, after)
            outcome(operation)
            hostile.off()
            assert set(on.outcomes) <= {"works", "BorrowError"}, on.outcomes
            # A sort puts the cells that are vacant already in front.
            assert set(s["x"].astype(int)) <= {0, 1, 5, 9}, s
            kept = s = None
        """,
        *(
            {"hook": hook, "operation": operation, "callback": callback}
            for hook, operation in [
                ("clone", "s.copy()"),
                ("clone", "s[...] = s[::-1].copy()"),
                ("drop", "s[...] = s[::-1].copy()"),
                ("drop", "s['x'] = 5"),
                ("drop", "s.resize(3, refcheck=False)"),
                ("drop", "s[2] = s[1]"),
                ("to_float", "s['x'].astype(float)"),
                ("compare", "s['x'].sort()"),
            ]
            for callback in [
                "s['x'].__setitem__(0, 9)",
                "s['x'].__setitem__(slice(None), 9)",
                "s.copy()",
                "s['x'].sort()",
            ]
        ),
    )


# ---- views that stay ------------------------------------------------------------------------------


def test_a_view_that_safe_code_forgets_keeps_its_cells_for_ever():
    run(
        HELPERS
        + """
import os
import denizen_hostile
for T in [getattr(denizen_hostile, name) for name in denizen_hostile.types() if name != "Only"]:
    a, b = make(T), make(T, value=9)
    denizen_hostile.keep_reading(a)
    for work in (
        lambda: a.resize(20, refcheck=False),
        lambda: a.resize(2, refcheck=False),
        lambda: a.__setitem__(slice(None), 3),
        lambda: a.__setstate__(b.__reduce__()[2]),
    ):
        assert outcome(work) == "BorrowError", T
    assert a.astype(int).tolist() == [1] * 10
# Freed all the same, the arrays would be leaked and reported.
os._exit(0)
""",
        arrays=False,
    )
