"""Arrays through bytes, files and copies."""

import copy
import io
import pickle
import warnings
from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import Array, raised
from ..operation import Table

TABLE = Table("persistence")
add = TABLE.add

CODEC = frozenset({"codec"})


def through(value: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


for protocol in range(6):
    add(
        f"pickle protocol {protocol}",
        lambda s, p=protocol: (through(s.a, p), through(s.m.T, p)),
        needs=CODEC,
    )
add("pickle with out-of-band buffers", lambda s: _out_of_band(s), needs=CODEC)
add("pickle of a half-built array", lambda s: through(s.h), needs={"codec", "default"})
add("pickle of a scalar", lambda s: [through(s.a[3], p) for p in range(6)], needs=CODEC)
add("pickle of a dtype", lambda s: through(s.dtype) == s.dtype)
add(
    "pickle of a view",
    lambda s: (through(s.m[::-1, ::2]), through(s.a[2:3].reshape(()))),
    needs=CODEC,
)
add("pickle of nothing", lambda s: through(s.a[:0]), needs=CODEC)
add("pickle of a container", lambda s: through({"a": s.a, "list": [s.a[1], s.b]}), needs=CODEC)
add("pickle and use", lambda s: _used(s), lambda s: (s.b, s.a.take([3, 3])), needs=CODEC)
add(
    "pickle, resize",
    lambda s: _resized(s),
    lambda s: np.concatenate([s.a, s.zeros(20)]),
    needs={"codec", "default"},
)
add("pickle cut short", lambda s: _cut_short(s), lambda s: "refused", needs=CODEC)
add("np.save and np.load", lambda s: _saved(s, s.m), needs=CODEC)
add("np.save of a view", lambda s: _saved(s, s.m.T[::2]), needs=CODEC)
add(
    "np.load without pickles",
    lambda s: _load_without_pickles(s),
    lambda s: "ValueError",
    needs=CODEC,
)
add("np.savez", lambda s: _savez(s, np.savez), needs=CODEC)
add("np.savez_compressed", lambda s: _savez(s, np.savez_compressed), needs=CODEC)
add("np.load with mmap_mode", lambda s: _load_mapped(s), lambda s: "ValueError", needs=CODEC)
add("np.memmap", lambda s: _memmap(s), lambda s: "refused")
add("ndarray.dump and dumps", lambda s: (_dumped(s), pickle.loads(s.a.dumps())), needs=CODEC)
add(
    "ndarray.tofile",
    lambda s: _forbidden(lambda: s.a.tofile(s.folder / "raw")),
    lambda s: "refused",
)
add("np.fromfile", lambda s: _from_file(s), lambda s: "refused")
add("__setstate__", lambda s: _setstate(s), lambda s: s.b)
add("__setstate__ of another shape", lambda s: _setstate_shape(s), lambda s: s.m)
add("__setstate__ of a wrong list", lambda s: _setstate_wrong(s), lambda s: "refused")
add(
    "__reduce__",
    lambda s: (lambda make, arguments, state: make(*arguments).size >= 0 and state[1])(
        *s.a.__reduce__()
    ),
    lambda s: (10,),
)
add("__reduce_ex__(5)", lambda s: len(s.a.__reduce_ex__(5)) >= 2)
add("__copy__ and __deepcopy__", lambda s: (s.m.__copy__(), s.m.__deepcopy__({})))
add("deepcopy of a half-built array", lambda s: copy.deepcopy(s.h), needs={"default"})
add("deepcopy of a container", lambda s: copy.deepcopy({"a": s.a, "again": [s.a, s.a[2]]}))
add("deepcopy of a view", lambda s: copy.deepcopy(s.m.T[::2]))
add("copy.copy of a scalar", lambda s: (copy.copy(s.a[2]), copy.deepcopy(s.a[2])))
add(
    "np.savetxt",
    lambda s: _savetxt(s).splitlines(),
    lambda s: [str(x) for x in s.a],
    needs={"text"},
)
add(
    "np.loadtxt with converters",
    lambda s: np.loadtxt(
        io.StringIO("\n".join(str(x) for x in s.a)),
        dtype=s.dtype,
        converters=_reader(s),
        comments=None,
        delimiter="\n" if False else None,
    ),
    lambda s: s.a,
    needs={"text", "codec"},
)
add(
    "np.genfromtxt",
    lambda s: np.genfromtxt(io.StringIO("\n".join(str(x) for x in s.a)), dtype=s.dtype),
    lambda s: s.a,
    needs={"text", "codec"},
)
add("a file in memory", lambda s: _in_memory(s), needs=CODEC)
add("two arrays in one file", lambda s: _two_in_one(s), needs=CODEC)


def _quiet(work: Any) -> Any:
    """Without NumPy's warning that a dtype of no descriptor is pickled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def _forbidden(work: Any) -> str:
    try:
        work()
    except (TypeError, ValueError, OSError):
        return "refused"
    return "allowed"


def _out_of_band(s: Subject) -> Array:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(s.a, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


def _used(s: Subject) -> Any:
    x = through(s.a)
    taken = x.take([3, 3])
    x[:] = s.b
    return x, taken


def _resized(s: Subject) -> Array:
    x = through(s.a)
    x.resize(30, refcheck=False)
    return x


def _cut_short(s: Subject) -> str:
    data = pickle.dumps(s.a, 2)
    for end in range(0, len(data), 7):
        try:
            pickle.loads(data[:end])
        except Exception:
            continue
        return f"{end} bytes of {len(data)} were accepted"
    return "refused"


def _saved(s: Subject, x: Array) -> Array:
    file = s.folder / "x.npy"
    _quiet(lambda: np.save(file, x, allow_pickle=True))
    return np.load(file, allow_pickle=True)


def _load_without_pickles(s: Subject) -> str:
    file = s.folder / "x.npy"
    _quiet(lambda: np.save(file, s.a, allow_pickle=True))
    return raised(lambda: np.load(file), ValueError)


def _savez(s: Subject, save: Any) -> Any:
    file = s.folder / "x.npz"
    _quiet(lambda: save(file, a=s.a, m=s.m))
    with np.load(file, allow_pickle=True) as loaded:
        return loaded["a"], loaded["m"]


def _load_mapped(s: Subject) -> str:
    file = s.folder / "x.npy"
    _quiet(lambda: np.save(file, s.a, allow_pickle=True))
    return raised(lambda: np.load(file, mmap_mode="r", allow_pickle=True), ValueError)


def _memmap(s: Subject) -> str:
    file = s.folder / "map"
    file.write_bytes(bytes(4096))
    return _forbidden(lambda: np.memmap(file, dtype=s.dtype, mode="r+", shape=(4,)))


def _dumped(s: Subject) -> Array:
    file = s.folder / "dump"
    s.a.dump(file)
    loaded: Array = np.load(file, allow_pickle=True)
    return loaded


def _from_file(s: Subject) -> str:
    file = s.folder / "raw"
    file.write_bytes(bytes(640))
    return _forbidden(lambda: np.fromfile(file, dtype=s.dtype))


def _setstate(s: Subject) -> Array:
    x = s.a[:0].copy()
    x.__setstate__((1, (10,), s.dtype, False, s.b.tolist()))
    return x


def _setstate_shape(s: Subject) -> Array:
    x = s.a[:0].copy()
    x.__setstate__((1, (4, 5), s.dtype, False, s.m.ravel().tolist()))
    return x


def _setstate_wrong(s: Subject) -> str:
    x = s.a[:0].copy()
    return _forbidden(lambda: x.__setstate__((1, (10,), s.dtype, False, s.b.tolist()[:4])))


def _savetxt(s: Subject) -> str:
    file = s.folder / "x.txt"
    np.savetxt(file, s.a, fmt="%s")
    return file.read_text()


def _reader(s: Subject) -> Any:
    return lambda text: np.array([text], dtype=s.element_dtype)[0]


def _in_memory(s: Subject) -> Array:
    file = io.BytesIO()
    _quiet(lambda: np.save(file, s.m, allow_pickle=True))
    file.seek(0)
    return np.load(file, allow_pickle=True)


def _two_in_one(s: Subject) -> Any:
    file = io.BytesIO()
    for x in (s.a, s.m):
        _quiet(lambda x=x: np.save(file, x, allow_pickle=True))
    file.seek(0)
    return np.load(file, allow_pickle=True), np.load(file, allow_pickle=True)
