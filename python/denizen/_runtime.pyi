from types import EllipsisType
from typing import Any, Literal, Self, final, overload

import numpy as np
from numpy.typing import NDArray

from ._scalars import Integer as Integer
from ._scalars import Rational as Rational

__all__ = [
    "_C_API",
    "BorrowError",
    "Integer",
    "IntegerDType",
    "IntegrityError",
    "Rational",
    "RationalDType",
    "VacantError",
    "_Indexed",
    "__version__",
    "_abi_layout",
    "_arming_works",
    "_audit_begin",
    "_audit_end",
    "_audit_ledger",
    "_dtype_of",
    "_end_fault",
    "_mem_handler",
    "_numpy_layout",
    "_numpy_patches",
    "_patch_placed",
    "_plan_fault",
    "_reorder",
    "_scalar_from_bytes",
    "_set_arming",
    "_set_integrity",
    "_while_read",
    "check_memory_raw",
    "handler",
    "handler_name",
    "inspect_raw",
    "owner",
    "stats",
    "types",
]
__version__: str

# The capsule that extension modules import their function table from.
_C_API: object

# NumPy's stubs make dtype final, which holds for users; its own StringDType breaks it too.
@final
class IntegerDType(np.dtype[Any]):  # type: ignore[misc]
    def __new__(cls) -> Self: ...

@final
class RationalDType(np.dtype[Any]):  # type: ignore[misc]
    def __new__(cls) -> Self: ...

class VacantError(ValueError): ...
class BorrowError(RuntimeError): ...
class IntegrityError(RuntimeError): ...

def types() -> list[str]: ...
def stats() -> dict[str, dict[str, int]]: ...
def owner(a: NDArray[Any]) -> str: ...
def check_memory_raw() -> list[dict[str, Any]]: ...
def inspect_raw(a: NDArray[Any]) -> dict[str, Any]: ...
@overload
def handler_name(a: None = None, /) -> str: ...
@overload
def handler_name(a: NDArray[Any], /) -> str | None: ...

@final
class handler:
    def __new__(cls, under: object | None = None) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> Literal[False]: ...

# Sizes, offsets, constants and table indices of the NumPy bindings, for their test.
def _numpy_layout() -> list[tuple[str, int]]: ...

# Offset (or size, or value) and size of everything in the C interface, for its test.
def _abi_layout() -> list[tuple[str, int, int]]: ...

# A base of the scalar classes that are written in Python, for its subscript.
class _Indexed:
    # The scalar itself for (), else an array.
    def __getitem__(
        self, index: EllipsisType | tuple[EllipsisType | None, ...] | None, /
    ) -> Any: ...

# The handler that arming enters, as a NEP 49 capsule.
_mem_handler: object

# Whether new arrays get managed segments, as probed at import; and the switch, for tests.
def _arming_works() -> bool: ...
def _set_arming(enabled: bool) -> None: ...

# The recorder of an audit, which runs from `begin` to `end`, and its ledger.
def _audit_begin(trace: bool, libraries: list[tuple[str, bool]]) -> int: ...
def _audit_ledger(number: int) -> dict[str, Any]: ...
def _audit_end(number: int) -> None: ...

# Switches the thorough checks of memory on or off; returns what was so before.
def _set_integrity(enabled: bool) -> bool: ...

# For sorts that NumPy does by copies of bytes: a call with the memory of arrays locked for reading,
# and items that move to where an order says.
def _while_read(arrays: list[Any], function: Any, /, *arguments: Any, **keywords: Any) -> Any: ...
def _reorder(array: NDArray[Any], order: NDArray[np.intp], axis: int) -> None: ...

# The rows of `_numpy_patches.Patch`; whether a patch was placed that is written in Python.
def _numpy_patches() -> list[list[str]]: ...
def _patch_placed(name: str, placed: bool) -> None: ...

# For pickle: the dtype of a type's full name, a scalar from the bytes of its codec.
def _dtype_of(name: str) -> np.dtype[Any]: ...
def _scalar_from_bytes(name: str, bytes: bytes) -> Any: ...

# Has one step of a kind fail after so many more, or only counts them; how many there were, and
# whether one failed. "element" needs DENIZEN_FAULTS=1 where denizen is imported.
def _plan_fault(
    kind: Literal["allocation", "heap", "element", "slot"], after: int | None
) -> None: ...
def _end_fault() -> tuple[int, bool]: ...
