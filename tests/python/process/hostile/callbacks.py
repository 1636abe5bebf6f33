"""What a hook, or another thread, does with the array at hand."""

import copy
import gc
import os
import pickle
import signal
import sys
import time

import numpy as np

import denizen

CALLBACKS = {}
#: Those that free the cells or move them elsewhere: NumPy itself has pointers to the cells where it
#: is in the middle of an operation of several steps, and views keep theirs.
FREEING = {"resize", "shrink", "set state"}
#: Those that only make sense where the operation runs.
UNTHREADED = {"drop", "fork", *FREEING}


def callback(name):
    def add(work):
        CALLBACKS[name] = work
        return work

    return add


@callback("read")
def read(hand, x):
    str(x.flat[0])
    x.copy()


@callback("read all")
def read_all(hand, x):
    x.tolist()
    np.equal(x, x)


@callback("write")
def write(hand, x):
    x[...] = hand.values[3]


@callback("write one")
def write_one(hand, x):
    x.flat[0] = 12


@callback("write slice")
def write_slice(hand, x):
    x[1:3] = hand.values[5]


@callback("write numbers")
def write_numbers(hand, x):
    x[...] = np.arange(x.size).reshape(x.shape)


@callback("clear")
def clear(hand, x):
    x[...] = np.zeros(x.shape, dtype=x.dtype)


@callback("reverse")
def reverse(hand, x):
    x[...] = x[::-1]


@callback("add")
def add(hand, x):
    np.add(x, x, out=x)


@callback("sort")
def sort(hand, x):
    x.sort()


@callback("argsort")
def argsort(hand, x):
    x.argsort()
    x.argmax()


@callback("resize")
def resize(hand, x):
    x.resize(x.size + 30, refcheck=False)


@callback("shrink")
def shrink(hand, x):
    x.resize(2, refcheck=False)


@callback("pickle")
def pickle_it(hand, x):
    pickle.loads(pickle.dumps(x))


@callback("deepcopy")
def deepcopy(hand, x):
    copy.deepcopy(x)


@callback("set state")
def set_state(hand, x):
    version, _, dtype, fortran, _ = x.__reduce__()[2]
    x.__setstate__((version, x.shape, dtype, fortran, [hand.values[1]] * x.size))


@callback("cast")
def cast(hand, x):
    x.astype(float)
    x.astype(object)


@callback("view to read")
def view_to_read(hand, x):
    hand.module.while_reading(x, lambda: hand.quietly(write, x))


@callback("view to write")
def view_to_write(hand, x):
    hand.module.while_writing(x, lambda: hand.quietly(write, x), 7)


@callback("keep a view to read")
def keep_to_read(hand, x):
    if hasattr(hand.module, "keep_view"):
        hand.module.keep_view(x, False)


@callback("keep a view to write")
def keep_to_write(hand, x):
    if hasattr(hand.module, "keep_view"):
        hand.module.keep_view(x, True)


@callback("scalars")
def scalars(hand, x):
    hand.kept.append([x.flat[0], x.flat[x.size - 1]])
    hash(x.flat[0])


@callback("inspect")
def inspect(hand, x):
    denizen.inspect(x)
    denizen.owner(x)


@callback("stats")
def stats(hand, x):
    denizen.stats()


@callback("drop")
def drop(hand, x):
    hand.drop()


@callback("collect")
def collect(hand, x):
    gc.collect(0)


@callback("audit")
def audit(hand, x):
    with denizen.audit():
        kept = x.copy()
    del kept


@callback("handler")
def handler(hand, x):
    with denizen.handler():
        np.add(np.zeros(x.shape), 1)
        x.copy()


@callback("fork")
def fork(hand, x):
    """A child that goes on in the middle of the operation, after it has tried to write."""
    if hand.is_child or hand.children:
        return
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        hand.is_child = True
        hand.quietly(write, x)
        hand.quietly(read, x)
    else:
        hand.children.append(child)


@callback("yield")
def let_others_run(hand, x):
    time.sleep(0)


def let_others_run_alone():
    """The same for a hook beside another thread."""
    time.sleep(0)
