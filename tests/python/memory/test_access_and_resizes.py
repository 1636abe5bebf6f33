"""Arrays that a hook resizes, or whose records it uses, in the middle of an operation."""

import pytest
from support.access import attack

pytestmark = pytest.mark.usefixtures("hostile")


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
