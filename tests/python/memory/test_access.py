"""Who may touch a cell, and when: what was once seen to crash, to show a client an object that changed, or to count wrong."""

import pytest
from support.access import HELPERS, attack
from support.process import run

pytestmark = pytest.mark.usefixtures("hostile")


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
