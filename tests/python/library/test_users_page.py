"""docs/using.md: what its tables say to write works, and what it says not to is refused."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import denizen

PAGE = (Path(__file__).parents[3] / "docs" / "using.md").read_text()
REFUSALS = (
    TypeError,
    ValueError,
    IndexError,
    OSError,
    BufferError,
    np.exceptions.DTypePromotionError,
)

ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
TYPES = re.findall(r"^\| (`.+?`) \| (\w+)", PAGE.partition("## Functions")[0], re.MULTILINE)


@pytest.fixture
def names(tmp_path, monkeypatch):
    """The page's variables, in a folder of their own with what its rows write."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(block, names)
    for _, right, _ in ROWS:
        if right.startswith(("np.save(", "np.savetxt(")):
            eval(right, names)
    return names


pytestmark = pytest.mark.filterwarnings("ignore:Custom dtypes are saved as python objects")


def plain(value):
    """As nested lists of Python's values, texts of fractions as what they are."""
    if isinstance(value, (np.ndarray, np.generic, denizen.Integer, denizen.Rational)):
        return plain(denizen.to_python(value))
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str) and re.fullmatch(r"-?\d+(/\d+)?", value):
        return Fraction(value)
    return value


def test_the_page_has_its_tables():
    assert len(ROWS) >= 30 and len(TYPES) >= 7
    # No row is left out for the way it is written.
    tables = re.findall(r"^\| instead of .*?(?=\n\n)", PAGE, re.MULTILINE | re.DOTALL)
    assert len(ROWS) == sum(len(table.splitlines()) - 2 for table in tables)


@pytest.mark.parametrize("left, right, gives", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_refused_and_what_to_write_instead(names, left, right, gives):
    before = denizen.to_python(names["a"]), denizen.to_python(names["r"])
    with pytest.raises(REFUSALS) as refused:
        eval(left, names)
    assert str(refused.value)
    result = eval(right, names)
    assert plain(result) == plain(eval(gives, names))
    assert getattr(result, "dtype", None) != np.dtype("O")
    assert (denizen.to_python(names["a"]), denizen.to_python(names["r"])) == before


@pytest.mark.parametrize("expressions, kind", TYPES, ids=[row[0] for row in TYPES])
def test_types_of_results_are_those_of_the_page(names, expressions, kind):
    for expression in re.findall(r"`(.+?)`", expressions):
        result = eval(expression, names)
        if isinstance(result, np.ndarray):
            assert result.dtype.name.removeprefix("denizen.") == kind
        else:
            assert type(result).__name__ == kind


def test_scalars_in_lists_are_as_the_page_says(names):
    integer, rational = denizen.Integer(3), denizen.Rational(1, 3)
    assert np.array([integer, 4]).dtype == np.dtype(denizen.Integer)
    assert np.array([integer, rational, 4]).dtype == np.dtype(denizen.Rational)
    assert np.array([rational, 0.5]).dtype == np.float64
    large = denizen.Integer(2**60) * 100
    assert type(large) is int
    for other in (Fraction(1, 3), "1", large):
        assert np.array([integer, other]).dtype == object
        assert np.array([integer, other], dtype=denizen.Rational).dtype == np.dtype(
            denizen.Rational
        )


def test_what_numpy_2_4_refuses_is_on_the_page(names):
    a = names["a"]
    for function, arguments in {
        np.dot: (a, a),
        np.inner: (a, a),
        np.convolve: (a, a),
        np.tensordot: (a, a, 1),
    }.items():
        assert f"`np.{function.__name__}`" in PAGE
        try:
            function(*arguments)
        except TypeError:
            assert np.lib.NumpyVersion(np.__version__) < "2.5.0"
    assert a @ a == np.vecdot(a, a) == 14
