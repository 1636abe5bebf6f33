"""Arrays that go to another process and come back."""

import multiprocessing

import numpy as np


def come_back(kinds, method):
    """Sends arrays of all kinds to another process and takes what returns."""
    arrays = {name: kind.make() for name, kind in kinds.items() if kind.pickles}
    adding = {name: a for name, a in arrays.items() if kinds[name].adds}
    with multiprocessing.get_context(method).Pool(1) as pool:
        returned = pool.map(np.copy, arrays.values())
        sums = pool.starmap(np.add, [(a, a) for a in adding.values()])
    for (name, a), again in zip(arrays.items(), returned, strict=True):
        assert again.dtype is a.dtype and kinds[name].read(again) == kinds[name].read(a)
    for (name, a), total in zip(adding.items(), sums, strict=True):
        assert kinds[name].read(total) == kinds[name].read(a + a)
