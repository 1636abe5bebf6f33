"""A C extension, compiled against the header in the wheel: its types live in NumPy arrays."""

import ctypes
import gc
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.c_extension import INCLUDES, SOURCES, WARNINGS, build, compiler, load

import denizen
from denizen import _runtime

HEADER = Path(denizen.get_include()) / "denizen" / "denizen.h"
REPOSITORY = SOURCES.parents[1]


@pytest.fixture(scope="session")
def modules(tmp_path_factory):
    """Path of each compiled module."""
    directory = tmp_path_factory.mktemp("c")
    return {name: build(name, directory) for name in ("point", "smoke")}


@pytest.fixture(scope="session")
def point(modules):
    return load("point", modules["point"])


@pytest.fixture
def boxes(point):
    """Makes arrays of boxes; afterwards the C side has as many boxes as before, and at every
    moment as many as the runtime says."""

    def live():
        gc.collect()
        built, gone, _ = point.counters()
        return built - gone

    before, known = live(), point.box_stats()[0]
    yield lambda *values: np.array(values, dtype=np.int64).astype(point.Box)
    point.limit_allocations(-1)
    assert (live(), point.box_stats()[0]) == (before, known)


def floats(array):
    return array.astype(float, casting="unsafe").tolist()


# ---- the header ----------------------------------------------------------------------------------


def test_the_installed_header_is_the_one_of_the_repository():
    assert HEADER.read_text() == (REPOSITORY / "cpp-bridge/include/denizen/denizen.h").read_text()


@pytest.mark.parametrize(
    "command",
    [
        [*compiler("CC", "cc"), "-x", "c", "-std=c11"],
        [*compiler("CXX", "c++"), "-x", "c++", "-std=c++17"],
    ],
    ids=["C11", "C++17"],
)
def test_the_header_alone_compiles_without_a_warning(command, tmp_path):
    source = tmp_path / "header"
    source.write_text("#include <denizen/denizen.h>\n#include <denizen/denizen.h>\n")
    flags = [*WARNINGS, "-pedantic", *INCLUDES, "-fsyntax-only"]
    subprocess.run([*command, *flags, source], check=True)


