"""The nanobind example: a class of nanobind is the scalar class of arrays; a second module uses
them."""

import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import rotation_paths
import rotations
from rotations import Rotation

import denizen

X, Z = (1, 0, 0), (0, 0, 1)
QUARTER = math.pi / 2


def array(*turns):
    return np.array([Rotation(axis, angle) for axis, angle in turns])


def turned(a, v):
    return np.round(rotations.turn(a, v), 9).tolist()


@pytest.mark.short
def test_elements_are_rotations_of_nanobind():
    a = array((Z, QUARTER), (X, math.pi))
    assert a.dtype == np.dtype(Rotation) and type(a[0]) is Rotation
    assert a[1].angle == pytest.approx(math.pi)
    assert np.allclose(a[0]((1, 0, 0)), (0, 1, 0))
    a[1] = a[0].inverse()
    assert turned(a, (1, 0, 0)) == [[0, 1, 0], [0, -1, 0]]
    assert str(a[0]) == "Rotation by 1.570796"
    with pytest.raises(TypeError, match="expected a Rotation"):
        a[0] = "x"


def test_arrays_calculate_as_the_class_does():
    a, b = array((Z, 0.5), (X, 1)), array((X, 2), (Z, 3))
    products = [x * y for x, y in zip(a, b, strict=True)]
    assert turned(a * b, (1, 2, 3)) == turned(np.array(products), (1, 2, 3))
    assert turned(a * a[0], (1, 2, 3)) == turned(array((Z, 1), (X, 1))[:1], (1, 2, 3)) + turned(
        (a * a[0])[1:], (1, 2, 3)
    )
    assert np.abs(a).tolist() == pytest.approx([0.5, 1])
    assert np.abs(np.reciprocal(a) * a).tolist() == pytest.approx([0, 0])
    assert array((Z, 0.5), (Z, 0.25)).prod().angle == pytest.approx(0.75)
    assert a[:0].prod().angle == 0
    with pytest.raises(TypeError):
        a + b


def test_elements_that_were_not_written_turn_nothing():
    a = np.empty(3, dtype=Rotation)
    assert a[0].angle == 0 and turned(a, (1, 2, 3)) == [[1, 2, 3]] * 3


def test_a_vector_is_adopted_without_a_copy():
    steps = rotations.steps(Rotation(Z, 0.25), 4)
    assert denizen.owner(steps) == "adopted"
    assert np.abs(steps).tolist() == pytest.approx([0.25, 0.5, 0.75, 1])


def test_another_module_takes_and_makes_the_same_arrays():
    a = array((Z, QUARTER), (Z, QUARTER), (X, math.pi))
    path = rotation_paths.accumulate(a[:2])
    assert path.dtype == a.dtype and type(path[0]) is Rotation
    assert turned(path, (1, 0, 0)) == [[0, 1, 0], [-1, 0, 0]]
    rotation_paths.invert(a[::2])
    assert turned(a, (1, 0, 0)) == [[0, -1, 0], [0, 1, 0], [1, 0, 0]]
    # Each module has its own exceptions and checks.
    for wrong in (np.zeros(2), [1], "x"):
        with pytest.raises(TypeError, match=r"numpy\.ndarray"):
            rotation_paths.accumulate(wrong)
        with pytest.raises(TypeError, match=r"rotations\.Rotation"):
            rotation_paths.invert(wrong)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        rotation_paths.invert(a)


def test_a_type_that_is_not_registered_fails_the_import():
    # A stand-in for `rotations` registers no such type, as an old version might.
    code = """
        import sys, types
        sys.modules["rotations"] = types.ModuleType("rotations")
        try:
            import rotation_paths
        except ImportError as error:
            assert "LookupError: no element type rotations.Rotation" in str(error), error
        else:
            raise AssertionError
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_exceptions_arrive_as_themselves():
    with pytest.raises(ValueError, match="an axis has a direction"):
        Rotation((0, 0, 0), 1)
