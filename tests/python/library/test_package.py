"""The package around the runtime: names, `inspect`, `audit`, the command line."""

import gc
import subprocess
import sys
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import denizen
from denizen.__main__ import main
from denizen._inspect import draw_bitmap


def test_all_names_exist_and_the_version_is_the_wheels():
    for name in denizen.__all__:
        assert getattr(denizen, name) is not None, name
    assert denizen.__version__ == version("denizen")


def test_bundled_types_are_registered():
    assert {"denizen.Integer", "denizen.Rational"} <= set(denizen.types())
    assert denizen.stats().keys() >= {"denizen.Integer", "denizen.Rational"}
    assert issubclass(denizen.Integer, int)
    assert issubclass(denizen.Rational, Fraction)


def test_scalar_class_is_accepted_as_dtype():
    for scalar in (denizen.Integer, denizen.Rational):
        a = np.array([3, 4], dtype=scalar)
        assert a.dtype == np.dtype(scalar)
        assert type(a[0]) is scalar
        assert a.tolist() == [3, 4]


def test_rational_scalars_stay_rational_in_arithmetic_with_scalars_and_arrays():
    third = denizen.Rational(1, 3)
    for result in (third + 1, 1 - third, third / 2, 2 / third, -third, abs(third), third**2):
        assert type(result) is denizen.Rational
    assert (third - Fraction(1, 4), Fraction(1, 4) - third) == (Fraction(1, 12), Fraction(-1, 12))
    assert type(Fraction(1, 4) * third) is denizen.Rational
    assert type(third + 0.5) is float
    assert type(third // 1) is int
    a = np.array([1, 2, 6], dtype=denizen.Rational)
    for mean in (a.sum() / a.size, a.mean()):
        assert (a - mean).dtype == (mean - a).dtype == a.dtype
        assert (a - mean).tolist() == [-2, -1, 3]


def test_importing_leaves_the_callers_handler_alone():
    code = (
        "import numpy as np; from numpy._core.multiarray import get_handler_name as name\n"
        "before = name(); import denizen; assert name() == before == denizen.handler_name()\n"
        "np.zeros(3, dtype=denizen.Rational); assert name() == before\n"
        "assert name(np.zeros(3)) == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_inspect_sees_live_objects_in_the_bitmap():
    a = np.zeros(70, dtype=denizen.Rational)
    a[3] = Fraction(1, 3)
    a[65] = Fraction(2, 3)
    found = denizen.inspect(a)
    assert found.type == "denizen.Rational"
    assert found.owner == denizen.owner(a) == "managed"
    assert found.cells == 70
    assert found.bytes == 70 * a.itemsize
    assert found.address == a.ctypes.data
    assert found.live == sum(found.bitmap)
    assert found.bitmap[3] and found.bitmap[65]
    assert len(found.bitmap) == 70
    text = repr(found)
    assert "denizen.Rational: managed memory at 0x" in text
    assert f"{found.live} live" in text
    assert "\n  memory intact\n" in text
    assert text.count("\n") == 6


def test_inspect_refuses_other_arrays():
    for look in (denizen.inspect, denizen.owner):
        with pytest.raises(TypeError, match=r"got an array of int16$"):
            look(np.zeros(3, np.int16))
        with pytest.raises(TypeError, match="got <class 'list'>"):
            look([1, 2])


def test_inspect_says_when_the_segment_is_larger_than_the_array():
    a = np.ones(70, dtype=denizen.Rational)
    assert "whole segment" not in repr(denizen.inspect(a))
    part = denizen.inspect(a[10:15])
    assert (part.size, part.cells, part.live) == (5, 70, 70)
    assert "70 live, of the whole segment (the array has 5)" in repr(part)


def test_inspect_says_that_a_segment_is_untouched():
    a = np.empty(5, dtype=denizen.Rational)
    found = denizen.inspect(a)
    assert (found.untouched, found.live, found.bitmap) == (True, 0, ())
    assert "untouched" in repr(found)
    a[2] = Fraction(1, 3)
    found = denizen.inspect(a)
    assert (found.untouched, found.live, sum(found.bitmap)) == (False, 1, 1)
    assert "untouched" not in repr(found)


def test_bitmap_drawing_is_compact():
    assert draw_bitmap(()) == ([], 1)
    assert draw_bitmap((True, False, True)) == (["#.#"], 1)
    lines, group = draw_bitmap((True,) * 64 + (False,))
    assert (lines, group) == (["#" * 64, "."], 1)
    lines, group = draw_bitmap(((True, False) * 600 + (True,) * 24) * 1000)
    assert len(lines) <= 8
    assert max(map(len, lines)) == 64
    assert group * sum(map(len, lines)) >= 1_224_000
    assert set("".join(lines)) <= set("#.+")


def test_audit_passes_when_everything_is_gone():
    with denizen.audit():
        a = np.array([1, 2, 3], dtype=denizen.Rational)
        assert (a + a).tolist() == [2, 4, 6]
        del a


def test_audit_names_type_and_count():
    with pytest.raises(denizen.LeakError, match=r"^3 denizen\.Rational objects outlived") as info:
        with denizen.audit():
            kept = np.array([1, 2, 3], dtype=denizen.Rational)
    assert info.value.leaks == {"denizen.Rational": 3}
    assert kept.size == 3


def test_audit_collects_cycles_first():
    with denizen.audit():
        cycle = [np.array([1, 2], dtype=denizen.Rational)]
        cycle.append(cycle)
        del cycle


def test_audits_nest():
    with denizen.audit():
        with pytest.raises(denizen.LeakError):
            with denizen.audit():
                a = np.ones(2, dtype=denizen.Rational)
        with denizen.audit():
            b = a + a
            del b
        del a


def test_audit_lets_exceptions_through():
    with pytest.raises(ZeroDivisionError):
        with denizen.audit():
            _kept = np.ones(2, dtype=denizen.Rational)
            raise ZeroDivisionError


def test_live_count_returns_when_arrays_are_gone():
    gc.collect()
    before = denizen.stats()["denizen.Integer"]["live"]
    a = np.array([10**30, 10**31], dtype=denizen.Integer)
    assert denizen.stats()["denizen.Integer"]["live"] == before + 2
    del a
    assert denizen.stats()["denizen.Integer"]["live"] == before


def test_info_names_versions_and_types(capsys):
    assert main(["info"]) == 0
    output = capsys.readouterr().out
    for word in (denizen.__version__, np.__version__, "denizen.Integer", "managed segments"):
        assert word in output


def test_command_line_without_a_command_prints_help(capsys):
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_directories_for_compilers_are_printed(capsys):
    assert main(["--include-dir"]) == 0
    assert main(["--cmake-dir"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == [
        denizen.get_include(),
        denizen.get_cmake_dir(),
    ]


@pytest.mark.parametrize("folder", ["include", "cmake"])
def test_the_package_carries_every_file_for_compilers(folder):
    # `make header` makes the links that put them into the wheel.
    source = Path(__file__).parents[3] / "cpp-bridge" / folder
    installed = Path(denizen.get_include()).parent / folder
    files = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    assert files
    assert {path for path in files if not (installed / path).is_file()} == set()
    for path in files:
        assert (installed / path).read_text() == (source / path).read_text()


def test_console_script_and_module_are_the_same_command():
    script = Path(sys.executable).with_name("denizen")
    for command in ([str(script)], [sys.executable, "-m", "denizen"]):
        output = subprocess.run(
            [*command, "--version"], check=True, capture_output=True, text=True
        ).stdout
        assert output == f"denizen {denizen.__version__}\n"
