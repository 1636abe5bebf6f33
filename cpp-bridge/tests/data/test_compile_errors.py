"""What the compiler says about uses of the C++ header that cannot be."""

import subprocess
from pathlib import Path

import nanobind
import pybind11
import pytest
from support.c_extension import INCLUDES, compiler

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
COMMAND = [*compiler("CXX", "c++"), "-std=c++17", *WARNINGS, *INCLUDES, "-I", HERE, "-fsyntax-only"]


def diagnostics(text, directory):
    """What the compiler says about a source that does not compile."""
    source = directory / "source.cpp"
    source.write_text(text)
    result = subprocess.run([*COMMAND, source], capture_output=True, text=True)
    assert result.returncode != 0, "it compiles"
    return result.stderr


PROLOGUE = """
#include "subjects.hpp"
#include <denizen/cpp/adopt.hpp>
#include <denizen/cpp/view.hpp>
struct aligned { alignas(32) double x; };
template <> struct denizen::zero_bytes<aligned> : std::integral_constant<denizen::zero, denizen::zero::default_value> {};
struct loud { ~loud() noexcept(false); };
template <> struct denizen::is_trivially_relocatable<loud> : std::true_type {};
template <> struct denizen::zero_bytes<loud> : std::integral_constant<denizen::zero, denizen::zero::default_value> {};
"""
MISSING = {
    "boxed": "does not promise denizen::is_trivially_relocatable<T>",
    "tagged": "does not promise denizen::zero_bytes<T>",
}


@pytest.mark.regression("T33", "pybind/pybind11#619", "pybind/pybind11#799")
@pytest.mark.parametrize(
    "use",
    [
        "void *f(denizen::view<{T}> &v) {{ return v.data(); }}",
        "auto f(denizen::view<{T}> &v) {{ return v.span().size(); }}",
        "auto f(std::vector<{T}> v) {{ return denizen::adopt(std::move(v)); }}",
        "auto f(std::shared_ptr<std::vector<{T}>> v) {{ return denizen::adopt(v); }}",
        "auto f(const {T} *p, PyObject *o) {{ return denizen::adopt(p, {{3}}, {{8}}, o); }}",
    ],
    ids=["data", "span", "adopt a vector", "adopt a shared vector", "adopt memory"],
)
@pytest.mark.parametrize("name", MISSING)
def test_the_compiler_names_the_promise_that_is_missing(tmp_path, name, use):
    text = " ".join(diagnostics(PROLOGUE + use.format(T=f"subjects::{name}"), tmp_path).split())
    assert MISSING[name] in text
    assert [other for other in MISSING.values() if other in text].count(MISSING[name]) == 1
    # The same lines compile for the type that promises.
    source = tmp_path / "good.cpp"
    source.write_text(PROLOGUE + use.format(T="subjects::inlined"))
    subprocess.run([*COMMAND, source], check=True)


@pytest.mark.parametrize(
    "use, message",
    [
        ("void *f(denizen::view<aligned> &v) { return v.data(); }", "aligned to more than the 16"),
        (
            "auto f(std::vector<loud> v) { return denizen::adopt(std::move(v)); }",
            "T's destructor may throw",
        ),
        (
            "auto f(double *p) { return denizen::adopt(p, {3}, p); }",
            "a plain pointer keeps nothing alive",
        ),
        (
            "auto f(denizen::view<const double> &v) { return v.begin().emplace(1.0); }",
            "a view of const elements builds none",
        ),
        ("auto f(denizen::view<double> &v) { return v; }", "deleted"),
    ],
)
def test_the_compiler_says_why(tmp_path, use, message):
    assert message in " ".join(diagnostics(PROLOGUE + use, tmp_path).split())


def test_spans_convert_to_those_of_cpp20(tmp_path):
    source = tmp_path / "span.cpp"
    source.write_text(
        "#include <span>\n"
        + PROLOGUE
        + """
        void takes(std::span<const subjects::inlined>);
        void writes(std::span<subjects::inlined>);
        void f(const denizen::view<subjects::inlined> &v)
        {
            takes(v.span());
            writes(v.span());
            const std::span<const std::ptrdiff_t> shape = v.shape();
            takes(std::span(v.span()).first(shape.size()));
        }
        """
    )
    subprocess.run([*COMMAND, "-std=c++20", source], check=True)


def test_the_header_alone_compiles_without_a_warning(tmp_path):
    for number, header in enumerate(["denizen", "testing", "pybind11", "nanobind"]):
        source = tmp_path / f"header{number}.cpp"
        source.write_text(f"#include <denizen/{header}.hpp>\n" * 2)
        libraries = ["-isystem", pybind11.get_include(), "-isystem", nanobind.include_dir()]
        subprocess.run([*COMMAND, *libraries, "-fvisibility=hidden", source], check=True)
