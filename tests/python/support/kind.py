"""What a test knows about an element type: how its values are made and read.

A `Kind` makes arrays of eight different values where the type has so many, through its own text,
conversions or casts. `read` gives the values as text, `plain` turns one text into the Python value
that a model computes with.
"""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import denizen


@dataclass(frozen=True)
class Kind:
    element: Any
    #: What `make` starts from: texts, Python objects or numbers.
    sources: tuple
    #: Text of a cell in which nothing was built; None where reading one is an error.
    default: str | None = None
    #: How sources become an array.
    build: Callable[[Any, tuple], np.ndarray] | None = None
    #: NumPy type that the type is cast from and to.
    number: Any = None
    #: The Python value of a text, for types that add.
    plain: Callable[[str], Any] | None = None
    ordered: bool = False
    pickles: bool = False
    #: Text through this cast, where the type has no text of its own.
    text_cast: Any = None
    #: Whether no value of `sources` has a cell of zero bytes, which would not count as live.
    zero_counts: bool = True
    copyable: bool = True
    #: How one element is written.
    text_of: Callable[[Any], str] = str
    #: Whether text that is no value is refused.
    strict_text: bool = True
    #: Whether the scalar class is denizen's (or Python's), not one of a binding library.
    own_scalar: bool = True
    #: Ways in which comparisons can be told to answer nonsense, and what tells them (`"well"`: not).
    nonsense: tuple[str, ...] = ()
    misbehave: Callable[[str], None] | None = None
    #: What makes a comparison fail after some; a negative number: never.
    fail_after: Callable[[int], object] | None = None
    #: Names of the Python types that the tests hold for wrong, and that this type takes.
    takes: tuple[str, ...] = ()

    @property
    def name(self):
        return str(np.dtype(self.element))

    @property
    def adds(self):
        return self.plain is not None and self.default is not None and self.copyable

    @property
    def has_text(self):
        return self.text_cast is None and self.text_of is str

    @property
    def dtype(self):
        return np.dtype(self.element)

    @property
    def module(self):
        return self.name.rpartition(".")[0]

    def make(self, count=8):
        sources = tuple(self.sources[i % len(self.sources)] for i in range(count))
        if self.build is None:
            return np.array(sources, dtype=self.element)
        return self.build(self.element, sources)

    def read(self, array):
        """Values as texts, in the order of C."""
        flat = np.asarray(array).ravel()
        if self.text_cast is not None:
            return [str(x) for x in flat.astype(self.text_cast)]
        return [self.text_of(flat[i]) for i in range(len(flat))]

    def texts(self, array):
        """The same values as an array of Python strings, for NumPy to do the same with."""
        out = np.empty(np.shape(array), dtype=object)
        out.ravel()[:] = self.read(array)
        return out

    def plains(self, array):
        return [self.plain(text) for text in self.read(array)]

    def sums(self, left, right):
        """The model's `left + right`, as a list of plain values."""
        plain = np.vectorize(self.plain, otypes=[object])
        left, right = np.broadcast_arrays(self.texts(left), self.texts(right))
        return np.ravel(plain(left) + plain(right)).tolist() if left.size else []

    def stats(self):
        return denizen.stats()[self.name]

    def counted(self, work):
        """What `work` returns, and how many objects it constructed, destroyed, and left alive."""
        gc.collect()
        before = self.stats()
        result = work()
        gc.collect()
        after = self.stats()
        return result, {
            key: after[key] - before[key] for key in ("constructed", "destroyed", "live")
        }


def every(which=lambda kind: True):
    """Runs a test once for each kind that is `which`: of the typical ones, or with `--all-types` of all."""
    return pytest.mark.kinds(which)


every_copyable = every(lambda kind: kind.copyable)
every_default = every(lambda kind: kind.copyable and kind.default is not None)
every_adding = every(lambda kind: kind.adds)
every_number = every(lambda kind: kind.number is not None)
every_pickling = every(lambda kind: kind.pickles)
every_ordered = every(lambda kind: kind.ordered)
#: Types that take lists of texts.
every_text = every(lambda kind: kind.pickles and kind.build is None)


def generate(metafunc, kinds, typical=None):
    """For the hook `pytest_generate_tests`: the kinds of a test that is marked by `every`, of those the
    `typical` ones, if any is given; one at least."""
    mark = metafunc.definition.get_closest_marker("kinds")
    if mark is None:
        # A test may call a parameter of its own `other`.
        return
    chosen = {name: kind for name, kind in kinds.items() if mark.args[0](kind)}
    if typical is not None:
        chosen = {name: chosen[name] for name in chosen if name in typical} or dict(
            list(chosen.items())[:1]
        )
    metafunc.parametrize("kind", chosen.values(), ids=list(chosen))
    if "other" in metafunc.fixturenames:
        metafunc.parametrize("other", [kinds], indirect=True, ids=[""])


@pytest.fixture
def other(request, kind):
    """A kind that is not `kind`, and no number or text."""
    return next(
        each
        for each in request.param.values()
        if each is not kind and each.plain is None and each.number is None and each.copyable
    )


def item_by_item(element, sources):
    array = np.empty(len(sources), dtype=element)
    for index, source in enumerate(sources):
        array[index] = source
    return array
