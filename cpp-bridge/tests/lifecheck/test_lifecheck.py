"""The lifecheck of the C++ header: types that are right pass, each broken one is found, and what is
printed shows it again."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.c_extension import INCLUDES, compiler

import denizen

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
# What is found in each, without and with the sanitizers. Some are found there before they do harm.
BROKEN = {
    "shares": ("value|freed-once", "AddressSanitizer"),
    "forgets": ("leak", "leak"),
    "hasty": ("freed-once", "AddressSanitizer"),
    "careless": ("leak", "leak"),
    "partial": ("value", "value"),
    "thief": ("value", "value"),
    "anchored": ("relocatable.*denizen::is_trivially_relocatable", "relocatable"),
    "registered": ("SIGABRT", "SIGABRT"),
    "zero_liar": ("zero-is-vacant.*denizen::zero_bytes", "zero-is-vacant"),
    "half_liar": ("zero-is-vacant.*never_zero", "zero-is-vacant"),
    "default_liar": ("zero-is-default.*denizen::zero_bytes", "zero-is-default"),
    "moves_loudly": ("std::terminate", "std::terminate"),
    "overflows": ("bounds|value|crash", "AddressSanitizer"),
    "quits": ("leak", "leak"),
    "plain_c": (None, "leak.*LeakSanitizer"),
}
CASES = [
    pytest.param(name, sanitized, id=f"{name}{'-sanitized' * sanitized}")
    for name, found in BROKEN.items()
    for sanitized in (False, True)
    if found[sanitized] is not None
]


def program(name):
    """A program that was built beside the modules."""
    for directory in sys.path:
        path = Path(directory, name)
        if path.is_file():
            return path
    pytest.skip(f"{name} is not built here: tests/lifecheck/CMakeLists.txt says when")


def run(command, broken=None, **options):
    """Runs a program without the sanitizer settings of the tests around it."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "LD_PRELOAD" and not name.endswith("SAN_OPTIONS")
    }
    if broken is not None:
        environment["LIFECHECK_TYPE"] = broken
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace", timeout=300,
        **options,
    )  # fmt: skip


def finding(output):
    """The program that a finding prints."""
    return output[output.index("// denizen: lifecheck of") :].split("\n)\n")[0] + "\n)\n"


def numbers(text):
    """Names and numbers of the steps of a finding."""
    steps = re.findall(r"\{op::(\w+), \{([\d, ]+)\}\}", text)
    return [(name, [int(number) for number in listed.split(", ")]) for name, listed in steps]


@pytest.mark.parametrize("suffix", ["", "_sanitized"])
def test_types_that_are_right_pass(suffix):
    result = run([program("lifecheck_right" + suffix)])
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    assert "all right" in result.stdout
    # The finding that the program makes on purpose, and catches.
    assert "denizen::testing::replay<broken::thief>(make, {" in result.stdout


@pytest.mark.parametrize("suffix", ["", "_sanitized"])
def test_the_type_that_the_broken_ones_are_made_of_passes(suffix):
    result = run([program("lifecheck_broken" + suffix), "-runs=500"], "owner")
    assert result.returncode == 0, result.stderr[-4000:]
    assert re.search(r"500 sequences in .* s, seed 1: nothing found", result.stderr)


@pytest.mark.parametrize("name, sanitized", CASES)
def test_a_broken_type_is_found_soon_and_its_rule_is_named(name, sanitized):
    path = program("lifecheck_broken" + "_sanitized" * sanitized)
    result = run([path, "-runs=1100"], name)
    assert result.returncode == 1, result.stderr[-4000:]
    text = finding(result.stderr)
    assert re.search(BROKEN[name][sanitized], text.splitlines()[0])
    # Shrunk, and each step says what its numbers are.
    steps = re.findall(r"^    \{op::\w+, \{[\d, ]+\}\}, // slot|after", text, re.MULTILINE)
    assert 1 <= len(steps) <= 8


@pytest.mark.parametrize("name, said", [("registered", 1), ("half_liar", 1), ("owner", 0)])
def test_values_that_are_not_compared_are_said_once(name, said):
    result = run([program("lifecheck_broken"), "-runs=30"], name)
    assert result.stderr.count("has no ==, so its values are not compared") == said


