"""The dtype as a citizen of NumPy: what it says of itself, and how NumPy's questions about dtypes
are answered, for every registered type (T46)."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.kinds import KINDS

import denizen

Integer, Rational = denizen.Integer, denizen.Rational

#: Every type of NumPy, by letter.
LETTERS = "?bBhHiIlLqQefdgFDGSUVOMm"
LEVELS = ("no", "equiv", "safe", "same_kind", "unsafe")


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def dtype(request):
    return np.dtype(request.param.element)


def test_a_dtype_says_what_it_is(dtype):
    name = dtype.name
    module, _, short = name.rpartition(".")
    assert name in denizen.types()
    assert str(dtype) == repr(dtype) == dtype.str == f"{dtype}" == name
    assert (dtype.type.__module__, dtype.type.__name__) == (module, short)
    assert type(dtype).__name__ == f"{short}DType"
    assert dtype.descr == [("", name)]
    # A kind that no program takes for numbers, raw bytes or pointers to Python objects.
    assert (dtype.kind, dtype.char, dtype.num, dtype.byteorder) == ("E", "O", -1, "|")
    assert (dtype.isnative, dtype.hasobject, dtype.isbuiltin) == (True, True, 0)
    assert (dtype.fields, dtype.names, dtype.subdtype, dtype.metadata) == (None,) * 4
    assert (dtype.shape, dtype.ndim, dtype.base) == ((), 0, dtype)
    # A multiple of the alignment, as cells lie side by side.
    assert dtype.itemsize > 0 and dtype.itemsize % dtype.alignment == 0
    assert not dtype.isalignedstruct


def test_there_is_one_dtype_a_type(dtype):
    for same in (
        np.dtype(dtype),
        np.dtype(dtype.type),
        type(dtype)(),
        copy.copy(dtype),
        copy.deepcopy(dtype),
        dtype.type.dtype,
        *(pickle.loads(pickle.dumps(dtype, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
    ):
        assert same is dtype
    assert pickle.loads(pickle.dumps(type(dtype))) is type(dtype)
    for arguments in ({"args": (5,)}, {"kwargs": {"precision": 5}}):
        with pytest.raises(TypeError, match="takes no arguments"):
            type(dtype)(*arguments.get("args", ()), **arguments.get("kwargs", {}))
    assert np.empty(0, dtype=type(dtype)).dtype is dtype


def test_equality_and_hash_of_dtypes(dtype):
    assert dtype == dtype.type and not dtype != dtype.type
    assert hash(dtype) == hash(np.dtype(dtype.type))
    assert {dtype: 1}[np.dtype(dtype.type)] == 1
    others = [np.dtype(kind.element) for kind in KINDS.values()]
    assert sum(dtype == other for other in others) == 1
    for other in (object, int, float, "i8", "V8", "O", None, 5, dtype.name):
        assert (dtype == other) is False
        assert (dtype != other) is True
    assert all(np.dtype(letter) != dtype for letter in LETTERS)


def test_names_are_no_specifications_of_dtypes(dtype):
    with pytest.raises(TypeError, match="not understood"):
        np.dtype(dtype.name)
    with pytest.raises((TypeError, ValueError), match="not understood|not recognized"):
        np.dtype(f"{dtype.name},i4")
    with pytest.raises(TypeError):
        np.dtype([("a", dtype.name)])


def test_a_dtype_is_no_type_of_numpys(dtype):
    for other in (
        *(np.generic, np.number, np.integer, np.signedinteger, np.inexact, np.floating),
        *(np.complexfloating, np.flexible, np.character, np.object_, np.bool_, np.void, np.str_),
        *(object, int, float, complex, bool, str, "i8", np.dtype("O")),
    ):
        assert np.issubdtype(dtype, other) is False
        assert np.issubdtype(other, dtype) is False
    assert np.issubdtype(dtype, dtype.type) is True
    assert np.issubdtype(dtype, dtype) is True
    assert np.issubdtype(dtype.type, dtype.type) is True
    # NumPy answers this one for its own dtypes only.
    for kind in ("bool", "integral", "numeric", np.int64, dtype):
        with pytest.raises(TypeError, match="must be a NumPy dtype"):
            np.isdtype(dtype, kind)


def test_limits_and_byte_orders_are_refused(dtype):
    for limits in (np.iinfo, np.finfo):
        for subject in (dtype, dtype.type):
            with pytest.raises(ValueError):
                limits(subject)
    for order in (">", "<", "=", "S"):
        with pytest.raises(TypeError, match="DescrNewByteOrder"):
            dtype.newbyteorder(order)
    with pytest.raises(TypeError, match="metadata"):
        np.dtype(dtype, metadata={"a": 1})
    with pytest.raises(TypeError, match="non-numeric"):
        np.common_type(np.zeros(1), np.empty(1, dtype))
    with pytest.raises(TypeError, match="Cannot subclass"):
        type("Sub", (type(dtype),), {})
    with pytest.raises(AttributeError):
        dtype.name = "other"
    with pytest.raises(KeyError, match="no fields"):
        dtype["a"]


@pytest.mark.parametrize("letter", LETTERS)
def test_questions_about_casts_have_answers(dtype, letter):
    """Sane ones: what is allowed at one level is at every laxer one."""
    other = np.dtype("M8[s]" if letter == "M" else "m8[s]" if letter == "m" else letter)
    for ends in ((dtype, other), (other, dtype)):
        answers = [np.can_cast(*ends, level) for level in LEVELS]
        assert answers == sorted(answers)
        assert answers[:2] == [False, False]
    for promote in (np.promote_types, np.result_type):
        results = set()
        for ends in ((dtype, other), (other, dtype)):
            try:
                results.add(promote(*ends))
            except TypeError as error:
                assert "common DType" in str(error) or "could not be promoted" in str(error)
                results.add(None)
        assert len(results) == 1
        assert results <= {None, dtype, np.dtype("O")} or results.pop().kind in "fc"


def test_levels_and_common_types_of_the_number_types():
    for element in (Integer, Rational):
        dtype = np.dtype(element)
        for letter in "?bBhHiIlLqQ":
            assert np.promote_types(dtype, letter) == dtype
            assert np.can_cast(letter, dtype, "safe")
            assert not np.can_cast(dtype, letter, "safe")
        for letter in "efd":
            assert np.promote_types(letter, dtype) == np.float64
            assert np.can_cast(dtype, letter, "same_kind")
        assert np.promote_types(dtype, "g") == np.longdouble
        for letter in "FD":
            assert np.promote_types(dtype, letter) == np.complex128
        assert np.promote_types(dtype, object) == np.dtype("O")
        assert np.result_type(dtype, 5) == np.result_type(dtype, True) == dtype
        assert np.result_type(dtype, 1.5) == np.float64
        assert np.result_type(element(1), element(2), np.int8(3)) == dtype
        assert np.min_scalar_type(element(5)) == np.min_scalar_type(np.zeros(2, dtype)) == dtype
        assert np.can_cast(dtype, dtype, "no")
    assert np.promote_types(Integer, Rational) == np.promote_types(Rational, Integer) == Rational
    assert np.can_cast(Integer, Rational, "safe")
    assert not np.can_cast(Rational, Integer, "same_kind")


@pytest.mark.parametrize("element", [Integer, Rational])
def test_questions_about_values(element):
    a = np.array([1, -2], dtype=element)
    assert np.isscalar(a[0])
    assert np.isrealobj(a) and not np.iscomplexobj(a)
    assert np.isreal(a).all() and not np.iscomplex(a).any()
    assert np.real(a).tolist() == a.conj().tolist() == np.real_if_close(a).tolist() == [1, -2]
    assert np.imag(a).tolist() == [0, 0]
    assert a.real.dtype == a.imag.dtype == a.dtype


def test_structures_hold_elements(dtype):
    record = np.dtype([("a", dtype), ("b", "<i4")])
    assert record["a"] is dtype
    assert record.fields["b"] == (np.dtype("<i4"), dtype.itemsize)
    assert record.descr == [("a", dtype.name), ("b", "<i4")]
    assert pickle.loads(pickle.dumps(record)) == record == copy.deepcopy(record)
    assert "DType" in repr(record)
    assert np.dtype({"names": ["a"], "formats": [dtype]})["a"] is dtype
    aligned = np.dtype([("b", "i1"), ("a", dtype)], align=True)
    assert aligned.fields["a"][1] % dtype.alignment == 0
    with pytest.raises(TypeError):
        record.newbyteorder(">")


def test_raw_bytes_are_no_elements(dtype):
    cells = np.empty(2, dtype)
    for source in (np.void(b"x"), np.zeros((), "V8")):
        with pytest.raises(TypeError, match=f"raw bytes are no {dtype.name}"):
            cells[0] = source
    for source in (np.zeros(2, "V8"), np.ones(2, "V3"), np.zeros(2, [("x", "i8")])):
        with pytest.raises(TypeError, match="take a field by its name"):
            source.astype(dtype)
        with pytest.raises(TypeError, match="take a field by its name"):
            cells[:] = source
    with pytest.raises(ValueError, match="No cast function"):
        cells.astype("V8")
    assert denizen.inspect(cells).live == 0


def test_numpy_never_hears_of_our_names():
    assert not {Integer, Rational} & set(np.sctypeDict.values())
    assert not [key for key in np.sctypeDict if "denizen" in str(key)]


def test_the_results_of_vectorize_are_objects():
    a = np.array(["1/3", 2], dtype=Rational)
    result = np.vectorize(lambda x: x + 1)(a)
    assert result.dtype == object
    assert result.tolist() == [Rational(4, 3), 3]
    assert np.vectorize(lambda x: x + 1, otypes=[Rational])(a).tolist() == [Rational(4, 3), 3]


def run(script):
    """What a script prints, in a Python of its own."""
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(
        command, check=True, timeout=120, stdout=subprocess.PIPE, text=True
    ).stdout


def test_importing_again_gives_the_same_types():
    run(
        """
