"""The element types that the tests know, of Rust and of C++."""

import importlib.util

from support import kinds


def known_kinds():
    """The kinds of Rust, and of C++ where their modules are built; names of the typical ones."""
    if not importlib.util.find_spec("cpp_types"):
        return kinds.KINDS, set(kinds.TYPICAL)
    import cpp_kinds

    return kinds.KINDS | cpp_kinds.KINDS, {*kinds.TYPICAL, *cpp_kinds.TYPICAL}
