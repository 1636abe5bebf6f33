"""Patches of functions that NumPy has in Python, and what stands in the place of its sorts.

The runtime has the others, and the table of all: `patches`, and `denizen info --patches`.

`ndarray.mean`, `var` and `std` add up in the dtype of the elements, divide, and put the quotients
where the sums were. For a type whose quotients are of another type (`Integer / Integer` is a
`Rational`) that would round, or fail. So they get an array of that type: the function through which
they take their operand is replaced. `std` is the `sqrt` of the variance, of whatever type that is.

`linspace` and `unwrap` compute with floats, and put the results into arrays of the operands' type.
Of exact numbers the first is computed exactly here, the second is refused. Edges of histograms are
of exact numbers, too, and elements are compared with them.
"""

import importlib
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from types import FunctionType
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import _runtime

#: Whether a DType class is one of ours, once it was asked for.
_ours: dict[type, bool] = {}


def _is_ours(dtype: Any) -> bool:
    # Element types have no number; a dtype's class stays what it is.
    if getattr(dtype, "num", None) != -1:
        return False
    known = _ours.get(type(dtype))
    if known is None:
        known = _ours[type(dtype)] = any(_named(name) is dtype for name in _runtime.types())
    return known


def _named(name: str) -> Any:
    try:
        return _runtime._dtype_of(name)
    except Exception:
        # A type for handler mode, without a dtype.
        return None


def _of_quotients(dtype: Any) -> Any:
    """The dtype of `x / n`, where that is another; else None."""
    try:
        quotient = np.divide.resolve_dtypes((dtype, dtype, None))[2]
    except TypeError:
        # No division: the division itself says so best.
        return None
    return None if quotient is dtype else quotient


def _is_exact(dtype: Any) -> bool:
    """Whether an element type of ours does not take floats for what it is itself."""
    return _is_ours(dtype) and not _is_ours(_common(dtype, np.dtype(float)))


def _common(*operands: Any) -> Any:
    """The dtype in which they meet; None where there is none."""
    try:
        return np.result_type(*operands)
    except TypeError:
        return None


def _refuse_integers(dtype: Any, call: Mapping[str, Any]) -> None:
    """TypeError where the variables of `_mean` or `_var` ask for quotients as integers: NumPy would
    cut their fractions off, as it does for integers of its own."""
    wanted = {"dtype": call.get("dtype"), "out": getattr(call.get("out"), "dtype", None)}
    for name, result in wanted.items():
        # A dtype, its class, or what stands for one.
        kind = None if result is None else np.dtype(getattr(result, "type", result))
        if kind is not None and kind.kind in "bium":
            raise TypeError(
                f"means and variances of {dtype} can be fractions, which {name}= of {kind} would "
                "cut off: leave it away for an exact result, or ask for float64"
            )


def _edging(original: Callable[..., Any]) -> Callable[..., Any]:
    """`_get_bin_edges` of histograms, which computes them in the elements' type. Elements of ours
    are sorted in between the edges: for edges at equal distances NumPy computes indices, and would
    cast them from that type."""

    def edging(a: Any, bins: Any, range: Any, weights: Any) -> Any:
        if np.ndim(bins) != 0:
            return original(a, bins, range, weights)
        dtype = a.dtype if range is None else _common(a, *range)
        if not _is_ours(dtype):
            return original(a, bins, range, weights)
        if _is_exact(dtype):
            a = a.astype(_of_quotients(dtype) or dtype)
        return original(a, bins, range, weights)[0], None

    return edging