import importlib, pickle, sys
import numpy as np
import denizen as first
a = np.array([1, 2**70], dtype=first.Integer)
pickled = pickle.dumps((a, a[1], a.dtype))
for _ in range(2):
    for name in [name for name in sys.modules if name.split(".")[0] == "denizen"]:
        del sys.modules[name]
    import denizen
    assert denizen is not first
    for name in ("Integer", "RationalDType", "VacantError", "BorrowError", "handler"):
        assert getattr(denizen, name) is getattr(first, name), name
    assert denizen.types() == first.types()
    b = np.array([1, "3"], dtype=denizen.Integer)
    assert (a + b).tolist() == [2, 2**70 + 3] and denizen.owner(a + b) == "managed"
    copy, scalar, dtype = pickle.loads(pickled)
    assert copy.tolist() == a.tolist() and type(scalar) is first.Integer and dtype is a.dtype
    with denizen.audit():
        denizen.linalg.solve([[2]], [1])
    with denizen.handler():
        assert denizen.handler_name() == "denizen"
importlib.reload(sys.modules["denizen"])
"""
    )


def test_an_import_that_failed_half_way_says_so_when_it_is_tried_again():
    run(
        """
from importlib.machinery import SourceFileLoader
load = SourceFileLoader.exec_module
def broken(loader, module):
    load(loader, module)
    if module.__name__ == "denizen._scalars":
        # The second of the scalar classes is none.
        module.Rational = 5
