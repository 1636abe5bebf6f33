"""The modules of elements whose hooks use the array at hand."""

import importlib.util

#: Those of C++ only where they are built.
MODULES = ["denizen_hostile", *(["cpp_hostile"] if importlib.util.find_spec("cpp_hostile") else [])]