@pytest.mark.parametrize(
    ("command", "alignment"),
    [
        ([*compiler("CC", "cc"), "-x", "c", "-std=c11"], "_Alignof"),
        ([*compiler("CXX", "c++"), "-x", "c++", "-std=c++17"], "alignof"),
    ],
    ids=["C11", "C++17"],
)
def test_every_type_member_and_constant_is_where_rust_has_it(command, alignment, tmp_path):
    ours = {name: (value, size) for name, value, size in _runtime._abi_layout()}
    lines = []
    for name in ours:
        owner, _, member = name.partition(".")
        if name.startswith("DENIZEN_"):
            values = f"(long long){name}, (size_t)0"
        elif member:
            values = f"(long long)offsetof({owner}, {member}), sizeof((({owner} *)0)->{member})"
        else:
            values = f"(long long)sizeof({owner}), {alignment}({owner})"
        lines.append(f'    printf("{name} %lld %zu\\n", {values});')
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(
        "#include <denizen/denizen.h>\n#include <stdio.h>\nint main(void)\n{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    # Only the helpers of the header need Python's library, and nothing calls them.
    flags = ["-O1", *WARNINGS, *INCLUDES]
    subprocess.run([*command, *flags, source, "-o", program], check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in output.splitlines())
    assert {name: (int(value), int(size)) for name, value, size in rows} == ours


def test_the_layout_misses_nothing_that_the_header_declares():
    ours = {name for name, *_ in _runtime._abi_layout()}
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    constants = set(re.findall(r"^#define (DENIZEN_\w+) \S", text, re.MULTILINE))
    assert constants - ours == {"DENIZEN_VERSION", "DENIZEN_CAPSULE_NAME"}
    structs = re.findall(r"^typedef struct (\w+) \{(.*?)^\} \1;", text, re.MULTILINE | re.DOTALL)
    # `(*name)(...);` is a member that is a function, `type name;` or `type name[..];` another one.
    member = re.compile(r"\(\*(\w+)\)\([^;]*;|(\w+)(?:\[\w+\])?;")
    members = {
        f"{struct}.{function or name}"
        for struct, body in structs
        for function, name in member.findall(body)
    }
    assert len(structs) > 8
    assert members == {name for name in ours if "." in name}


# ---- the types -----------------------------------------------------------------------------------


def test_points_need_no_code_for_life_and_death(point):
    a = np.zeros(3, dtype=point.Point)
    assert [str(x) for x in a] == ["(0, 0)"] * 3
    a[1:] = np.array([1.5, 2.5]).astype(point.Point)
    assert [str(x) for x in a + a[::-1]] == ["(2.5, 0)", "(3, 0)", "(2.5, 0)"]
    assert [str(x) for x in np.concatenate([a, a[:1].copy()])][-1] == "(0, 0)"
    assert point.sum_points(a) == 4.0
    assert point.Point.__doc__ == "A point of the plane."


def test_boxes_live_in_arrays_and_each_is_freed_once(point, boxes):
    a = boxes(3, 1, 2)
    assert floats(a) == [3, 1, 2]
    b = a + a
    c = np.concatenate([a, b, a.copy()])
    c.sort()
    assert floats(c) == [1, 1, 2, 2, 2, 3, 3, 4, 6]
    assert floats(c[np.array([8, 0])]) == [6, 1]
    c.resize(20, refcheck=False)
    assert floats(c)[8:] == [6] + [0] * 11
    c.resize(2, refcheck=False)
    c[0] = "7.25"
    assert [str(x) for x in c] == ["7.25", "1"]
    assert np.argsort(a).tolist() == [1, 2, 0]


def test_the_counters_of_c_and_of_the_runtime_agree(point, boxes):
    built, gone, _ = point.counters()
    live, constructed, destroyed = point.box_stats()
    a = boxes(*range(1000))
    b = (a + a)[::2].copy()
    b[:10] = a[-10:]
    del a
    gc.collect()
    now_built, now_gone, _ = point.counters()
    now_live, now_constructed, now_destroyed = point.box_stats()
    assert now_live - live == len(b) == (now_built - built) - (now_gone - gone)
    assert now_constructed - constructed == now_built - built
    assert now_destroyed - destroyed == now_gone - gone
    stats = denizen.stats()["point.Box"]
    assert (stats["live"], stats["constructed"]) == (now_live, now_constructed)


def test_a_vacant_box_reads_as_its_default(point, boxes):
    built, *_ = point.counters()
    a = np.zeros(100, dtype=point.Box)
    assert floats(a + a) == [0] * 100
    del a
    assert point.counters()[0] - built == 100, "one box each for the sums, none for the zeros"


@pytest.mark.parametrize("k", [0, 1, 50, 99])
def test_a_loop_without_memory_loses_nothing(point, boxes, k):
    a = boxes(*range(100))
    live = point.box_stats()[0]
    for operation in (lambda: a + a, lambda: a.copy(), lambda: np.concatenate([a[:k], a])):
        point.limit_allocations(k)
        with pytest.raises(MemoryError, match="no memory for a box"):
            operation()
        point.limit_allocations(-1)
        gc.collect()
        assert point.box_stats()[0] == live
    assert floats(a) == list(range(100))


@pytest.mark.parametrize("text", ["", "x", "1x", "1" * 50, "1 "])
def test_text_that_is_no_number_is_refused(point, boxes, text):
    a = boxes(1, 2)
    with pytest.raises(ValueError):
        a[0] = text
    assert floats(a) == [1, 2]


def test_adopted_points_stay_until_the_last_view_is_gone(point):
    released = point.counters()[2]
    a = point.adopt_points(10, 0)
    assert denizen.owner(a) == "adopted"
    assert not a.flags.writeable
    assert point.sum_points(a) == sum(range(10))
    view = a[3:]
    del a
    gc.collect()
    assert point.counters()[2] == released
    assert [str(x) for x in view[:2] + view[:2]] == ["(6, 0)", "(8, 0)"]
    del view
    gc.collect()
    assert point.counters()[2] == released + 1


def test_a_failing_adoption_releases_the_owner_once(point):
    released = point.counters()[2]
    with pytest.raises(ValueError, match=r"not aligned to the 8 bytes that point\.Point needs"):
        point.adopt_points(3, 4)
    assert point.counters()[2] == released + 1


def test_a_view_of_another_dtype_is_refused(point):
    for other in [np.zeros(2), np.zeros(2, dtype=point.Box), [1.0], None]:
        with pytest.raises(TypeError, match=r"expected an array of point\.Point"):
            point.sum_points(other)


# ---- versions ------------------------------------------------------------------------------------

NAME = b"denizen._runtime._C_API"


@pytest.fixture
def table(monkeypatch):
    """Replaces the function table in the capsule by a changed copy of its first bytes."""
    get, new = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    new.restype = ctypes.py_object
    layout = {name: value for name, value, _ in _runtime._abi_layout()}
    whole = ctypes.string_at(get(_runtime._C_API, NAME), layout["denizen_api"])
    kept = []

    def replace(size=None, version=None):
        size = size or len(whole)
        copy = bytearray(whole[:size])
        copy[:8] = size.to_bytes(8, "little")
        if version is not None:
            at = layout["denizen_api.abi_version"]
            copy[at : at + 4] = version.to_bytes(4, "little")
        kept.append(ctypes.create_string_buffer(bytes(copy), size))
        monkeypatch.setattr(_runtime, "_C_API", new(ctypes.addressof(kept[-1]), NAME, None))

    replace.layout = layout
    return replace


@pytest.fixture
def load_smoke(modules, tmp_path):
    """Initialises the module anew: Python keeps modules by path."""
    return lambda: load("smoke", shutil.copy(modules["smoke"], tmp_path))


def test_the_smallest_client_makes_arrays(load_smoke):
    smoke = load_smoke()
    assert smoke.zeros("denizen.Integer").tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(LookupError, match=r"no element type other\.Type"):
        smoke.zeros("other.Type")
    with pytest.raises(TypeError, match="cells of 16 bytes aligned to 8, not 8"):
        smoke.zeros("denizen.Rational")


def test_a_client_works_with_an_older_table_that_has_what_it_needs(load_smoke, table):
    layout = table.layout
    table(size=layout["denizen_api.adopt"], version=layout["DENIZEN_ABI_VERSION"])
    assert load_smoke().zeros("denizen.Integer").shape == (2, 3)


def test_a_table_without_the_needed_members_is_refused_with_both_versions(load_smoke, table):
    table(size=table.layout["denizen_api.empty"])
    version = denizen.__version__
    message = rf"built for denizen {version} \(interface 1\.2\).*denizen {version}.*upgrade"
    with pytest.raises(ImportError, match=message):
        load_smoke()


def test_a_newer_table_works(load_smoke, table):
    table(version=table.layout["DENIZEN_ABI_VERSION"] + 7)
    assert load_smoke().zeros("denizen.Integer").shape == (2, 3)


@pytest.mark.parametrize("major", [0, 2, 0xFFFF])
def test_another_major_version_is_refused_with_both_versions(load_smoke, table, major):
    table(version=(major << 16) + 3)
    message = rf"interface 1\.2 of denizen.*has interface {major}\.3: rebuild"
    with pytest.raises(ImportError, match=message):
        load_smoke()
