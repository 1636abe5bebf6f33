"""Bad input gets a clear error and nothing is lost; what is sent away comes back equal."""

import copy
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import denizen_raw as raw
import denizen_sorting as sorting
import numpy as np
import pytest
from kinds import COPYABLE, KINDS

import denizen

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
every_copyable = pytest.mark.parametrize("kind", COPYABLE.values(), ids=list(COPYABLE))
PICKLING = {name: kind for name, kind in COPYABLE.items() if kind.pickles}
every_pickling = pytest.mark.parametrize("kind", PICKLING.values(), ids=list(PICKLING))
#: Types that take lists of texts.
LISTED = [kind for kind in COPYABLE.values() if kind.build is None]

#: Not a value of any type here.
WRONG = [object(), None, [], {}, 1 + 2j, slice(1), np.datetime64("2020"), TypeError]


@every_copyable
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_a_wrong_type_is_refused_and_the_array_keeps_its_values(kind, wrong):
    a = kind.make()
    texts = kind.read(a)
    before = kind.stats()["live"]
    with pytest.raises((TypeError, ValueError)):
        a[2] = wrong
    with pytest.raises((TypeError, ValueError)):
        a[2:5] = [wrong, wrong, wrong]
    with pytest.raises((TypeError, ValueError)):
        a.fill(wrong)
    with pytest.raises((TypeError, ValueError)):
        np.array([a[0], wrong], dtype=kind.element)
    assert kind.read(a) == texts
    assert kind.stats()["live"] == before


@every_copyable
def test_elements_of_another_type_are_refused(kind):
    other = KINDS["Pinned" if kind.element is raw.Shared else "Shared"]
    a, b = kind.make(), other.make()
    texts = kind.read(a)
    if kind is not other:
        for work in (
            lambda: a.__setitem__(0, b[0]),
            lambda: a.__setitem__(slice(None), b),
            lambda: np.copyto(a, b, casting="unsafe"),
            lambda: np.concatenate([a, b]),
            lambda: np.add(a, b),
            lambda: np.less(a, b),
        ):
            with pytest.raises(TypeError):
                work()
    assert kind.read(a) == texts


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in COPYABLE.values()
        if kind.pickles and kind.build is None and kind.plain is not str
    ],
    ids=lambda kind: kind.name,
)
@pytest.mark.parametrize(
    "text", ["no number", "", "1 2", "\N{SNOWMAN}", "5\0", "1e", "0x", "\udc80"]
)
def test_unparsable_text_is_a_value_error_that_names_the_type(kind, text):
    a = kind.make()
    texts = kind.read(a)
    with pytest.raises(ValueError) as caught:
        a[1] = text
    if text.isprintable():
        # What is no ASCII the bundled types leave to the Python types that their scalars are.
        names = {kind.name.split(".")[-1], "int()" if kind.plain is int else "Fraction"}
        assert any(name in str(caught.value) for name in names)
    with pytest.raises(ValueError):
        np.array([kind.sources[0], text], dtype=kind.element)
    with pytest.raises(ValueError):
        kind.element(text)
    if "\0" not in text and text.isprintable():
        with pytest.raises(ValueError):
            np.array([kind.sources[0], text]).astype(kind.element)
    assert kind.read(a) == texts


@pytest.mark.parametrize("kind", LISTED, ids=lambda kind: kind.name)
def test_what_comes_before_a_bad_value_is_assigned(kind):
    a = kind.make()
    texts = kind.read(a)
    with pytest.raises(TypeError):
        a[:3] = [texts[3], object(), texts[3]]
    assert kind.read(a) == [texts[3], *texts[1:]]


@every_kind
@pytest.mark.parametrize(
    "shape", [-1, 2**62, 2**63, 2**70, (2**40, 2**40), (2, -1), 2**50], ids=str
)
def test_shapes_that_overflow_are_refused(kind, shape):
    for make in (np.zeros, np.empty):
        with pytest.raises((ValueError, MemoryError, OverflowError)):
            make(shape, dtype=kind.element)
    a = np.zeros(3, dtype=kind.element)
    with pytest.raises((ValueError, MemoryError, OverflowError)):
        a.resize(shape, refcheck=False)
    assert denizen.handler_name(np.empty(2)) == "default_allocator"
    if kind.default is not None:
        assert kind.read(a) == [kind.default] * 3