def test_a_leak_names_the_value_that_was_lost():
    text = finding(run([program("lifecheck_broken"), "-runs=1100"], "forgets").stderr)
    message = text.splitlines()[0]
    assert "leak" in message
    for number, shown in re.findall(r"value number (\d+) \(owner of (-?\d+)\)", message):
        assert any(int(number) in listed for _, listed in numbers(text)), (number, shown)
        break
    else:
        pytest.fail(message)


@pytest.mark.parametrize("header", ["denizen.hpp", "testing.hpp"])
def test_an_older_language_is_named_and_little_else(tmp_path, header):
    (tmp_path / "old.cpp").write_text(f"#include <denizen/{header}>\n")
    command = [*compiler("CXX", "c++"), "-std=c++14", "-fsyntax-only", *INCLUDES, "old.cpp"]
    result = run(command, cwd=tmp_path)
    assert "denizen needs C++17" in result.stderr
    assert result.stderr.count("error:") == 1


@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_assignment_by_copy_and_swap_passes_where_the_compiler_optimises(tmp_path, name):
    # At -O0 g++ writes nothing that ends the process where a false promise is broken.
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    command = [name, "-std=c++17", "-O2", *INCLUDES, "-DSUBJECT=swaps", HERE / "one.cpp"]
    subprocess.run([*command, "-o", tmp_path / "one"], check=True)
    result = run([tmp_path / "one", "-runs=1000"])
    assert result.returncode == 0, result.stderr[-4000:]
    assert "nothing found" in result.stderr


