"""Why a type must refuse an operation: because of what it was registered without.

Nothing is expected of an extension's type that its author did not register. The bundled types are
complete: they may refuse only where they lack a capability that the operation names.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import get_args

import numpy as np

from ... import _runtime
from ..operations.operation import Capability, Operation
from ..subject.element import Element

__all__ = ["reason_to_refuse"]

#: What denizen says where numpy.linalg would leave the type.
_NORM = "numpy.linalg.norm would make float64"

#: What a type without a capability has not, where its name does not say it.
_LACKS: dict[str, str] = {
    **{name: name for name in get_args(Capability)},
    "arithmetic": "arithmetic (+, -, *)",
    "text": "text that it reads",
    "codec": "codec for pickles",
    "numbers": "casts from and to numbers",
    "counting": "casts from and to numbers",
}


def reason_to_refuse(error: BaseException, operation: Operation, element: Element) -> str | None:
    """Why the type must refuse, if it must."""
    missing = sorted(operation.needs - element.abilities)
    if missing == ["counting"] and "numbers" in element.abilities:
        return f"numbers do not add up and keep their order in {element.name}"
    if missing:
        lacks = sorted({_LACKS[name] for name in missing})
        return f"{element.name} has no {' and no '.join(lacks)}"
    if isinstance(error, _runtime.VacantError) and "default" not in element.abilities:
        return f"{element.name} has no default"
    if "copy" not in element.abilities and "not copyable" in str(error):
        return f"{element.name} has no copy"
    if _NORM in str(error):
        return f"{element.name} keeps its type, and a norm would be float64"
    if element.name.startswith("denizen."):
        return None
    for pattern, reason in _REASONS:
        matched = re.search(pattern, str(error))
        if matched and (why := reason(matched, element)):
            return why
    return None


def _no_loop(matched: re.Match[str], element: Element) -> str | None:
    """The loop is missing for elements alone, too, not just beside what the operation gave."""
    # `np.clip` is a function that calls a ufunc of this name.
    ufunc = getattr(importlib.import_module("numpy._core.umath"), matched[1], None)
    if not isinstance(ufunc, np.ufunc) or ufunc.signature is not None:
        return None
    single = np.empty(1, dtype=element.dtype)
    single[0] = element.values()[0]
    try:
        ufunc(*[single] * ufunc.nin)
    except TypeError:
        return f"{element.name} has no {matched[1]}"
    except Exception:
        return None
    return None


def _no_cast(matched: re.Match[str], element: Element) -> str | None:
    source, target = matched[1], matched[2]
    if element.name not in source + target:
        return None
    return f"{element.name} has no cast from {source} to {target}"


def _no_common_type(matched: re.Match[str], element: Element) -> str | None:
    return f"{element.name} has no type in common with what it meets there"


def _no_identity(matched: re.Match[str], element: Element) -> str | None:
    return f"{element.name} has no identity for {matched[1]}"


def _no_truth(matched: re.Match[str], element: Element) -> str | None:
    return f"{element.name} has no truth value" if matched[1] == element.name else None


def _not_made_from(matched: re.Match[str], element: Element) -> str | None:
    if matched[1] != element.name:
        return None
    return f"{element.name} is not made from an object of type {matched[2]}"


#: What an error says, and what that tells of the type.
_REASONS: list[tuple[str, Callable[[re.Match[str], Element], str | None]]] = [
    (r"ufunc '(\w+)' (?:did not contain a|has no) loop", _no_loop),
    (r"cast (?:array data )?from (.+?) to (.+?) according to the rule 'unsafe'", _no_cast),
    (r"no common (?:DType exists|type to cast them to)", _no_common_type),
    (r"reduction operation '?(\w+)'? (?:which has no|does not have an) identity", _no_identity),
    (r"(\S+) has no truth value", _no_truth),
    (r"cannot make an? (\S+) from an object of type (\w+)", _not_made_from),
]
