"""Every function of the runtime that C code calls stops panics; found in its sources."""

import pathlib
import re

import pytest

SOURCES = pathlib.Path(__file__).parents[3] / "src"
FUNCTION = re.compile(
    r'^( *)(?:pub(?:\([a-z]+\))? )?unsafe extern "C" fn (\$?\w+)[^;{]*\{(?!\})(.*?)^\1\}',
    re.M | re.S,
)
STOPS = re.compile(
    r"trampoline::(slot|inlined|looped|looped_apart|end|failing)\("
    r"|\bboundary\(|\baccess\(|\bguarded\("
)

#: What does nothing that may panic: it counts a reference or returns what it was given.
HARMLESS = {
    "discover_descr", "default_descr", "common_instance", "ensure_canonical", "finalize_descr",
    "clone", "itself",
}  # fmt: skip

#: The same, where a failure would make NumPy call what it did not get.
BARE = {("dtype/casts/within_dtype.rs", name) for name in ("resolve", "get_loop")}


def files():
    for layer in ("dtype", "c_api", "python", "handler"):
        for path in sorted((SOURCES / layer).rglob("*.rs")):
            name = str(path.relative_to(SOURCES))
            if "tests" not in name:
                yield name


@pytest.mark.parametrize("name", list(files()))
def test_every_function_that_c_code_calls_stops_panics(name):
    text = (SOURCES / name).read_text()
    loose = [
        function
        for _, function, body in FUNCTION.findall(text)
        if function not in HARMLESS and (name, function) not in BARE and not STOPS.search(body)
    ]
    assert not loose
