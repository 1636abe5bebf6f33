"""What the tests of types without copies share."""

import copy

import denizen_raw as raw
import numpy as np
import pytest

import denizen

#: Inline, tagged, boxed, and inline where zero bytes are the default.
KINDS = [raw.Single, raw.TaggedSingle, raw.BoxedSingle, raw.Slot]


each_kind = pytest.mark.parametrize("element", KINDS, ids=lambda element: element.__name__)


def filled(element, *numbers):
    a = np.zeros(len(numbers), dtype=element)
    for index, number in enumerate(numbers):
        a[index] = element(str(number))
    return a


def numbers(array):
    return [int(str(x)) for x in array.ravel()]


def live(element):
    return denizen.stats()[f"denizen_raw.{element.__name__}"]["live"]


def taken_over(*scalars):
    return [int(str(scalar)) for scalar in scalars]


COPIES = {
    "copy": lambda a, p: a.copy(),
    "deepcopy": lambda a, p: copy.deepcopy(a),
    "astype": lambda a, p: a.astype(a.dtype),
    "array": lambda a, p: np.array(a),
    "take": lambda a, p: a.take([0]),
    "fancy": lambda a, p: a[[0, 1]],
    "mask": lambda a, p: a[[True, True, False]],
    "flat slice": lambda a, p: a.flat[0:2],
    "flatten": lambda a, p: a.flatten(),
    "concatenate": lambda a, p: np.concatenate([a, a]),
    "append": lambda a, p: np.append(a, p),
    "insert": lambda a, p: np.insert(a, 0, p),
    "delete": lambda a, p: np.delete(a, 0),
    "where": lambda a, p: np.where([True, False, True], a, a),
    "repeat": lambda a, p: a.repeat(2),
    "tile": lambda a, p: np.tile(a, 2),
    "roll": lambda a, p: np.roll(a, 1),
    "np.sort": lambda a, p: np.sort(a),
    "strided sort": lambda a, p: a[::2].sort(),
    "strided argsort": lambda a, p: a[::2].argsort(),
    "slice": lambda a, p: a.__setitem__(slice(0, 1), a[1:2]),
    "vacant slice": lambda a, p: a.__setitem__(slice(0, 1), np.zeros(1, a.dtype)),
    "copyto": lambda a, p: np.copyto(a, np.zeros(3, a.dtype)),
    "fill": lambda a, p: a.fill(p),
    "full": lambda a, p: np.full(3, p),
    "broadcast": lambda a, p: a.__setitem__(slice(None), p),
    "broadcast list": lambda a, p: a.__setitem__(slice(None), [p]),
    "fancy put": lambda a, p: a.__setitem__([0], p),
    "mask put": lambda a, p: a.__setitem__([True, False, False], p),
    "put": lambda a, p: a.put([0], p),
    "place": lambda a, p: np.place(a, [True, False, True], p),
    "putmask": lambda a, p: np.putmask(a, [True, False, False], p),
    "choose": lambda a, p: np.choose([0, 0, 0], [a, a]),
    "flat": lambda a, p: setattr(a, "flat", p),
    "stack": lambda a, p: np.stack([a, a]),
    "array of 0-d": lambda a, p: a.__setitem__(0, np.array(p)),
    "copied dimension": lambda a, p: np.pad(a, 1),
    "reduce": lambda a, p: np.add.accumulate(a),
    "unique": lambda a, p: np.unique(a),
    "resize function": lambda a, p: np.resize(a, 5),
}
