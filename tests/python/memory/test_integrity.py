"""Memory is overwritten on purpose, in processes of their own, and what was hit is named."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from support.c_extension import build

import denizen
from denizen import Integer, Rational

PRELUDE = """
import ctypes, gc, json, sys
import numpy as np
import denizen
from denizen import Integer, Rational

said = []
sys.unraisablehook = lambda event: said.append(
    [type(event.exc_value).__name__, str(event.exc_value)])

def write(array, offset, data):
    "Writes over bytes of an array's memory, counted from its first cell."
    ctypes.memmove(array.ctypes.data + offset, data, len(data))

def full(count=10, dtype=Integer):
    return np.arange(1, count + 1).astype(dtype)

def found():
    return [finding.part for finding in denizen.check_memory()]

result = {}
"""

#: Bytes of the header, of the bitmap's line with the canary, and from the header to the cells.
HEADER, CELLS = 128, 192


def run(code, checked=False, modules=None):
    """What a script leaves in `result`, and what it said of corruption. The process ends well."""
    environment = dict(os.environ, DENIZEN_INTEGRITY=str(int(checked)))
    if modules is not None:
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(modules), environment.get("PYTHONPATH", "")]
        )
    end = "\ngc.collect()\nprint(json.dumps([result, said]))\n"
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code) + end],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
    result, said = json.loads(done.stdout.splitlines()[-1])
    assert all(kind == "IntegrityError" for kind, _ in said), said
    return result, [text for _, text in said]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The directory of a C extension that writes where it has nothing to write."""
    directory = tmp_path_factory.mktemp("overrun")
    build("overrun", directory)
    return directory


# ---- behind the cells ---------------------------------------------------------------------------


@pytest.mark.parametrize("checked", [False, True])
def test_a_c_extension_that_writes_past_the_end_is_told_of_with_the_segment(client, checked):
    result, (text,) = run(
        """
        import overrun
        a = full(10)
        result["address"] = hex(a.ctypes.data)
        overrun.overwrite(a, 80, b"A" * 12)
        result["inspect"] = denizen.inspect(a).integrity
        result["found"] = found()
        before = denizen.stats()["denizen.Integer"]
        del a
        after = denizen.stats()["denizen.Integer"]
        result["destroyed"] = after["destroyed"] - before["destroyed"]
        result["live"] = after["live"]
        """,
        checked,
        client,
    )
    where = f"the segment at {result['address']} (10 cells of denizen.Integer, 80 bytes)"
    what = "12 bytes behind its last cell were overwritten: " + " ".join(["41"] * 12)
    assert text.startswith(f"{where} is corrupted: {what}. ")
    assert "AddressSanitizer" in text and "denizen audit --trace" in text
    assert result["inspect"] == f"{where} is corrupted: {what}"
    assert result["found"] == ["behind"]
    assert (result["destroyed"], result["live"]) == (0, 10), "nothing is destroyed"


@pytest.mark.parametrize("count", [257, 5000, 10**6])
def test_the_end_of_a_large_array_is_watched_in_checked_arrays(count):
    code = """
        a = full(COUNT)
        write(a, 8 * COUNT, bytes([7]))
        result["found"] = found()
        del a
        """.replace("COUNT", str(count))
    result, said = run(code, checked=True)
    assert result["found"] == ["behind"]
    assert "1 byte behind its last cell was overwritten: 07" in said[0]


@pytest.mark.parametrize("count", [*range(1, 20), 64, 128, 256])
def test_the_very_next_byte_behind_any_small_array_is_watched_always(count):
    _, said = run(f"a = full({count}); write(a, 8 * {count}, bytes([7])); del a")
    assert len(said) == 1 and f"({count} cells of denizen.Integer" in said[0]


def test_a_neighbours_header_that_was_run_over_is_no_other_allocators_business():
    result, said = run(
        f"""
        arrays = sorted((np.zeros(10, Rational) for _ in range(64)), key=lambda a: a.ctypes.data)
        for a in arrays:
            a[:] = 1
        near = [(a, b) for a, b in zip(arrays, arrays[1:])
                if b.ctypes.data - a.ctypes.data <= 512]
        a, b = near[0]
        result["first"], result["second"] = hex(a.ctypes.data), hex(b.ctypes.data - {CELLS})
        write(a, 160, b"\\x77" * (b.ctypes.data - {CELLS} + 40 - a.ctypes.data - 160))
        result["owner"] = denizen.owner(b)
        result["read"] = str(b[3])
        del near, arrays
        before = denizen.stats()["denizen.Rational"]["live"]
        b = None
        result["live"] = denizen.stats()["denizen.Rational"]["live"] - before
        result["said"] = len(said)
        a = None
        # The memory of neither is used again.
        more = [np.zeros(10, Rational) for _ in range(200)]
        result["again"] = [hex(m.ctypes.data) for m in more
                           if hex(m.ctypes.data) in (result["first"],)
                           or hex(m.ctypes.data - {CELLS}) == result["second"]]
        """
    )
    assert (result["owner"], result["read"], result["live"]) == ("managed", "1", 0)
    assert result["said"] == 1 and len(said) == 2 and result["again"] == []
    assert said[0].startswith(f"the memory block at {result['second']} (")
    assert "its header was overwritten; the header begins with 77 77 77" in said[0]
    assert f"in front of it lies the segment at {result['first']} (10 cells of" in said[0]
    assert "whose end is overwritten as well" in said[0]
    assert said[1].startswith(f"the segment at {result['first']} (10 cells of denizen.Rational")


