"""Ways into memory that are refused, where NumPy converts, counts or asks twice what may say something
else the second time."""

import copy
import gc
import pickle

import numpy as np
import pytest
from process import run

import denizen

raw = pytest.importorskip("denizen_raw")
hostile = pytest.importorskip("denizen_hostile")
Integer = denizen.Integer
BIG = 2**100
RECORD = np.dtype([("x", Integer), ("n", "i8")])
BYTES = b"\x41" * 48


def live():
    gc.collect()
    return denizen.stats()["denizen.Integer"]["live"]


def integers(count):
    return np.arange(count).astype(Integer) + BIG


class Calling:
    """A number that does something first."""

    def __init__(self, number, work):
        self.number, self.work = number, work

    def __index__(self):
        self.work()
        return self.number


# ---- another state for an array that is in use ---------------------------------------------------


class Finalizing(np.ndarray):
    state = None

    def __array_finalize__(self, other):
        if Finalizing.state is not None and self.size == 1000:
            self.__setstate__(Finalizing.state)


def test_a_flat_iterator_keeps_its_array():
    r = integers(1000)
    it = r.flat
    with pytest.raises(ValueError, match="has 1000 items"):
        r.__setstate__(integers(1).__reduce__()[2])
    assert len(it) == 1000 and it[999] == BIG + 999
    it[999] = 3
    assert r[999] == 3


def test_functions_that_are_at_work_keep_their_array():
    small = np.zeros(3, Integer).__reduce__()[2]
    r = integers(1000)
    seen = []

    class Values:
        def __array__(self, *given, **named):
            with pytest.raises((ValueError, denizen.BorrowError), match="take"):
                r.__setstate__(small)
            seen.append(r.size)
            return np.array([BIG] * 10, dtype=Integer)

    np.putmask(r, np.ones(1000, bool), Values())
    assert seen == [1000] and set(r.tolist()) == {BIG}
    r.put(range(1000), Values())
    assert seen == [1000] * 2 and r.size == 1000


@pytest.mark.parametrize("work", ["take", "repeat"])
def test_a_subclass_sets_no_state_where_numpy_counted_the_items(work):
    r = integers(1000).view(Finalizing)
    Finalizing.state = np.zeros(3, Integer).__reduce__()[2]
    try:
        with pytest.raises((ValueError, denizen.BorrowError), match="take"):
            r.take(np.arange(1000)) if work == "take" else r.repeat(1)
    finally:
        Finalizing.state = None
    assert r.tolist() == integers(1000).tolist()


def test_a_number_of_a_state_gives_the_array_no_other_state_below_numpy():
    elements = integers(1000).__reduce__()[2]
    plain = np.arange(3.0).__reduce__()[2]
    for place in (0, 1, 3):
        a, kept = np.zeros(0), []

        def give(a=a, kept=kept):
            if not kept:
                a.__setstate__(elements)
                kept.append(a.flat)

        state = list(plain)
        state[place] = (Calling(3, give),) if place == 1 else Calling(int(state[place]), give)
        for form in (tuple, list):
            with pytest.raises(ValueError, match="has 1000 items"):
                a.__setstate__(form(state))
        assert kept[0][999] == BIG + 999 and a.tolist() == integers(1000).tolist()