@every_copyable
def test_counts_that_overflow_are_refused(kind):
    a = kind.make()
    texts = kind.read(a)
    for work in (
        lambda: a.repeat(2**60),
        lambda: np.tile(a, 2**60),
        lambda: np.broadcast_to(a, (2**50, 8)).copy(),
        lambda: np.resize(a, 2**60),
        lambda: np.pad(a, 2**60, mode="edge"),
    ):
        with pytest.raises((ValueError, MemoryError, OverflowError, TypeError)):
            work()
    assert kind.read(a) == texts


def python(code, *arguments, **options):
    """Runs a script in an interpreter of its own; `kinds` can be imported there."""
    folder = str(Path(__file__).parent)
    script = f"import sys; sys.path.insert(0, {folder!r})\n" + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_a_failed_allocation_is_a_memory_error_and_nothing_is_lost():
    done = python(
        """
        import gc, resource
        import numpy as np
        from kinds import COPYABLE
        import denizen

        arrays = {name: kind.make(1000) for name, kind in COPYABLE.items()}
        texts = {name: kind.read(arrays[name][:20]) for name, kind in COPYABLE.items()}
        gc.freeze()
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        limit = used + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for name, kind in COPYABLE.items():
            a, size = arrays[name], (128 << 20) // arrays[name].itemsize
            live = kind.stats()["live"]
            for work in (
                lambda: np.empty(size, dtype=kind.element),
                lambda: np.zeros(size, dtype=kind.element),
                lambda: a.repeat(size // 1000 + 1),
                lambda: a.resize(size, refcheck=False),
                lambda: np.broadcast_to(a, (size // 1000 + 1, 1000)).copy(),
                lambda: np.concatenate([a] * (size // 1000 + 1)),
            ):
                try:
                    work()
                except MemoryError:
                    gc.collect()
                else:
                    raise SystemExit(f"{name}: no MemoryError")
                assert kind.stats()["live"] == live, name
                assert kind.read(a[:20]) == texts[name], name
                assert denizen.handler_name() == "default_allocator"
            a[:] = a[::-1].copy()
        del a, work
        arrays.clear()
        gc.collect()
        assert all(counters["live"] == 0 for counters in denizen.stats().values()), denizen.stats()
        print("whole")
        """
    )
    assert done.stdout.endswith("whole\n"), done.stdout + done.stderr


@every_pickling
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_scalars_and_dtypes_survive_pickling(kind, protocol):
    a = kind.make().reshape(2, 4)
    for array in (a, a.T, a[:, ::-2], a[:0], a[1, 1:2].reshape(())):
        again = pickle.loads(pickle.dumps(array, protocol=protocol))
        assert again.dtype is array.dtype and again.shape == array.shape
        assert kind.read(again) == kind.read(array)
    assert str(pickle.loads(pickle.dumps(a[1, 2], protocol=protocol))) == str(a[1, 2])
    assert pickle.loads(pickle.dumps(a.dtype, protocol=protocol)) is a.dtype
    assert pickle.loads(pickle.dumps(kind.element, protocol=protocol)) is kind.element
    if protocol >= 5:
        buffers = []
        bytes_ = pickle.dumps(a, protocol=protocol, buffer_callback=buffers.append)
        again = pickle.loads(bytes_, buffers=buffers)
        assert kind.read(again) == kind.read(a) and not buffers
    # What was unpickled is an array as any other.
    again.ravel()[:] = kind.make()[: again.size]
    assert kind.read(again.copy()) == kind.read(again)


@every_pickling
def test_unbuilt_cells_survive_pickling_as_defaults(kind):
    a = np.empty(4, dtype=kind.element)
    if kind.default is None:
        # NumPy does not look whether an element could be read, so Python says SystemError.
        with pytest.raises((denizen.VacantError, SystemError)) as caught:
            pickle.dumps(a)
        assert "has no default" in f"{caught.value} {caught.value.__cause__}"
    else:
        assert kind.read(pickle.loads(pickle.dumps(a))) == [kind.default] * 4