# ---- in front of the cells ----------------------------------------------------------------------


def test_a_c_extension_that_writes_in_front_of_the_array_is_told_of(client):
    _, (text,) = run(
        "import overrun; a = full(); overrun.overwrite(a, -4, b'abcd'); del a", modules=client
    )
    assert "the 8 bytes in front of its first cell were overwritten: " in text
    assert "61 62 63 64" in text


PARTS = {
    "magic": (0, "header"),
    "type": (12, "fields"),
    "bytes": (17, "fields"),
    "cells_offset": (26, "fields"),
    "block_size": (33, "fields"),
    "side_bitmap": (42, "fields"),
    "dependency": (50, "fields"),
    "release": (58, "fields"),
    "flags": (65, "fields"),
    "lock": (73, "lock"),
    "slot": (83, "lock"),
}


@pytest.mark.parametrize("field", PARTS)
def test_each_field_of_the_header_is_watched(field):
    offset, part = PARTS[field]
    result, said = run(
        f"""
        a = full()
        write(a, {offset} - {CELLS}, b"\\x2a")
        result["found"] = found()
        result["inspect"] = denizen.inspect(a).integrity
        live = denizen.stats()["denizen.Integer"]["live"]
        del a
        result["live"] = denizen.stats()["denizen.Integer"]["live"] - live
        """
    )
    assert result["found"] == [part], result
    assert "is corrupted" in result["inspect"]
    assert len(said) == 1 and result["live"] == 0


# ---- the cells themselves -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "size", "data", "what"),
    [
        (
            "Integer",
            8,
            "bytes(8)",
            "1 of its cells lost their objects to zeros (the first is cell 7",
        ),
        ("Rational", 16, "bytes(16)", "1 of its cells lost their objects to zeros"),
        ("Integer", 8, "bytes(24)", "3 of its cells lost their objects to zeros"),
    ],
)
def test_zeros_over_objects_are_told_from_a_permutation(dtype, size, data, what):
    code = f"""
        a = full(10, {dtype})
        np.random.default_rng(1).shuffle(a)
        write(a, 7 * {size}, {data})
        result["inspect"] = denizen.inspect(a).integrity
        result["found"] = found()
        """
    result, said = run(code + "del a\n", checked=True)
    assert what in result["inspect"] and result["found"] == ["cells"]
    assert len(said) == 1 and what in said[0]
    # Without the checks the objects are lost without a word; on demand it is told all the same.
    result, said = run(code + "del a\n")
    assert what in result["inspect"] and result["found"] == ["cells"] and said == []


@pytest.mark.parametrize("built", [False, True])
def test_garbage_in_vacant_cells_is_never_taken_for_an_object(built):
    result, (text,) = run(
        f"""
        a = np.zeros(10, Rational)
        if {built}:
            a[0] = 1
        write(a, 5 * 16, b"\\x10" * 16)
        result["inspect"] = denizen.inspect(a).integrity
        del a
        """,
        checked=True,
    )
    what = "1 of its cells hold bytes where no object was built (the first is cell 5"
    assert what in text and what in result["inspect"]


def test_an_overwritten_bitmap_contradicts_the_cells():
    _, (text,) = run(
        f"a = np.zeros(10, Integer); a[2] = 1; write(a, {HEADER} - {CELLS}, b'\\xff'); del a",
        checked=True,
    )
    assert "7 of its cells lost their objects to zeros" in text
    _, (text,) = run(
        f"a = np.zeros(10, Integer); a[2] = 1; write(a, {HEADER} + 1 - {CELLS}, b'\\xf0'); del a",
        checked=True,
    )
    assert "its init bitmap was overwritten: it has bits" in text


