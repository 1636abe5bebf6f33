"""What the threads share, and what each of them works with."""

import random
from typing import Any

import numpy as np

import denizen

from .subjects import Array, Subject

#: NumPy keeps the GIL for fewer than 500 elements.
SIZES = (3, 64, 600, 1000, 3000)


class Pool:
    """The arrays that all threads share. A list's items are replaced, never its length."""

    def __init__(self, subject: Subject, rng: random.Random) -> None:
        self.subject = subject
        self.bases: list[Array] = []
        self.holders: list[Array] = []
        self.graves: list[Any] = []
        #: Read by all, written by none: what a forked child may look at.
        self.quiet = subject.make(rng, 2000)
        for index in range(6):
            self.bases.append(self.fresh(rng, index))
            self.holders.append(subject.make(rng, 700))

    def fresh(self, rng: random.Random, index: int) -> Array:
        """A new array of an even number of elements: of an owner's memory, or of NumPy's."""
        size = rng.choice((600, 1200, 4200))
        if self.subject.adopt is not None and index % 3 == 0:
            return self.subject.adopt([rng.choice(self.subject.sources) for _ in range(size)])
        return self.subject.make(rng, size)

    def check(self) -> None:
        """Every value of every array."""
        for array in [*self.bases, *self.holders, self.quiet]:
            self.subject.check(array.tolist())
            assert denizen.inspect(array).cells >= len(array)

    def clear(self) -> None:
        self.bases.clear()
        self.holders.clear()
        self.graves.clear()
        self.quiet = np.empty(0)


class Hand:
    """What an operation works with: chance, and arrays."""

    def __init__(self, pool: Pool, rng: random.Random) -> None:
        self.pool, self.rng, self.subject = pool, rng, pool.subject

    def base(self) -> Array:
        return self.rng.choice(self.pool.bases)

    def view(self) -> Array:
        """One-dimensional, of a shared array; of several threads' views many overlap."""
        a, rng = self.base(), self.rng
        start = rng.randrange(len(a) // 2)
        stop = rng.randrange(start + 1, len(a) + 1)
        return rng.choice(
            (a, a[::-1], a[start:stop], a[start:stop][::-1], a[start::2], a[stop:start:-3], a[:600])
        )

    def pair(self) -> tuple[Array, Array]:
        """Two views of one length: of one array, shifted or reversed, or of two."""
        rng, x = self.rng, self.base()
        y = x if rng.random() < 0.6 else self.base()
        size = rng.choice((10, 500, min(len(x), len(y)) - 7))
        at, other = rng.randrange(7), rng.randrange(7)
        y = y[other : other + size]
        return x[at : at + size], (y if rng.random() < 0.5 else y[::-1])

    def own(self, count: int | None = None) -> Array:
        return self.subject.make(self.rng, count or self.rng.choice(SIZES))

    def source(self) -> Any:
        return self.rng.choice(self.subject.sources)

    def indices(self, a: Array) -> Any:
        count = self.rng.choice((1, 20, 700))
        return np.array([self.rng.randrange(-len(a), len(a)) for _ in range(count)])

    def mask(self, a: Array) -> Any:
        return np.arange(len(a)) % self.rng.randrange(2, 9) == 0

    def look(self, result: Array) -> None:
        """Checks some values of what belongs to this thread."""
        flat = result.ravel() if result.ndim != 1 else result
        start = self.rng.randrange(len(flat)) if len(flat) else 0
        self.subject.check(flat[start : start + 24].tolist())
