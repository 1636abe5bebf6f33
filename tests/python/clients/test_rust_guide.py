"""docs/rust.md is a program: tests/clients/guide compiles its Rust, and its Python runs against it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "docs").is_dir())
GUIDE = (ROOT / "docs" / "rust.md").read_text()


def blocks(language, page=GUIDE):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_guide_runs_and_every_object_is_destroyed():
    program = "\n".join(blocks("python"))
    check = """
import gc
del a, p, x
gc.collect()
for name in ("rust_guide.BigDecimal", "rust_guide.Polynomial", "rust_guide.Label"):
    figures = denizen.stats()[name]
    assert figures["constructed"] and figures["live"] == 0, (name, figures)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program + check], check=True)


def test_the_builder_of_the_readme_is_in_the_guide():
    (readme,) = blocks("rust", (ROOT / "README.md").read_text().partition("## Check")[0])
    methods = re.findall(r"^ +(\.\w+\()", readme, re.M)
    assert len(methods) <= 10
    assert set(methods) <= set(re.findall(r"^ +(\.\w+\()", blocks("rust")[0], re.M))


def test_the_crate_is_built_from_what_the_page_says():
    (page,) = map(tomllib.loads, blocks("toml"))
    crate = tomllib.loads((ROOT / "tests/clients/guide/Cargo.toml").read_text())
    module = tomllib.loads((ROOT / "tests/clients/guide/pyproject.toml").read_text())
    assert page["lib"] == crate["lib"]
    assert page["package"]["edition"] == crate["package"]["edition"]
    # On the page the package has the module's name; here maturin is told it.
    assert page["package"]["name"] == module["tool"]["maturin"]["module-name"]
    # The crate shares its dependencies with another client, which has views of ndarray.
    crate["dependencies"]["denizen"]["features"].remove("ndarray")
    for dependencies in (page["dependencies"], crate["dependencies"]):
        del dependencies["denizen"]["path"]
    assert page["dependencies"] == crate["dependencies"]
    oldest = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["rust-version"]
    assert f"stable Rust ({oldest} or later)" in GUIDE