@pytest.mark.parametrize("name", ["hasty", "moves_loudly"])
def test_the_printed_program_shows_it_again(tmp_path, name):
    def build(source, target):
        command = [*compiler("CXX", "c++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", *INCLUDES]
        subprocess.run([*command, f"-DSUBJECT={name}", source, "-o", target], check=True)

    build(HERE / "one.cpp", tmp_path / "one")
    result = run([tmp_path / "one", f"-artifact_prefix={tmp_path}/"])
    text = finding(result.stderr)
    assert (tmp_path / "finding.cpp").read_text() == text
    build(tmp_path / "finding.cpp", tmp_path / "finding")
    again = run([tmp_path / "finding"])
    assert again.returncode != 0
    assert finding(again.stderr) == text


def test_the_guide_shows_what_happens(tmp_path):
    guide = (HERE.parents[2] / "docs" / "testing-your-type.md").read_text()
    guide = guide[guide.index("## C++") : guide.index("## What happens to a type")]
    header, check, unit_test = re.findall(r"```cpp\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "label.hpp").write_text(header)
    (tmp_path / "check_label.cpp").write_text(check)
    (tmp_path / "unit_test.cpp").write_text(
        unit_test + "int main() { label_lives_as_an_element(); }\n"
    )
    for name in ("check_label", "unit_test"):
        subprocess.run(
            [*compiler("CXX", "c++"), "-std=c++17", *INCLUDES, f"{name}.cpp", "-o", name],
            cwd=tmp_path,
            check=True,
        )
    shown = finding(guide)
    found = run([tmp_path / "check_label"])
    assert found.returncode == 1
    # Paths apart; the sequence is the same with the same standard library.
    assert finding(found.stderr).splitlines()[0] == shown.splitlines()[0]
    assert finding(found.stderr).count("{op::") == shown.count("{op::")
    thrown = run([tmp_path / "unit_test"])
    assert "denizen::testing::replay<Label>(make, {" in thrown.stderr


def test_cpp_reads_bytes_as_rust_does(tmp_path):
    # The Rust half is held to the same table by tests/segment_model.rs.
    lines = (HERE / "operations.txt").read_text().splitlines()
    for start in range(0, len(lines), 256):
        part = [line.split(" ", 1) for line in lines[start : start + 256]]
        (tmp_path / "bytes").write_bytes(b"".join(bytes.fromhex(hexes) for hexes, _ in part))
        command = [program("lifecheck_broken"), "-print_operations=1", tmp_path / "bytes"]
        assert run(command, "owner").stdout.splitlines() == [text for _, text in part]


def test_no_python_is_linked():
    assert "libpython" not in run(["ldd", program("lifecheck_broken")]).stdout


def test_an_unknown_flag_is_explained():
    result = run([program("lifecheck_broken"), "-runs=many"], "owner")
    assert result.returncode == 2
    assert "-max_total_time=S" in result.stderr


def test_files_are_run_again(tmp_path):
    # Allocate two cells, put a value into each, put another.
    steps = [[0, 0, 2, 0, 0, 0, 0, 0], *([48, 0, 0, 0, 2, 0, 0, value] for value in (1, 3))]
    (tmp_path / "input").write_bytes(bytes(byte for step in steps for byte in step))
    right = run([program("lifecheck_broken"), tmp_path / "input"], "owner")
    assert (right.returncode, right.stderr) == (0, "")
    wrong = run([program("lifecheck_broken"), tmp_path / "input"], "forgets")
    assert wrong.returncode == 1
    assert "leak" in finding(wrong.stderr)


PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(stranger LANGUAGES CXX)
find_package(denizen CONFIG REQUIRED)
foreach(subject owner careless)
    denizen_add_lifecheck(check_${subject} @HERE@/one.cpp)
    target_compile_definitions(check_${subject} PRIVATE SUBJECT=${subject})
endforeach()
"""


def test_clang_makes_a_fuzz_target(tmp_path):
    clang = shutil.which("clang++")
    cmake = shutil.which("cmake", path=Path(sys.executable).parent) or shutil.which("cmake")
    if clang is None or cmake is None:
        pytest.skip("clang++ or cmake is not installed")
    (tmp_path / "probe.cpp").write_text(
        "#include <cstddef>\n#include <cstdint>\n"
        'extern "C" int LLVMFuzzerTestOneInput(const uint8_t *, size_t) { return 0; }\n'
    )
    probe = run([clang, "-fsanitize=fuzzer,address", "probe.cpp", "-o", "probe"], cwd=tmp_path)
    if probe.returncode != 0:
        pytest.skip("clang++ has no libFuzzer: " + probe.stderr[-200:])
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.replace("@HERE@", str(HERE)))
    configure = [cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_CXX_COMPILER={clang}"]
    configure += [
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-Ddenizen_DIR={denizen.get_cmake_dir()}",
    ]
    for command in (configure, [cmake, "--build", tmp_path / "build", "--parallel", "2"]):
        result = run(command)
        assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    flags = ["-len_control=0", "-max_len=480", "-seed=1", f"-artifact_prefix={tmp_path}/"]
    right = run([tmp_path / "build" / "check_owner", *flags, "-runs=300"])
    assert right.returncode == 0, right.stderr[-4000:]
    target = tmp_path / "build" / "check_careless"
    first = run([target, *flags, "-runs=5000"])
    assert first.returncode != 0
    assert "broken::careless: leak" in finding(first.stderr)
    # After all that libFuzzer prints, in numbers that mean something.
    assert first.stderr.endswith(finding(first.stderr))
    for step, listed in numbers(finding(first.stderr)):
        assert step.startswith("fail") or listed[0] < 4
        assert step not in ("allocate", "resize") or listed[1] < 130
    # It is built as the target was.
    (tmp_path / "finding.cpp").write_text(finding(first.stderr))
    with open(tmp_path / "CMakeLists.txt", "a") as project:
        project.write("denizen_add_lifecheck(finding finding.cpp)\n")
        project.write("target_compile_definitions(finding PRIVATE SUBJECT=careless)\n")
    for command in (configure, [cmake, "--build", tmp_path / "build", "--target", "finding"]):
        result = run(command)
        assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    shown = run([tmp_path / "build" / "finding"])
    assert shown.returncode == 1
    assert finding(shown.stderr).splitlines()[0] == finding(first.stderr).splitlines()[0]
    # libFuzzer keeps the bytes, which say the same again.
    again = run([target, next(tmp_path.glob("crash-*"))])
    assert finding(again.stderr) == finding(first.stderr)
