"""What the tests of casts share."""

import numpy as np

from denizen import Integer


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=object).astype(Integer)


def same(array: np.ndarray, values: list[object]) -> bool:
    return array.astype(object).tolist() == values