@pytest.mark.parametrize(
    "kind",
    [kind for kind in COPYABLE.values() if not kind.pickles],
    ids=lambda kind: kind.name,
)
def test_types_without_a_codec_or_text_refuse_to_be_pickled(kind):
    with pytest.raises(TypeError, match=r"pickle|codec|text"):
        pickle.dumps(kind.make())


@every_copyable
def test_deep_copies_are_independent(kind):
    a = kind.make()
    texts = kind.read(a)
    for again in (copy.copy(a), copy.deepcopy(a), copy.deepcopy({"a": a})["a"]):
        assert again.dtype is a.dtype
        again[:] = again[3]
        assert kind.read(a) == texts
        del again
    scalar = a[3]
    if kind.element is not sorting.Opaque:
        assert str(copy.copy(scalar)) == str(copy.deepcopy(scalar)) == str(scalar)
    records = np.zeros(3, dtype=[("x", kind.element)])
    records["x"] = a[:3]
    assert kind.read(copy.deepcopy(records)["x"]) == texts[:3]


@pytest.mark.filterwarnings("ignore:Custom dtypes are saved as python objects")
@every_pickling
def test_files_hold_pickles_or_nothing(kind, tmp_path):
    a = kind.make()
    path = tmp_path / "a.npy"
    with pytest.raises((ValueError, TypeError)):
        np.save(path, a, allow_pickle=False)
    np.save(path, a, allow_pickle=True)
    with pytest.raises(ValueError):
        np.load(path)
    assert kind.read(np.load(path, allow_pickle=True)) == kind.read(a)
    np.savez(tmp_path / "a.npz", a=a)
    with np.load(tmp_path / "a.npz", allow_pickle=True) as file:
        assert kind.read(file["a"]) == kind.read(a)


@pytest.mark.parametrize("module", ["denizen_example", "denizen_raw", "denizen_sorting"])
def test_unpickling_without_the_clients_module_names_it(module, tmp_path):
    kind = next(kind for kind in PICKLING.values() if kind.name.startswith(module))
    a = kind.make()
    things = {"array": a, "scalar": a[0], "dtype": a.dtype}
    for name, thing in things.items():
        (tmp_path / name).write_bytes(pickle.dumps(thing))
    done = python(
        """
        import pathlib, pickle, sys
        sys.modules[sys.argv[2]] = None
        for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
            try:
                pickle.loads(path.read_bytes())
            except ImportError as error:
                print(path.name, sys.argv[2] in str(error))
        """,
        str(tmp_path),
        module,
    )
    assert done.stdout.split("\n")[:3] == ["array True", "dtype True", "scalar True"], done.stderr


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_arrays_come_back_from_other_processes(method):
    arrays = {name: kind.make() for name, kind in PICKLING.items()}
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        returned = pool.map(np.copy, arrays.values())
        sums = pool.starmap(
            np.add,
            [
                (kind.make(), kind.make())
                for kind in PICKLING.values()
                if kind.plain and kind.default
            ],
        )
    for (name, a), again in zip(arrays.items(), returned, strict=True):
        kind = PICKLING[name]
        assert again.dtype is a.dtype and kind.read(again) == kind.read(a)
    adding = [kind for kind in PICKLING.values() if kind.plain and kind.default]
    for kind, total in zip(adding, sums, strict=True):
        a = kind.make()
        assert kind.read(total) == kind.read(a + a)


@every_copyable
def test_bytes_are_never_taken_for_objects(kind):
    a = kind.make()
    live = kind.stats()["live"]
    data = bytearray(range(1, a.itemsize + 1)) * 8
    for work in (
        lambda: np.frombuffer(data, dtype=kind.element),
        lambda: np.frombuffer(data, "u1").view(kind.element),
        lambda: a.view("u1"),
        lambda: memoryview(a),
        lambda: a.tofile("/dev/null"),
        lambda: np.fromstring("1 2", dtype=kind.element, sep=" "),
    ):
        with pytest.raises((TypeError, ValueError, OSError)):
            work()
    assert kind.stats()["live"] == live
