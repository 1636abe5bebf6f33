"""Changed data: pickles and files that are cut off, changed, or claim what is not there.

NumPy and Python trust the code of a pickle, and so must who loads it: what is changed here are the
data in it. Each try is an error that says what is wrong, or a whole value."""

import io
import itertools
import os
import pickle
import pickletools
import random
import warnings

import numpy as np
import pytest
from support.kind import every_pickling

import denizen
from denizen import _runtime

#: What a reader of hostile data may raise: no SystemError.
CLEAR = (
    ValueError, TypeError, EOFError, pickle.UnpicklingError, KeyError, IndexError, ImportError,
    AttributeError, OverflowError, MemoryError, UnicodeError, denizen.VacantError, SyntaxError,
    LookupError, ZeroDivisionError, RuntimeError, OSError, AssertionError,
)  # fmt: skip
#: Changed copies of each thing.
TRIES = 6000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 300


def use(value):
    """Does with a value what shows that it is whole."""
    if isinstance(value, np.ndarray) and value.size < 10_000:
        value.copy()
        repr(value)
        value[...] = value[::-1] if value.ndim else value
    else:
        repr(value)


def load(data):
    """Whether the data are a value."""
    try:
        use(pickle.loads(data))
    except CLEAR:
        return False
    return True


def data_parts(pickled):
    """Where the texts, bytes and numbers of a pickle are; not its code."""
    places, operations = [], [*pickletools.genops(pickled), (None, None, len(pickled))]
    for (code, argument, start), (_, _, end) in itertools.pairwise(operations):
        if isinstance(argument, (str, bytes, int)) and "PUT" not in code.name:
            if not any(part in code.name for part in ("GET", "GLOBAL", "PROTO", "MEMO", "FRAME")):
                places.extend(range(start + 1, end))
    return places


def things(kind):
    a = kind.make()
    yield a.reshape(2, 4)
    yield a[3]


@every_pickling
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_that_are_cut_off_are_errors(kind, protocol):
    for thing in things(kind):
        data = pickle.dumps(thing, protocol)
        assert load(data)
        for end in range(len(data)):
            assert not load(data[:end])


@every_pickling
def test_pickles_with_changed_data_are_errors_or_values(kind):
    rng = random.Random(kind.name)
    for thing in things(kind):
        data = pickle.dumps(thing, 2)
        places = data_parts(data)
        outcomes = set()
        for _ in range(TRIES):
            changed = bytearray(data)
            for place in rng.choices(places, k=rng.choice([1, 1, 2, 4])):
                changed[place] = rng.randrange(256)
            outcomes.add(load(bytes(changed)))
        assert False in outcomes


@every_pickling
def test_elements_of_changed_bytes_are_errors_or_values(kind):
    reduced = kind.make()[0].__reduce__()
    function, arguments = reduced[0], reduced[1]
    if not isinstance(arguments[-1], bytes):
        pytest.skip("pickled as a Python object")
    rng = random.Random(kind.name)
    right = arguments[-1]
    wrong = [right[:end] for end in range(len(right))]
    wrong += [right + right, right + b"\0", b"", b"\xff" * 8, b"\xff" * 64, b"\0" * 100]
    for _ in range(TRIES):
        changed = bytearray(right)
        for _ in range(rng.choice([1, 2, 8])):
            if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        wrong += [bytes(changed), rng.randbytes(rng.randrange(80))]
    for data in wrong:
        try:
            use(function(*arguments[:-1], data))
        except CLEAR:
            pass
    for data in (None, 5, "text", [], bytearray(right)):
        with pytest.raises((TypeError, ValueError)):
            _runtime._scalar_from_bytes(kind.name, data)


