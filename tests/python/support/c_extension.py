"""Builds extension modules from the C and C++ sources in cpp-bridge/tests, as a client's build does."""

import importlib.util
import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

import denizen

SOURCES = Path(__file__).parents[3] / "cpp-bridge" / "tests"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
INCLUDES = ["-I" + denizen.get_include(), "-isystem", sysconfig.get_path("include")]


def compiler(variable, default):
    """The command of a C or C++ compiler."""
    return shlex.split(os.environ.get(variable) or sysconfig.get_config_var(variable) or default)


def build(name, directory):
    """Compiles `<name>.c` or `<name>.cpp` against the installed headers; the path of the module."""
    module = directory / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    source = SOURCES / f"{name}.c"
    command = [*compiler("CC", "cc"), "-std=c11"]
    if not source.exists():
        source = SOURCES / f"{name}.cpp"
        command = [*compiler("CXX", "c++"), "-std=c++17"]
    command += ["-O1", "-g", *WARNINGS, *INCLUDES, "-shared", "-fPIC"]
    subprocess.run([*command, source, "-o", module], check=True)
    return module


def load(name, path):
    """Imports an extension module from a path."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