SourceFileLoader.exec_module = broken
for error, words in ((TypeError, "scalar class is no class"), (ImportError, "earlier import")):
    try:
        import denizen
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError("imported")
    SourceFileLoader.exec_module = load
"""
    )


def test_importing_changes_nothing_for_others():
    """Of NumPy's modules only what docs/numpy.md names is another object afterwards."""
    script = """
import sys, warnings, threading, signal, locale
import numpy as np
import numpy.ma, numpy.random, numpy.linalg, numpy.testing

def state():
    names = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "numpy":
            for attribute, value in vars(module).items():
                names[name, attribute] = value
    return names

def settings():
    return (
        np.geterr(), np.get_printoptions(), np.getbufsize(), warnings.filters[:],
        dict(np.sctypeDict), dict(np._core.umath.__dict__), threading.active_count(),
        [signal.getsignal(s) for s in signal.valid_signals()], locale.setlocale(locale.LC_ALL),
        sys.getrecursionlimit(), sys.get_int_max_str_digits(), sys.excepthook, sys.displayhook,
        np._core.multiarray.get_handler_name(), list(sys.meta_path), list(sys.path_hooks),
    )

before, before_settings, path = state(), settings(), list(sys.path)
import denizen
after = state()
assert settings() == before_settings and sys.path == path
changed = {
    key for key in before
    if after.get(key) is not before[key] and not isinstance(before[key], (int, float, str))
}
for module, attribute in sorted(changed):
    print(attribute)
"""
    changed = run(script).split()
    guards = (Path(__file__).parents[3] / "docs" / "numpy.md").read_text()
    assert [name for name in changed if f"`{name}`" not in guards] == []
    assert "c_einsum" in changed