def test_what_numpy_moves_as_bytes_is_no_corruption():
    result, said = run(
        """
        rng = np.random.default_rng(1)
        for dtype in (Integer, Rational):
            a = np.zeros(1000, dtype)
            a[::3] = 7
            a[5] = 2
            rng.shuffle(a)
            result["inspect"] = denizen.inspect(a).integrity
            np.random.shuffle(a[100:300])
            b = a.reshape(10, 100)
            rng.shuffle(b, axis=1)
            rng.permuted(b, axis=0, out=b)
            c = rng.permutation(a)
            np.lexsort((a, c))
            a.partition(500)
            c.sort()
            record = np.zeros(20, [("x", dtype), ("n", int), ("y", dtype)])
            record["x"], record["y"][::2] = 3, 4
            rng.shuffle(record)
            record.sort(order="n")
            other = record[::-1].copy()
            other[3:5] = record[:2]
            one = np.zeros(20, [("x", dtype)])
            one["x"][4:9] = a[:5]
            rng.shuffle(one)
            two = one.copy()
            del b
            a.resize(1500, refcheck=False)
            rng.shuffle(a)
            a.resize(20, refcheck=False)
            state = c.__reduce__()[2]
            c = c[:0].copy()
            c.__setstate__(state)
            result["found"] = found()
            del a, c, record, other, one, two, state
            gc.collect()
        live = denizen.stats()
        result["live"] = [live["denizen.Integer"]["live"], live["denizen.Rational"]["live"]]
        """,
        checked=True,
    )
    assert said == []
    assert (result["inspect"], result["found"], result["live"]) == ("intact", [], [0, 0])


# ---- other arrays, resize -----------------------------------------------------------------------


def test_arrays_of_other_dtypes_in_handler_mode_are_watched_too():
    _, said = run(
        """
        for _ in range(2):
            with denizen.handler():
                a = np.ones(10)
            write(a, 80, b"ZZZ")
            del a
        """
    )
    assert len(said) == 2
    assert all("(80 bytes without an element type) is corrupted: 3 bytes" in text for text in said)


def test_memory_of_another_handler_is_not_given_back_where_what_stands_in_front_is_garbage():
    result, (text,) = run(
        """
        sys.path.insert(0, TESTS)
        from support.handlers import OwnHandler
        own = OwnHandler()
        with denizen.handler(under=own.capsule):
            a = np.ones(10)
        write(a, -HEADER - 32, b"!" * 16)
        del a
        result["live"] = len(own.live)
        result["wrong"] = len(own.wrong)
        """.replace("TESTS", repr(str(Path(__file__).parents[1]))).replace("HEADER", str(HEADER))
    )
    assert "in the memory of another allocator, was overwritten" in text
    assert (result["live"], result["wrong"]) == (1, 0)


@pytest.mark.parametrize("to", [3, 1000])
def test_a_corrupted_array_is_not_resized_and_stays_readable(to):
    result, said = run(
        f"""
        a = full()
        write(a, 80, b"ZZ")
        for attempt in range(2):
            try:
                a.resize({to}, refcheck=False)
            except denizen.IntegrityError as error:
                result[attempt] = str(error)
        result["values"] = [int(value) for value in a]
        a[3] = 77
        result["cell"] = int(a[3])
        result["inspect"] = denizen.inspect(a).integrity
        del a
        """
    )
    assert "the array cannot be resized: the segment at" in result["0"]
    assert "was found to be corrupted before" in result["1"]
    assert result["values"] == list(range(1, 11)) and result["cell"] == 77
    assert "found corrupted before" in result["inspect"]
    # The exception is all that is said.
    assert said == []


def test_a_resize_whose_error_cannot_be_raised_is_said_as_ignored():
    result, said = run(
        """
        a = full()
        write(a, 80, b"ZZ")
        # What a C extension calls: it is told that there is no memory, and nothing else.
        from numpy._core import multiarray
        table = ctypes.pythonapi.PyCapsule_GetPointer
        table.restype, table.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        functions = ctypes.cast(table(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
        class Dims(ctypes.Structure):
            _fields_ = [("ptr", ctypes.POINTER(ctypes.c_ssize_t)), ("len", ctypes.c_int)]
        size = (ctypes.c_ssize_t * 1)(1000)
        resize = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.py_object, ctypes.POINTER(Dims), ctypes.c_int, ctypes.c_int
        )(functions[80])
        try:
            resize(a, ctypes.byref(Dims(size, 1)), 0, 0)
        except MemoryError as error:
            result["error"] = str(error)
        """
    )
    assert result["error"] and len(said) == 1


@pytest.mark.parametrize("count", [10, 5000])
def test_what_is_said_at_a_free_can_be_told_from_an_error_that_ends_the_program(count):
    code = f"""
        a = full({count})
        write(a, 8 * {count}, b"ZZ")
        sys.unraisablehook = sys.__unraisablehook__
        del a
        print("runs on")
    """
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=dict(os.environ, DENIZEN_INTEGRITY="yes"),
    )
    assert (done.returncode, done.stdout) == (0, "runs on\n")
    first, *_, last = done.stderr.splitlines()
    assert first == "Exception ignored in: 'denizen: memory of an array'"
    assert last.startswith("denizen.IntegrityError: the segment at ")


