"""What is inside a client's shared library: no second runtime, no other dependency of it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import denizen_example
import denizen_raw
import pytest

CLIENTS = Path(__file__).parents[2] / "clients"
RUNTIME_LAYERS = ["abi", "boundary", "client"]


def symbols(library, *arguments):
    command = ["nm", "--demangle", *arguments, library]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize("module", [denizen_example, denizen_raw], ids=lambda m: m.__name__)
def test_a_client_library_holds_no_second_runtime(module):
    path = Path(module.__file__)
    library = path if path.suffix == ".so" else next(path.parent.glob("*.so"))
    defined = symbols(library, "--defined-only")
    ours = [line for line in defined if "denizen::" in line]
    assert any("denizen::client::" in line for line in ours), "the library is not stripped"
    root = Path(__file__).parents[3] / "src"
    layers = {path.stem for path in root.iterdir()} - {"lib", *RUNTIME_LAYERS}
    assert {"segment", "memory", "numpy_abi"} <= layers
    for line in defined:
        assert not any(f"denizen::{layer}::" in line for layer in layers), line
        assert not any(name in line for name in ["dashmap::", "dashu_", "bitvec::"]), line
    exported = symbols(library, "--defined-only", "--dynamic", "--extern-only")
    names = {line.split()[-1] for line in exported}
    assert names == {f"PyInit_{module.__name__}"}


@pytest.mark.parametrize("client", ["example", "raw"])
def test_a_client_depends_on_nothing_of_the_runtime(client):
    lock = tomllib.loads((CLIENTS / client / "Cargo.lock").read_text())
    packages = {package["name"]: package for package in lock["package"]}
    assert "denizen" in packages
    for name in ["dashmap", "bitvec", "dashu-int", "dashu-ratio"]:
        assert name not in packages
    if client == "raw":
        assert packages["pyo3"]["version"].startswith("0.29.")
        # Only under `--cfg loom`, which no client sets.
        assert packages["denizen"]["dependencies"] == ["loom"]
    else:
        assert packages["pyo3"]["version"].startswith("0.30.")


@pytest.mark.parametrize("module", [denizen_example, denizen_raw], ids=lambda m: m.__name__)
def test_without_the_package_the_import_says_how_to_install_it(module):
    script = f"""
import sys
sys.modules["denizen"] = None
try:
    import {module.__name__}
except ModuleNotFoundError as error:
    assert "pip install denizen" in str(error), error
else:
    raise AssertionError("imported")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