@pytest.mark.parametrize(
    ("name", "error", "refused"),
    [
        ("`reduceat`", TypeError, lambda a, file: np.add.reduceat(a, [0, 2])),
        ("`np.frompyfunc`", TypeError, lambda a, file: np.frompyfunc(lambda x: x, 1, 1)(a)),
        ("`view`", TypeError, lambda a, file: a.view("i8")),
        ("`getfield`", TypeError, lambda a, file: a.getfield("i4")),
        ("`setfield`", TypeError, lambda a, file: a.setfield(1, "i4")),
        ("`np.isdtype`", TypeError, lambda a, file: np.isdtype(a.dtype, "integral")),
        ("`newbyteorder`", TypeError, lambda a, file: a.dtype.newbyteorder()),
        ("`np.common_type`", TypeError, lambda a, file: np.common_type(a)),
        ("`np.dtype(", TypeError, lambda a, file: np.dtype("denizen.Integer")),
        ("`np.frombuffer`", ValueError, lambda a, file: np.frombuffer(bytes(8), a.dtype)),
        ("`np.fromfile`", ValueError, lambda a, file: np.fromfile(file, a.dtype)),
        ("`np.iinfo`", ValueError, lambda a, file: np.iinfo(a.dtype)),
        ("`np.finfo`", ValueError, lambda a, file: np.finfo(a.dtype)),
        ("`tofile`", OSError, lambda a, file: a.tofile(file)),
        ("`np.from_dlpack`", BufferError, lambda a, file: np.from_dlpack(a)),
    ],
    ids=lambda value: value.strip("`(") if isinstance(value, str) else "",
)
def test_what_numpy_refuses_raises_what_the_documentation_says(name, error, refused, tmp_path):
    file = tmp_path / "cells.bin"
    file.write_bytes(bytes(64))
    page = (Path(__file__).parents[3] / "docs" / "numpy.md").read_text()
    (row,) = (
        line
        for line in page.partition("## Refused by NumPy")[2].splitlines()
        if line.startswith("|") and name in line
    )
    assert row.endswith(f"| {error.__name__} |")
    with pytest.raises(error):
        refused(np.array([1, 2, 3], dtype=Integer), file)


@pytest.mark.filterwarnings("ignore:Custom dtypes are saved as python objects")
def test_structured_arrays_go_into_files_by_pickle_or_by_their_fields(tmp_path):
    table = np.zeros(2, [("x", Integer), ("n", "i8")])
    table["x"], table["n"] = [2**70, 3], [4, 5]
    np.save(tmp_path / "table.npy", table)
    with pytest.raises(ValueError, match="descr is not a valid dtype descriptor"):
        np.load(tmp_path / "table.npy", allow_pickle=True)
    assert pickle.loads(pickle.dumps(table)).tolist() == table.tolist()
    file = tmp_path / "fields.npz"
    np.savez(file, **{name: table[name] for name in table.dtype.names})
    with np.load(file, allow_pickle=True) as fields:
        assert fields["x"].dtype == table.dtype["x"]
        assert fields["x"].tolist() == [2**70, 3] and fields["n"].tolist() == [4, 5]
