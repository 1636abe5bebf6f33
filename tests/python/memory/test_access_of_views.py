"""Who may touch cells that a view lends, and when."""

import pytest
from support.access import HELPERS, attack
from support.process import run

pytestmark = pytest.mark.usefixtures("hostile")


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


# ---- views that stay ------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", ["denizen_hostile"], indirect=True)
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
