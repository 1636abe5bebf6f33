"""The operations of `denizen check` that the failure tests repeat with each element failing: some of
every section, such as keep the second operand and make no more elements than it takes to see.
"""

from types import SimpleNamespace

import numpy as np

from denizen.check.operations import tables
from denizen.check.subject import Subject

N = 10
SOURCE = [5, -3, 17, 2, 40, 11, -8, 9, 1, 6]

#: Sections and names, as `denizen check --list` shows them.
TITLES = """
creation: ndarray.copy
creation: np.full
creation: np.array of texts
creation: np.array of scalars
creation: np.array of numbers
creation: np.fromiter without a count
assignment: ndarray.fill
assignment: fill a half-built array
assignment: assign an array
assignment: assign to a half-built array
assignment: assign one element
assignment: assign texts
assignment: assign numbers
assignment: assign a list of scalars
assignment: np.copyto with where
assignment: assign flat
assignment: assign into flat
overlap: assign shifted up
overlap: assign reversed
overlap: put from itself
overlap: putmask from itself
overlap: add reversed
overlap: add to itself
overlap: accumulate in place
indexing: fancy get
indexing: fancy get of pairs
indexing: fancy set
indexing: mask get
indexing: mask set
indexing: tolist of a half-built array
selection: take
selection: take of a half-built array
selection: put into a half-built array
selection: put into a view
selection: putmask
selection: putmask of a view
selection: place into a half-built array
selection: choose
selection: where with three arguments
selection: repeat
selection: tile
selection: delete many
selection: insert many
selection: roll
joining: concatenate half-built arrays
views: flat
resizing: to more
resizing: to fewer
resizing: np.resize
ufuncs: add
ufuncs: add of numbers
ufuncs: with out=
ufuncs: with where
ufuncs: in small buffers
ufuncs: that broadcasts
ufuncs: equal
ufuncs: less
reductions: add.at
reductions: add.outer
reductions: sum
reductions: sum over an axis
reductions: sum of a half-built array
reductions: cumsum
reductions: max and min
sorting and searching: sort with kind='quicksort'
sorting and searching: sort of a half-built array
sorting and searching: sort of columns
sorting and searching: argsort
sorting and searching: argmax and argmin
sorting and searching: searchsorted
sets: unique
casting: to int64
casting: from int64
casting: to text of a width
casting: from text
casting: to objects of a half-built array
casting: from objects
iteration: nditer that writes back in buffers of 3
printing: repr
persistence: pickle protocol 5
random: Generator.shuffle
structured dtypes: fields of packed records
structured dtypes: arithmetic of a field
""".strip().splitlines()

#: Operations that move what is in `a` around, so that a failure may leave any order.
REORDERS = {
    "sorting and searching: sort with kind='quicksort'",
    "random: Generator.shuffle",
}


class Given(Subject):
    """A subject over arrays that the test keeps, for the state they are in afterwards."""

    def __init__(self, a, b, h):
        super().__init__(SimpleNamespace(dtype=a.dtype, abilities={"copy", "default"}))
        self.a, self.b, self.h = a, b, h
        self.m = np.concatenate([a, b]).reshape(4, 5)
        self._values = [*a, *b]


def runner(operation):
    return lambda a, b, h: operation.run(Given(a, b, h))


_ALL = {operation.title: operation for table in tables() for operation in table}
OPERATIONS = {title: runner(_ALL[title]) for title in TITLES}