@every_pickling
def test_states_that_do_not_fit_their_array_are_errors(kind):
    a = kind.make(3)
    elements = [a[0], a[1], a[2]]
    texts = kind.read(a)

    def state(shape, values, dtype=a.dtype, version=1, fortran=False):
        return (version, shape, dtype, fortran, values)

    wrong = [
        state((10,), elements),
        state((3,), elements[:2]),
        state((3,), []),
        state((3,), [*elements, elements[0]]),
        state((2, 2), elements),
        state((-1,), elements),
        state((2**40, 2**40), elements),
        state((2**62,), elements),
        state((3,), tuple(elements)),
        state((3,), b"x" * 3 * a.itemsize),
        state((3,), "x" * 3 * a.itemsize),
        state((3,), None),
        state((3,), [elements[0], object(), elements[2]]),
        state((3,), [object()] * 3),
        state((3,), [slice(1)] * 3),
        state(3.5, elements),
        state((3,), elements, dtype=None),
        state((3,), elements, version=9),
    ]
    for each in wrong:
        for size in (4, 0):
            target = kind.make(4)[:size].copy() if size == 0 else kind.make(4)
            with pytest.raises(CLEAR) as caught:
                target.__setstate__(each)
            assert type(caught.value) is not SystemError
            assert kind.read(target) == kind.read(kind.make(4))[:size]
            # What is left can be used and ends.
            try:
                use(target)
            except denizen.VacantError:
                assert kind.default is None
    target = kind.make(4)
    with pytest.raises(ValueError, match="items"):
        target.__setstate__(state((3,), elements))
    target = np.empty(0, kind.dtype)
    target.__setstate__(state((3,), elements))
    assert kind.read(target) == texts


@every_pickling
def test_names_of_no_type_are_errors(kind):
    module = kind.module
    for name in ("", ".", "x", f"{module}.", f"{module}.NoSuch", "no.such.Type", "\0", "os.path"):
        with pytest.raises((ImportError, KeyError, ValueError)):
            _runtime._dtype_of(name)
        with pytest.raises((ImportError, KeyError, ValueError)):
            _runtime._scalar_from_bytes(name, b"")
    with pytest.raises(TypeError):
        _runtime._dtype_of(None)
    data = pickle.dumps(kind.make(), 2)
    other = kind.name[:-1] + ("x" if kind.name[-1] != "x" else "y")
    assert not load(data.replace(kind.name.encode(), other.encode())) or "denizen." in kind.name


# The element type of another array: a list of its scalars.
@every_pickling
def test_elements_under_the_name_of_another_type_are_errors_or_values(kind, other):
    data = pickle.dumps(kind.make(), 2)
    name, wrong = kind.name.encode(), other.name.encode()
    changed = data.replace(bytes([len(name), 0, 0, 0]) + name, bytes([len(wrong), 0, 0, 0]) + wrong)
    load(changed)


@every_pickling
def test_files_that_are_cut_off_or_changed_are_errors(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, packed = io.BytesIO(), io.BytesIO()
        np.save(plain, kind.make(), allow_pickle=True)
        np.savez(packed, a=kind.make())

    def read(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = np.load(io.BytesIO(data), allow_pickle=True)
                use(loaded["a"] if isinstance(loaded, np.lib.npyio.NpzFile) else loaded)
            except Exception as error:  # NumPy's readers of headers and archives raise many kinds
                assert not isinstance(error, SystemError)
                return False
            return True

    rng = random.Random(kind.name)
    for file in (plain.getvalue(), packed.getvalue()):
        assert read(file)
        for end in range(0, len(file), 7):
            assert not read(file[:end])
        for _ in range(60):
            changed = bytearray(file)
            # The header of each file, and of the member.
            changed[rng.randrange(128)] = rng.randrange(256)
            read(bytes(changed))
    data = plain.getvalue()
    for wrong in (b"|O", b"|V8", b"<f8", b"|S8"):
        read(data.replace(b"|O", wrong))
    for shape in (b"(-1,)", b"(9**20,)", b"(8, 8)", b"(None,)", b"(2**62,)"):
        read(data.replace(b"(8,)" + b" " * (len(shape) - 4), shape))
