"""What a type lacks is refused with the type's name and the operation; of names; of numbers."""

import operator
import pickle
import re

import numpy as np
import pytest
from support.kind import every, every_copyable

import denizen

#: Operations of an array and of the element type that a type may lack, and what the refusal says.
OPERATIONS = {
    "sort": (lambda a, t: np.sort(a), r"order"),
    "argsort": (lambda a, t: np.argsort(a), r"order"),
    "less": (lambda a, t: a < a, r"less"),
    "equal": (lambda a, t: a == a, r"equal"),
    "maximum": (lambda a, t: np.maximum(a, a), r"maximum"),
    "max": (lambda a, t: a.max(), r"maximum"),
    "add": (lambda a, t: a + a, r"add"),
    "sum": (lambda a, t: a.sum(), r"add"),
    "cumsum": (lambda a, t: a.cumsum(), r"add"),
    "subtract": (lambda a, t: a - a, r"subtract"),
    "multiply": (lambda a, t: a * a, r"multiply"),
    "divide": (lambda a, t: a / a[:1], r"divide"),
    "negative": (lambda a, t: -a, r"negative"),
    "absolute": (lambda a, t: abs(a), r"absolute"),
    "sqrt": (lambda a, t: np.sqrt(abs(a)), r"sqrt|absolute"),
    "matmul": (lambda a, t: a @ a, r"matmul"),
    "truth": (lambda a, t: np.count_nonzero(a), r"truth"),
    "hash": (lambda a, t: hash(a[0]), r"unhashable"),
    "pickle": (lambda a, t: pickle.dumps(a), r"pickle"),
    "pickle of a scalar": (lambda a, t: pickle.dumps(a[0]), r"pickle"),
    "to text": (lambda a, t: a.astype("U200"), r"cast"),
    "to numbers": (lambda a, t: a.astype(np.float64), r"cast"),
    "from numbers": (lambda a, t: np.arange(3).astype(t), r"cast"),
    "default": (lambda a, t: np.zeros(2, t)[1], r"default"),
    "unfilled": (lambda a, t: np.empty(2, t).tolist(), r"default"),
}  # fmt: skip


def names_of(kind):
    return "|".join({kind.name, f"{kind.name}DType", kind.name.split(".")[-1]}).replace(".", r"\.")


@pytest.mark.regression("T16", "T34", "T35")
@every_copyable
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_a_type_lacks_is_refused_by_its_name(kind, name):
    operation, says = OPERATIONS[name]
    a = kind.make()
    if name == "divide" and kind.plain is not None and not kind.plains(a[:1])[0]:
        a[0] = a[1]
    texts = kind.read(a)
    try:
        operation(a, kind.element)
    except (TypeError, denizen.VacantError) as error:
        lacks = isinstance(error, denizen.VacantError) or name != "default"
        assert lacks and re.search(says, str(error)), error
        assert re.search(names_of(kind), str(error)), error
        # What the tests know of the type.
        assert not (kind.ordered and name in ("sort", "argsort", "less", "maximum", "max"))
        assert not (kind.pickles and name.startswith("pickle"))
        assert not (kind.adds and name in ("add", "cumsum"))
        assert kind.default is None or name not in ("default", "unfilled")
    except (ValueError, OverflowError, RuntimeError) as error:
        # Operations that the type has, of values that they do not take.
        assert not isinstance(error, denizen.VacantError) and str(error)
    assert kind.read(a) == texts


