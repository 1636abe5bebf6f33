"""Transport: what is sent away comes back equal; bytes are never taken for objects."""

import copy
import pickle

import numpy as np
import pytest
from support.kind import every, every_copyable, every_pickling

import denizen


@pytest.mark.regression(
    "T20", "numpy/numpy#23135", "numpy/numpy-quaddtype#99", "numpy/numpy-user-dtypes#231"
)
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


@pytest.mark.regression("T35", "numpy/numpy#15944", "stack-of-tasks/eigenpy#370")
@every_pickling
def test_unbuilt_cells_survive_pickling_as_defaults(kind):
    a = np.empty(4, dtype=kind.element)
    if kind.default is None:
        with pytest.raises(denizen.VacantError, match="has no default"):
            pickle.dumps(a)
    else:
        assert kind.read(pickle.loads(pickle.dumps(a))) == [kind.default] * 4


@pytest.mark.regression(
    "T20", "numpy/numpy#23135", "numpy/numpy-quaddtype#99", "numpy/numpy-user-dtypes#231"
)
@every(lambda kind: kind.copyable and not kind.pickles)
def test_types_without_a_codec_or_text_refuse_to_be_pickled(kind):
    with pytest.raises(TypeError, match=r"pickle|codec|text"):
        pickle.dumps(kind.make())


@pytest.mark.regression(
    "T20", "numpy/numpy#23135", "numpy/numpy-quaddtype#99", "numpy/numpy-user-dtypes#231"
)
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
    if kind.has_text and kind.own_scalar:
        assert str(copy.copy(scalar)) == str(copy.deepcopy(scalar)) == str(scalar)
    records = np.zeros(3, dtype=[("x", kind.element)])
    records["x"] = a[:3]
    assert kind.read(copy.deepcopy(records)["x"]) == texts[:3]


@pytest.mark.regression("T22", "moble/quaternion#41")
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


@pytest.mark.regression("T23", "joblib/joblib#162", "joblib/joblib#163")
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