def _distance(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`_unsigned_subtract` of histograms, which names the dtype in a way that ufuncs refuse."""

    def distance(a: Any, b: Any) -> Any:
        return np.subtract(a, b) if _is_ours(_common(a, b)) else original(a, b)

    return distance


def _averaged(asanyarray: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What `_mean` and `_var` make an array of their operand with: one of quotients."""

    def averaged(a: Any) -> Any:
        array = asanyarray(a)
        if array.dtype.num >= 0 or not _is_ours(array.dtype):
            return array
        _refuse_integers(array.dtype, sys._getframe(1).f_locals)
        quotient = _of_quotients(array.dtype)
        return array if quotient is None else array.astype(quotient)

    return averaged


def _deviating(original: Callable[..., Any], variance_of: Callable[..., Any]) -> Callable[..., Any]:
    """`_std` or `nanstd`, as the `sqrt` of what gives the variance."""
    parameters = signature(original)

    def deviating(a: Any, *arguments: Any, **keywords: Any) -> Any:
        if not hasattr(a, "dtype"):
            a = np.asanyarray(a)
        if not _is_ours(a.dtype):
            return original(a, *arguments, **keywords)
        call = parameters.bind(a, *arguments, **keywords)
        out = call.arguments.pop("out", None)
        return np.sqrt(variance_of(*call.args, **call.kwargs), out=out)

    return deviating


def _ramping(original: Callable[..., Any]) -> Callable[..., Any]:
    """`linspace` between exact numbers: NumPy multiplies with floats, whatever it is given."""
    parameters = signature(original)

    def ramping(start: Any, *arguments: Any, **keywords: Any) -> Any:
        call = parameters.bind(start, *arguments, **keywords)
        call.apply_defaults()
        given = call.arguments
        first, last = np.asanyarray(start), np.asanyarray(given["stop"])
        wanted = None if given["dtype"] is None else np.dtype(given["dtype"])
        exact = _common(first, last) if wanted is None else wanted
        if not _is_exact(exact):
            return original(*call.args, **call.kwargs)
        exact = _of_quotients(exact) or exact
        first, last = first.astype(exact), last.astype(exact)
        count = operator.index(given["num"])
        if count < 0:
            raise ValueError(f"Number of samples, {count}, must be non-negative.")
        steps = count - 1 if given["endpoint"] else count
        distance = last - first
        step = distance / steps if steps > 0 else None
        index = np.arange(count).astype(exact).reshape((-1,) + (1,) * np.ndim(distance))
        ramp = first + index * (distance if step is None else step)
        if wanted is not None:
            ramp = ramp.astype(wanted)
        ramp = np.moveaxis(ramp, 0, given["axis"])
        return (ramp, np.nan if step is None else step) if given["retstep"] else ramp

    return ramping


def _unwrapping(original: Callable[..., Any]) -> Callable[..., Any]:
    """`unwrap`, which would put rounded values into an array of exact numbers."""

    def unwrapping(p: Any, *arguments: Any, **keywords: Any) -> Any:
        dtype = np.asanyarray(p).dtype
        if _is_exact(dtype):
            raise TypeError(
                f"write np.unwrap(a.astype(float)): it computes with floats, and {dtype} is exact"
            )
        return original(p, *arguments, **keywords)

    return unwrapping


def _has_number(value: Any) -> bool:
    """Whether it is an array or a dtype of NumPy's own: only those have type numbers."""
    return getattr(getattr(value, "dtype", value), "num", -1) >= 0


def _is_plain(first: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    return all(
        type(value) in _PLAIN or _has_number(value)
        for value in (first, *arguments, *keywords.values())
    )


#: Classes of arguments that bring no element type along.
_PLAIN = {int, float, bool, complex, type(None), str}


def _swap(owner: Any, name: str, patch: Callable[[Any], Callable[..., Any]]) -> None:
    """Puts what `patch` makes of a function into its place."""
    setattr(owner, name, patch(getattr(owner, name)))


def _redirect(
    function: FunctionType,
    patch: Callable[[FunctionType], Callable[..., Any]],
    is_plain: Callable[[Any, tuple[Any, ...], dict[str, Any]], bool] = (
        lambda first, arguments, keywords: _has_number(first)
    ),
) -> None:
    """Makes a function, wherever it is kept, call what `patch` makes of its original, unless its
    arguments are plain. Its code is replaced: `_std` is kept by the methods in C, and the others by
    whatever imported them before (`from numpy import linspace`), where a function of ours under the
    same name would not be called."""
    original = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    name = f"_denizen_{function.__name__.strip('_')}"
    function.__globals__[name] = patch(original)
    function.__globals__[f"{name}_original"] = original
    function.__globals__[f"{name}_is_plain"] = is_plain
    first = next(iter(signature(original).parameters))
    # Arrays of NumPy's own dtypes pay two calls more.
    source = f"""
def patched({first}, *arguments, **keywords):
    if {name}_is_plain({first}, arguments, keywords):
        return {name}_original({first}, *arguments, **keywords)
    return {name}({first}, *arguments, **keywords)
"""
    scope: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), scope)
    function.__code__ = scope["patched"].__code__
    function.__defaults__ = function.__kwdefaults__ = None
    # For `inspect.signature`.
    function.__dict__["__wrapped__"] = original


def _no_loop_text(original: Callable[[Any], str]) -> Callable[[Any], str]:
    """The text of NumPy's "no loop" error, which names the element type and what it lacks."""

    def text(error: Any) -> str:
        types = [known for known in map(_element, error.dtypes) if known is not None]
        if not types:
            return original(error)
        names = " and ".join(dict.fromkeys(types))
        verb = "have" if " and " in names else "has"
        return f"{names} {verb} no operation {error.ufunc.__name__!r} here: {original(error)}"

    return text


def _element(dtype_class: Any) -> str | None:
    """The name of the element type of a DType class, where it is one of ours."""
    for name in _runtime.types():
        if type(_named(name)) is dtype_class:
            return name
    return None


# ---- sorts ---------------------------------------------------------------------------------------
#
# Of arrays that hold elements in structures, and partitions of elements: NumPy's quicksort leaves
# the array where a comparison contradicts itself. `method` is NumPy's own method of the same name.
# A sorted array is partitioned by every index.
#
# NumPy compares copies of an item's bytes. So the memory is locked for reading as long as it does:
# what an order may do by way of Python ends none of the objects that are compared.

_Order = str | Sequence[str] | None


