"""Random operations on elements that only move, beside a model of Python objects."""

import denizen_raw as raw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.moving import COPIES, each_kind

# Against a model


class Model:
    """Who owns what: cells and scalars by name, each a number or a place."""

    def __init__(self, element):
        self.element = element
        #: Arrays, and what their cells hold.
        self.arrays, self.cells = {}, {}
        #: Scalars; a number they own, or (array, index) that they show.
        self.scalars, self.state = {}, {}
        self.count = 0

    def shower(self, place):
        return next((name for name, state in self.state.items() if state == place), None)

    def leave(self, place):
        """The cell goes or is filled anew."""
        if (name := self.shower(place)) is not None:
            self.state[name] = self.cells[place[0]][place[1]]

    def value(self, name):
        state = self.state[name]
        return self.cells[state[0]][state[1]] if isinstance(state, tuple) else state

    def new_array(self, size):
        self.count += 1
        self.arrays[self.count] = np.zeros(size, dtype=self.element)
        self.cells[self.count] = [0] * size

    def new_scalar(self, number):
        self.count += 1
        self.scalars[self.count] = self.element(str(number))
        self.state[self.count] = number

    def put(self, scalar, array, index):
        place, state = (array, index), self.state[scalar]
        if isinstance(state, tuple) and state != place:
            with pytest.raises(TypeError):
                self.arrays[array][index] = self.scalars[scalar]
            return
        self.arrays[array][index] = self.scalars[scalar]
        if state != place:
            self.leave(place)
            self.cells[array][index], self.state[scalar] = state, place

    def write(self, number, array, index):
        self.arrays[array][index] = str(number)
        self.leave((array, index))
        self.cells[array][index] = number

    def read(self, array, index):
        known = self.shower((array, index))
        found = self.arrays[array][index]
        if known is not None:
            assert found is self.scalars[known]
        else:
            self.count += 1
            self.scalars[self.count], self.state[self.count] = found, (array, index)

    def sort(self, array):
        self.arrays[array].sort()
        self.cells[array].sort()

    def resize(self, array, size):
        for index in range(size, len(self.cells[array])):
            self.leave((array, index))
        self.arrays[array].resize(size, refcheck=False)
        self.cells[array] = (self.cells[array] + [0] * size)[:size]

    def copy(self, array, scalar):
        for operation in ("fill", "append", "fancy put", "full", "broadcast list"):
            with pytest.raises(TypeError):
                COPIES[operation](self.arrays[array], self.scalars[scalar])

    def drop_array(self, array):
        for index in range(len(self.cells[array])):
            self.leave((array, index))
        del self.arrays[array], self.cells[array]

    def drop_scalar(self, scalar):
        del self.scalars[scalar], self.state[scalar]

    def check(self):
        for name, array in self.arrays.items():
            assert [int(number) for number in array.astype("U20")] == self.cells[name]
        for name, scalar in self.scalars.items():
            assert int(str(scalar)) == self.value(name)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "array",
                "scalar",
                "put",
                "put",
                "put",
                "write",
                "read",
                "read",
                "sort",
                "resize",
                "copy",
                "drop array",
                "drop scalar",
            ]
        ),
        st.integers(0, 1000),
        st.integers(0, 1000),
        st.integers(0, 9),
    ),
    min_size=20,
    max_size=60,
)


@each_kind
@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_random_operations_agree_with_a_model(element, steps):
    before = raw.singles()
    model = Model(element)
    model.new_array(3)
    model.new_scalar(7)
    for step, first, second, number in steps:
        arrays, scalars = list(model.arrays), list(model.scalars)
        array = arrays[first % len(arrays)] if arrays else None
        scalar = scalars[second % len(scalars)] if scalars else None
        size = len(model.cells[array]) if array else 0
        if step == "array":
            model.new_array(1 + number)
        elif step == "scalar":
            model.new_scalar(number)
        elif step == "drop array" and array:
            model.drop_array(array)
        elif step == "drop scalar" and scalar:
            model.drop_scalar(scalar)
        elif step == "sort" and array:
            model.sort(array)
        elif step == "resize" and array:
            model.resize(array, 1 + number * (1 if second % 3 else 700))
        elif step == "put" and size and scalar:
            model.put(scalar, array, second % size)
        elif step == "write" and size:
            model.write(number, array, second % size)
        elif step == "read" and size:
            model.read(array, second % size)
        elif step == "copy" and size > 2 and scalar:
            model.copy(array, scalar) if isinstance(model.state[scalar], int) else None
        model.check()
    del model
    assert raw.singles() == before
