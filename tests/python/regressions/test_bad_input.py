"""Bad input: a clear error, and nothing is lost."""

import numpy as np
import pytest
from support.kind import every, every_copyable

import denizen

#: Not a value of any type here.
WRONG = [object(), None, [], {}, 1 + 2j, slice(1), np.datetime64("2020"), TypeError]


@every_copyable
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_a_wrong_type_is_refused_and_the_array_keeps_its_values(kind, wrong):
    if type(wrong).__name__ in kind.takes:
        pytest.skip("a value of this type")
    a = kind.make()
    texts = kind.read(a)
    before = kind.stats()["live"]
    with pytest.raises((TypeError, ValueError)):
        a[2] = wrong
    with pytest.raises((TypeError, ValueError)):
        a[2:5] = [wrong, wrong, wrong]
    with pytest.raises((TypeError, ValueError)):
        a.fill(wrong)
    with pytest.raises((TypeError, ValueError)):
        np.array([a[0], wrong], dtype=kind.element)
    assert kind.read(a) == texts
    assert kind.stats()["live"] == before


@every_copyable
def test_elements_of_another_type_are_refused(kind, other):
    a, b = kind.make(), other.make()
    texts = kind.read(a)
    for work in (
        lambda: a.__setitem__(0, b[0]),
        lambda: a.__setitem__(slice(None), b),
        lambda: np.copyto(a, b, casting="unsafe"),
        lambda: np.concatenate([a, b]),
        lambda: np.add(a, b),
        lambda: np.less(a, b),
    ):
        with pytest.raises(TypeError):
            work()
    assert kind.read(a) == texts


@every(
    lambda kind: kind.pickles and kind.build is None and kind.plain is not str and kind.strict_text
)
@pytest.mark.parametrize(
    "text", ["no number", "", "1 2", "\N{SNOWMAN}", "5\0", "1e", "0x", "\udc80"]
)
def test_unparsable_text_is_a_value_error_that_names_the_type(kind, text):
    a = kind.make()
    texts = kind.read(a)
    with pytest.raises(ValueError) as caught:
        a[1] = text
    if text.isprintable():
        # What is no ASCII the bundled types leave to the Python types that their scalars are.
        names = {kind.name.split(".")[-1], "int()" if kind.plain is int else "Fraction"}
        assert any(name in str(caught.value) for name in {*names, repr(text)})
    with pytest.raises(ValueError):
        np.array([kind.sources[0], text], dtype=kind.element)
    with pytest.raises(ValueError):
        kind.element(text)
    if "\0" not in text and text.isprintable():
        with pytest.raises(ValueError):
            np.array([kind.sources[0], text]).astype(kind.element)
    assert kind.read(a) == texts


@every(lambda kind: kind.copyable and kind.build is None)
def test_what_comes_before_a_bad_value_is_assigned(kind):
    a = kind.make()
    texts = kind.read(a)
    with pytest.raises(TypeError):
        a[:3] = [texts[3], object(), texts[3]]
    assert kind.read(a) == [texts[3], *texts[1:]]


@every()
@pytest.mark.parametrize(
    "shape", [-1, 2**62, 2**63, 2**70, (2**40, 2**40), (2, -1), 2**50], ids=str
)
def test_shapes_that_overflow_are_refused(kind, shape):
    for make in (np.zeros, np.empty):
        with pytest.raises((ValueError, MemoryError, OverflowError)):
            make(shape, dtype=kind.element)
    a = np.zeros(3, dtype=kind.element)
    with pytest.raises((ValueError, MemoryError, OverflowError)):
        a.resize(shape, refcheck=False)
    assert denizen.handler_name(np.empty(2)) == "default_allocator"
    if kind.default is not None:
        assert kind.read(a) == [kind.default] * 3


@every_copyable
def test_counts_that_overflow_are_refused(kind):
    a = kind.make()
    texts = kind.read(a)
    for work in (
        lambda: a.repeat(2**60),
        lambda: np.tile(a, 2**60),
        lambda: np.broadcast_to(a, (2**50, 8)).copy(),
        lambda: np.resize(a, 2**60),
        lambda: np.pad(a, 2**60, mode="edge"),
    ):
        with pytest.raises((ValueError, MemoryError, OverflowError, TypeError)):
            work()
    assert kind.read(a) == texts