# What only moves is never copied.
@pytest.mark.regression("T34")
@every(lambda kind: not kind.copyable)
def test_what_only_moves_is_moved_or_refused(kind):
    a = kind.make()
    texts = kind.read(a)
    live = kind.stats()["live"]
    for operation in (
        lambda: a.copy(),
        lambda: a.take([0, 1]),
        lambda: a[[0, 1]],
        lambda: a[np.arange(8) > 3],
        lambda: a.repeat(2),
        lambda: np.tile(a, 2),
        lambda: np.where(np.arange(8) > 3, a, a),
        lambda: np.concatenate([a, a]),
        lambda: np.full(3, a[0]),
        lambda: a.__setitem__(1, a[0]),
        lambda: a.__setitem__(slice(0, 2), a[2:4]),
        lambda: np.copyto(a[:2], a[2:4]),
        lambda: a.reshape(2, 4).flatten(),
        lambda: np.sort(a),
        lambda: np.roll(a, 1),
        lambda: np.unique(a),
    ):
        with pytest.raises(TypeError, match="copied|copyable"):
            operation()
    assert kind.read(a) == texts and kind.stats()["live"] == live
    a.sort()
    assert sorted(kind.read(a)) == sorted(texts)
    first = a[0]
    assert a[0] is first and kind.text_of(first) == kind.read(a)[0]
    a.resize(20, refcheck=False)
    assert kind.read(a) == [*kind.read(a)[:8], *[kind.default] * 12]
    a.resize(6, refcheck=False)
    np.random.default_rng(3).shuffle(a)
    assert len(set(kind.read(a)) & set(texts)) == len(set(kind.read(a)))


@pytest.mark.regression("T17", "moble/quaternion#116")
@every_copyable
def test_elements_and_floats_do_not_pass_for_each_other(kind):
    a, floats = kind.make(), np.zeros(3)
    texts = kind.read(a)
    try:
        floats[0] = a[0]
    except (TypeError, ValueError, OverflowError):
        assert floats.tolist() == [0, 0, 0]
    else:
        assert hasattr(a[0], "__float__") and floats[0] == float(a[0])
    for wrong in (object(), [a[0], object(), a[0]]):
        with pytest.raises((TypeError, ValueError)):
            a[0] = wrong
    assert kind.read(a) == texts
    with pytest.raises((TypeError, ValueError)):
        a[:3] = [a[3], object(), a[3]]
    # What comes before a bad value may be assigned, what comes after it is not.
    assert kind.read(a)[0] in (texts[0], texts[3]) and kind.read(a)[1:] == texts[1:]


@pytest.mark.regression("T18", "stack-of-tasks/eigenpy#519")
@every()
def test_arrays_of_numbers_are_made_or_refused(kind):
    for make in (
        lambda t: np.ones(3, t),
        lambda t: np.arange(5, dtype=t),
        lambda t: np.linspace(0, 1, 3, dtype=t),
        lambda t: np.eye(2, dtype=t),
        lambda t: np.full(3, 1, t),
        lambda t: np.identity(3, t),
        lambda t: np.logspace(0, 2, 3, dtype=t),
        lambda t: np.tri(3, dtype=t),
        lambda t: np.ones_like(np.zeros(2, t)),
    ):
        try:
            result = make(kind.element)
        except (TypeError, ValueError, OverflowError):
            continue
        assert result.dtype == kind.dtype and result.size in (2, 3, 4, 5, 9)
        if kind.default is not None:
            assert len(kind.read(result)) == result.size


@pytest.mark.regression("T46", "numpy/numpy#22900")
@every()
def test_names_of_dtypes_are_sane(kind):
    dtype = kind.dtype
    assert kind.name in repr(dtype) + str(dtype) and "." in kind.name
    for text in (dtype.name, dtype.kind, dtype.char, dtype.str, repr(dtype), str(dtype)):
        assert isinstance(text, str) and text.isprintable()
    assert kind.name.split(".")[-1] in dtype.name
    assert isinstance(hash(dtype), int) and dtype == np.dtype(kind.element)
    assert {dtype: 1}[kind.dtype] == 1
    assert dtype != np.dtype(float) and dtype != np.dtype(object)
    assert dtype.type is kind.element and isinstance(dtype, np.dtype)
    assert issubclass(type(dtype), np.dtype) and not dtype.isbuiltin > 2
    for abstract in (np.floating, np.integer, np.flexible, np.character):
        assert np.issubdtype(dtype, abstract) in (True, False)
    assert operator.not_(dtype.hasobject) in (True, False)
    array = np.zeros(3, dtype)
    assert kind.name in str(array.dtype) and array.itemsize == dtype.itemsize
    assert np.result_type(dtype, dtype) == np.promote_types(dtype, dtype) == dtype
    assert np.can_cast(dtype, dtype, "no")
    if kind.default is not None and kind.copyable:
        assert kind.name.split(".")[-1] in repr(array)