def test_an_audit_checks_thoroughly_and_knows_where_the_array_was_made():
    result, (text,) = run(
        """
        try:
            with denizen.audit() as audit:
                a = full(5000)
                write(a, 8 * 5000, b"Z")
                del a
        except denizen.LeakError:
            result["leak"] = True
        result["corruptions"] = audit.to_dict()["corruptions"]
        result["leaks"], result["text"] = audit.leaks, str(audit)
        result["after"] = denizen._runtime._set_integrity(False)
        """
    )
    (line,) = [
        number
        for number, text in enumerate(PRELUDE.splitlines(), 1)
        if text.startswith("    return np.arange")
    ]
    assert f"(5000 cells of denizen.Integer, 40000 bytes, made at <string>:{line} in full)" in text
    assert result["leak"] and result["after"] is False
    (leak,) = result["leaks"]
    assert (leak["where"], leak["count"], leak["segments"]) == ("corrupted", 5000, 1)
    assert leak["bytes"] == 40000 and leak["site"]["function"] == "full"
    assert "5,000 in 1 corrupted array (40,000 bytes), first made after" in result["text"]
    (corruption,) = result["corruptions"]
    assert "1 byte behind its last cell was overwritten: 5a" in corruption["what"]


@pytest.mark.parametrize(
    "spoil",
    [
        "write(a, 80, b'ZZ')",
        "write(a, 0, bytes(8))",
        f"write(a, -{CELLS}, b'Z' * 16)",
        f"write(a, -{CELLS - 24}, b'Z' * 16)",
        "write(a, 80, b'ZZ'); a[3] = 77",
    ],
)
def test_objects_of_a_corrupted_array_are_known_to_be_in_it(spoil):
    result, said = run(
        f"""
        with denizen.audit(raises=False) as audit:
            a, b = full(), full(3)
            {spoil}
            del a
        result["leaks"] = [
            [leak["where"], leak["count"], (leak["site"] or {{}}).get("function")]
            for leak in audit.leaks
        ]
        """
    )
    assert result["leaks"] == [["corrupted", 10, "full"], ["managed", 3, "full"]]
    assert len(said) == 1


# ---- the switch ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "checked"),
    [
        *((value, True) for value in ("1", "true", "Yes", "ON", " on ")),
        *((value, False) for value in ("", "0", "false", "No", "OFF")),
        *((value, None) for value in ("2", "enabled", "-1", "1.0")),
    ],
)
def test_the_environment_says_yes_or_no_or_the_import_fails(value, checked):
    done = subprocess.run(
        [sys.executable, "-c", "import denizen; print(denizen._runtime._set_integrity(False))"],
        capture_output=True,
        text=True,
        env=dict(os.environ, DENIZEN_INTEGRITY=value),
    )
    if checked is None:
        assert done.returncode == 1
        told = (
            f'ImportError: the environment variable DENIZEN_INTEGRITY is "{value}"; it is 1, true,'
        )
        assert told in done.stderr.splitlines()[-1]
    else:
        assert (done.stdout, done.stderr) == (f"{checked}\n", "")


def test_the_switch_is_a_function_and_a_block():
    before = denizen.integrity(True)._before
    try:
        with denizen.integrity(False):
            assert denizen._runtime._set_integrity(False) is False
            with denizen.integrity():
                assert denizen._runtime._set_integrity(True) is True
            assert denizen._runtime._set_integrity(False) is False
        assert denizen._runtime._set_integrity(True) is True
    finally:
        denizen.integrity(before)
    with pytest.raises(TypeError):
        denizen.integrity("yes")


def test_arrays_that_are_whole_are_intact():
    with denizen.integrity():
        a, b = np.zeros(10, Integer), np.full(1000, 2**70, dtype=Rational)
    assert denizen.inspect(a).integrity == denizen.inspect(b[::-3]).integrity == "intact"
    assert denizen.inspect(a).corruption is None
    assert "memory intact" in repr(denizen.inspect(b))
    assert denizen.check_memory() == []


FAULTS = """
    import resource
    def faults(make):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        array = make()
        del array
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    make = lambda: np.zeros(10**7, Integer)
    make()
    result["faults"] = min(faults(make) for _ in range(5))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts page faults")
def test_where_nothing_was_built_no_page_is_touched_unless_checks_are_on():
    untouched, _ = run(FAULTS)
    checked, _ = run(FAULTS, checked=True)
    assert untouched["faults"] <= 6
    assert checked["faults"] > untouched["faults"]
