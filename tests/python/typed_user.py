"""A user's script that the type checkers must accept; it is checked, and run by no test."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import denizen
from denizen import linalg

a: NDArray[Any] = np.array(["1/3", 2], dtype=denizen.Rational)
matrix: NDArray[Any] = a[:, np.newaxis] * a + np.eye(2, dtype=int)
solution: NDArray[Any] = linalg.solve(matrix, a)
fit = linalg.lstsq(matrix, a)
rank: int = fit.rank
coefficients: NDArray[Any] = fit.x

found: denizen.Inspection = denizen.inspect(a)
live: int = found.live
bits: tuple[bool, ...] = found.bitmap
names: list[str] = denizen.types()
count: int = denizen.stats()["denizen.Rational"]["live"]
where: str = denizen.owner(a) + denizen.handler_name()
handler: str | None = denizen.handler_name(a)
include: str = denizen.get_include() + denizen.get_cmake_dir() + denizen.__version__

try:
    with denizen.audit():
        del a
except denizen.LeakError as error:
    leaks: dict[str, int] = error.leaks
except (denizen.VacantError, denizen.BorrowError):
    pass

whole: int = denizen.Integer(3) + 4
half = denizen.Rational(1, 2)
top: int = half.numerator