def sort(
    method: Any,
    array: Any,
    axis: SupportsIndex = -1,
    kind: str | None = None,
    order: _Order = None,
    *,
    stable: bool | None = None,
    **others: Any,
) -> None:
    """Sorts in place, stably whatever `kind` says: finds the order, then moves the items."""
    place = normalize_axis_index(axis.__index__(), array.ndim)
    if not array.flags.writeable:
        raise ValueError("sort array is read-only")
    indices = array.argsort(axis=place, kind=kind, order=order, stable=stable, **others)
    _runtime._reorder(array, indices, place)


def argsort(
    method: Any,
    array: Any,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    order: _Order = None,
    *,
    stable: bool | None = None,
    **others: Any,
) -> Any:
    """The indices that sort, by NumPy's merge sort whatever `kind` says."""
    _check_kind(kind, stable)
    return _runtime._while_read([array], method, array, axis, "stable", order, **others)


def partition(
    method: Any,
    array: Any,
    kth: Any,
    axis: SupportsIndex = -1,
    kind: str = "introselect",
    order: _Order = None,
) -> None:
    """Sorts in place."""
    _check_kth(array, kth, axis, kind)
    array.sort(axis=axis, kind="stable", order=order)


def argpartition(
    method: Any,
    array: Any,
    kth: Any,
    axis: SupportsIndex | None = -1,
    kind: str = "introselect",
    order: _Order = None,
) -> Any:
    """The indices that sort."""
    _check_kth(array, kth, axis, kind)
    return array.argsort(axis=axis, kind="stable", order=order)


def lexsort(function: Any, keys: Any, axis: SupportsIndex = -1) -> Any:
    """The indices that sort by several keys, the last one first."""
    # What NumPy reads cannot change meanwhile.
    keys = keys if isinstance(keys, np.ndarray) else tuple(keys)
    arrays = [keys] if isinstance(keys, np.ndarray) else list(keys)
    return _runtime._while_read(arrays, function, keys, axis)


def _check_kind(kind: str | None, stable: bool | None) -> None:
    """Lets NumPy refuse what it would."""
    if kind is not None or stable is not None:
        check: Any = np.zeros(1)
        check.argsort(kind=kind, stable=stable)


def _check_kth(array: Any, kth: Any, axis: SupportsIndex | None, kind: str) -> None:
    """Lets NumPy refuse what it would."""
    if axis is None or array.ndim == 0:
        length = array.size
    else:
        length = array.shape[axis]
    check: Any = np.zeros(length, "i1")
    check.argpartition(kth, kind=kind)


# ---- installation --------------------------------------------------------------------------------


class Patch(NamedTuple):
    """One row of the table of patches; `state` says what became of it in this process."""

    name: str
    #: Names of NumPy's.
    replaces: str
    #: What NumPy does.
    wrong: str
    #: What denizen does.
    instead: str
    #: The first NumPy that is right, or "open".
    until: str
    #: "memory" or "results".
    keeps: str
    #: Placed at the "import", with a "type", here in "python", or by the "slots" of each type.
    when: str
    tests: str
    thread: str
    state: str


def patches() -> list[Patch]:
    """What is wrong in NumPy, and what stands in its place."""
    return [Patch(*row) for row in _runtime._numpy_patches()]


def _module(name: str) -> Any:
    return importlib.import_module(f"numpy.{name}")


def _patch_deviations() -> None:
    methods = _module("_core._methods")
    _redirect(methods._std, lambda original: _deviating(original, methods._var))
    _redirect(_implementation("nanstd"), lambda original: _deviating(original, np.nanvar))


def _implementation(name: str) -> Any:
    """The function behind one of NumPy's that other classes may override."""
    return getattr(np, name)._implementation


#: By the name of the patch.
_IN_PYTHON: dict[str, Callable[[], None]] = {
    "mean-and-variance": lambda: _swap(_module("_core._methods"), "asanyarray", _averaged),
    "deviations": _patch_deviations,
    "linspace": lambda: _redirect(_implementation("linspace"), _ramping, _is_plain),
    "unwrap": lambda: _redirect(_implementation("unwrap"), _unwrapping),
    "histogram-edges": lambda: _swap(_module("lib._histograms_impl"), "_get_bin_edges", _edging),
    "histogram-estimators": lambda: _swap(
        _module("lib._histograms_impl"), "_unsigned_subtract", _distance
    ),
    "no-loop-text": lambda: _swap(
        _module("_core._exceptions")._UFuncNoLoopError, "__str__", _no_loop_text
    ),
}


def install() -> None:
    """Places those of this file that the running NumPy needs, once a process, and warns of what
    could not be placed. The runtime has placed the others by now."""
    for patch in patches():
        if patch.when == "python" and patch.state == "waiting":
            try:
                _IN_PYTHON[patch.name]()
            except (AttributeError, ImportError):
                _runtime._patch_placed(patch.name, False)
            else:
                _runtime._patch_placed(patch.name, True)
    missing = [patch.name for patch in patches() if patch.state == "not placed"]
    if missing:
        warnings.warn(
            f"NumPy {np.__version__} is not made as denizen knows it, and these patches could not "
            f"be placed: {', '.join(missing)}; `denizen info --patches` says what that means",
            RuntimeWarning,
            stacklevel=3,
        )
