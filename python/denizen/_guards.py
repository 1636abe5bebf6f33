"""Guards on functions of NumPy's own that are written in Python; the others are in the runtime.

`ndarray.mean`, `var` and `std` add up in the dtype of the elements, divide, and put the quotients
where the sums were. For a type whose quotients are of another type (`Integer / Integer` is a
`Rational`) that would round, or fail. So they get an array of that type: the function through which
they take their operand is replaced. `std` is the `sqrt` of the variance, of whatever type that is.
NumPy keeps the functions that it called once, so that one is not replaced: its code is.
"""

from collections.abc import Callable
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

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


def _averaged(asanyarray: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What `_mean` and `_var` make an array of their operand with: one of quotients."""

    def averaged(a: Any) -> Any:
        array = asanyarray(a)
        if array.dtype.num >= 0 or not _is_ours(array.dtype):
            return array
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


def _redirect(function: FunctionType, guard: Callable[[FunctionType], Callable[..., Any]]) -> None:
    """Makes a function, wherever it is kept, call what `guard` makes of its original."""
    original = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    name = f"_denizen{function.__name__}"
    function.__globals__[name] = guard(original)
    function.__globals__[f"{name}_original"] = original
    # Arrays of NumPy's own dtypes, which have numbers, pay one call more.
    source = f"""
def guarded(a, *arguments, **keywords):
    if getattr(getattr(a, "dtype", None), "num", -1) >= 0:
        return {name}_original(a, *arguments, **keywords)
    return {name}(a, *arguments, **keywords)
"""
    scope: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), scope)
    function.__code__ = scope["guarded"].__code__
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


def install() -> None:
    """Puts the guards in place, once."""
    from numpy._core import _exceptions, _methods

    methods: Any = _methods
    public: Any = np
    if hasattr(methods, "_denizen_std"):
        return
    methods.asanyarray = _averaged(methods.asanyarray)
    _redirect(methods._std, lambda original: _deviating(original, methods._var))
    _redirect(public.nanstd._implementation, lambda original: _deviating(original, np.nanvar))
    error: Any = _exceptions._UFuncNoLoopError
    error.__str__ = _no_loop_text(error.__str__)
