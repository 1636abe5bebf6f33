"""Ways of NumPy's to select elements of an array of eight, all of which make copies."""

import numpy as np

SELECTIONS = {
    "take": lambda x: x.take([0, 3, 3, 5]),
    "take of rows": lambda x: x.reshape(4, 2).take([3, 0, 3], axis=0),
    "repeat": lambda x: x.repeat(3),
    "tile": lambda x: np.tile(x, 2),
    "roll": lambda x: np.roll(x, 3),
    "where": lambda x: np.where(np.arange(len(x)) % 2 == 0, x, x[::-1]),
    "choose": lambda x: np.choose(np.arange(len(x)) % 2, [x, x[::-1]]),
    "compress": lambda x: x.compress(np.arange(len(x)) % 3 != 0),
    "delete": lambda x: np.delete(x, [1, 2]),
    "insert": lambda x: np.insert(x, 2, x[:2]),
    "pad": lambda x: np.pad(x, 2, mode="edge"),
    "flatten": lambda x: x.reshape(2, -1).T.flatten(),
    "fancy": lambda x: x[[1, 1, 0]],
    "fancy 2-d": lambda x: x.reshape(2, 4)[[1, 0], [2, 2]],
    "mask": lambda x: x[np.arange(len(x)) > 2],
    "concatenate": lambda x: np.concatenate([x, x[:3]]),
    "stack": lambda x: np.stack([x, x], axis=1),
    "append": lambda x: np.append(x, x[:1]),
    "flip": lambda x: np.flip(x).copy(),
    "broadcast": lambda x: np.broadcast_to(x, (3, len(x))).copy(),
    "block": lambda x: np.block([[x[:2], x[2:4]], [x[4:6], x[6:8]]]),
    "rot90": lambda x: np.rot90(x.reshape(2, 4)).copy(),
    "split": lambda x: np.concatenate(np.array_split(x, 3)[::-1]),
    "ravel": lambda x: x.reshape(2, 4).T.ravel(),
    "copy in Fortran's order": lambda x: x.reshape(2, 2, 2).copy(order="F"),
    "take_along_axis": lambda x: np.take_along_axis(x, np.arange(8)[::-1], axis=0),
    "extract": lambda x: np.extract(np.arange(len(x)) % 2 == 1, x),
    "select": lambda x: np.select([np.arange(8) < 3, np.arange(8) > 4], [x, x[::-1]], x[0]),
}
