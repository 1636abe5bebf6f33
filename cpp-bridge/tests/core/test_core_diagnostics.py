"""What the compiler says about descriptions that cannot be, and what it accepts without a word."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.c_extension import INCLUDES, compiler

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
COMMAND = [*compiler("CXX", "c++"), "-std=c++17", *WARNINGS, *INCLUDES, "-fsyntax-only"]


def compile_source(text, directory):
    source = directory / "source.cpp"
    source.write_text(text)
    return subprocess.run([*COMMAND, source], capture_output=True, text=True)


PROLOGUE = """
#include <denizen/denizen.hpp>
struct plain { plain() {} plain(const plain &) {} ~plain() {} };
struct number { double value; };
inline number operator*(const number &, const number &) { return {}; }
struct move_only { move_only(move_only &&) = default; };
struct immovable { immovable(immovable &&) = delete; };
void f(PyObject *module) {
"""


#: Descriptions that cannot be, and what the compiler says about them.
CASES = [
    ("element<plain>(n).arithmetic()", "arithmetic() needs one of the operators"),
    ("element<plain>(n).ordering()", "ordering() needs the operator < on T"),
    ("element<plain>(n).equality()", "equality() needs the operator == on T"),
    ("element<plain>(n).text()", "text() needs the operator << to a std::ostream or to_string"),
    ("element<plain>(n).hash()", "hash() needs std::hash<T>"),
    ("element<plain>(n).nonzero()", "nonzero() needs a conversion of T to bool"),
    ("element<number>(n).linear_algebra()", "linear_algebra() needs the operators * and +"),
    ("element<plain>(n).cast<double>()", "cast<U>() needs a constructor T(U) or a conversion"),
    ("element<plain>(n).cast_from<int>(denizen::casting::safe)", "cast_from<U>(level) needs a constructor T(U)"),
    ("element<plain>(n).cast_to<int>(denizen::casting::safe)", "cast_to<U>(level) needs a conversion of T to U"),
    (
        'element<plain>(n).loop("add", [](const auto &x, const auto &) { return x; })',
        "the signature of an overloaded or generic callable is given",
    ),
    (
        'element<plain>(n).loop("add", [](const plain &) {})',
        "a callable without a result writes into its first parameters",
    ),
    (
        'element<plain>(n).loop("add", [](const plain &, plain &) {})',
        "come before its inputs",
    ),
    (
        'element<plain>(n).loop("add", [](double x) { return x; })',
        "one operand of a loop must be the element type itself",
    ),
    (
        'element<move_only>(n).loop("negative", [](move_only &, const move_only &) {})',
        "a callable that writes its result needs a T that has a default constructor",
    ),
    (
        'element<plain>(n).storage<denizen::storage::tagged>().add_to(module)',
        "tagged cells are moved with memcpy: specialise denizen::is_trivially_relocatable<T>",
    ),
    (
        'element<number>(n).storage<denizen::storage::inline_cells>().add_to(module)',
        "inline cells need a promise about zero bytes: specialise denizen::zero_bytes<T>",
    ),
    (
        "element<std::unique_ptr<int>>(n).default_with([] { return std::make_unique<int>(); })",
        "zero bytes are the default value of this T",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the compiler says about all of them at once: it goes on after a failed assertion."""
    uses = "\n".join(f"{{ denizen::{use}; }}" for use, _ in CASES)
    text = f'{PROLOGUE} const char *n = "Name"; (void)module;\n{uses}\n}}\n'
    result = compile_source(text, tmp_path_factory.mktemp("said"))
    assert result.returncode != 0, "it compiles"
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("message", [message for _, message in CASES])
def test_the_compiler_says_what_is_missing(said, message):
    assert any(message in part[:250] for part in said.split("static assertion failed: denizen: "))


def test_the_sample_of_the_guide_compiles_without_a_warning(tmp_path):
    text = (HERE / "sample.cpp").read_text()
    result = compile_source(text, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_every_header_compiles_alone(tmp_path):
    headers = sorted((HERE.parents[1] / "include" / "denizen" / "cpp").glob("*.hpp"))
    assert len(headers) > 10
    text = "".join(f"#include <denizen/cpp/{header.name}>\n" for header in reversed(headers))
    assert compile_source(text, tmp_path).stderr == ""

    def alone(header):
        directory = tmp_path / header.stem
        directory.mkdir()
        return compile_source(f"#include <denizen/cpp/{header.name}>\n", directory).stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(headers, pool.map(alone, headers), strict=True))
    assert {header.name: text for header, text in found.items() if text} == {}
