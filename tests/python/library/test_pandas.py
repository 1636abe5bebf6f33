"""What pandas does with arrays of elements: it holds them as they are, and refuses what it cannot do
(docs/using.md lists both)."""

from fractions import Fraction

import numpy as np
import pytest

from denizen import Integer, Rational

pd = pytest.importorskip("pandas", "3.0")

BIG = 2**70


@pytest.fixture(params=[Integer, Rational], ids=lambda element: element.__name__)
def element(request):
    return request.param


@pytest.fixture
def a(element):
    return np.array([3, BIG, 2], dtype=element)


def plain(series):
    return series.to_numpy().tolist()


def test_series_and_frames_hold_arrays_as_they_are(element, a):
    dtype = np.dtype(element)
    for series in (
        pd.Series(a),
        pd.Series([3, BIG, 2], dtype=dtype),
        pd.Series(a, index=list("xyz"), name="n"),
        pd.DataFrame({"n": a})["n"],
        pd.DataFrame({"f": [1.0, 2.0, 3.0]}).assign(n=a)["n"],
        pd.DataFrame(np.column_stack([a, a]), columns=["n", "m"])["m"],
        pd.Series([3, 5, 2]).astype(dtype) + (a - [3, 5, 2]),
    ):
        assert series.dtype == dtype and plain(series) == [3, BIG, 2]
        assert series.to_numpy().dtype == dtype
        assert type(series.iloc[0]) is element and series.iloc[-1] == 2
        assert series.to_list() == [3, BIG, 2]
    frame = pd.DataFrame({"n": a, "f": [0.5, 1.5, 2.5]})
    assert frame.dtypes["n"] == dtype and frame.values.dtype == np.dtype("float64")
    assert frame[["n"]].values.dtype == dtype and frame[["n"]].values.tolist() == [[3], [BIG], [2]]
    assert pd.Series(a).map(type).tolist() == [element] * 3


def test_series_print_plain_digits(element, a):
    text = repr(pd.Series(a))
    assert str(BIG) in text and f"dtype: denizen.{element.__name__}" in text
    assert "1/3" in repr(pd.Series(np.array(["1/3"], dtype=Rational)))
    frame = pd.DataFrame({"n": a, "f": [0.5, 1.5, 2.5]})
    assert str(BIG) in str(frame) and str(BIG) in frame.to_html() and str(BIG) in frame.to_csv()


def test_what_works_element_by_element(element, a):
    series, dtype = pd.Series(a), np.dtype(element)
    for result, values in (
        (series + 1, [4, BIG + 1, 3]),
        (2 * series, [6, 2 * BIG, 4]),
        (series - series, [0, 0, 0]),
        (-series, [-3, -BIG, -2]),
        (series[series > 2], [3, BIG]),
        (series.sort_values(), [2, 3, BIG]),
        (series.iloc[[2, 0]], [2, 3]),
        (pd.concat([series, series]), [3, BIG, 2] * 2),
        (series.copy(deep=True), [3, BIG, 2]),
        (series.fillna(0), [3, BIG, 2]),
    ):
        assert result.dtype == dtype and plain(result) == values
    assert (series / 4).dtype == np.dtype(Rational)
    assert plain(series / 4) == [Fraction(3, 4), BIG // 4, Fraction(1, 2)]
    assert (
        (series == 3).tolist() == [True, False, False] == (series.isna() | (series == 3)).tolist()
    )
    assert series.astype(float).tolist() == [3.0, float(BIG), 2.0]
    assert series.astype(str).tolist() == ["3", str(BIG), "2"]
    assert pd.isna(a).tolist() == [False] * 3 and series.notna().all()
    assert pd.unique(np.concatenate([a, a])).tolist() == [3, BIG, 2]
    codes, uniques = pd.factorize(np.concatenate([a, a[:1]]))
    assert codes.tolist() == [0, 1, 2, 0] and uniques.dtype == dtype
    frame = pd.DataFrame({"n": a, "m": a}).sort_values("n")
    assert frame["m"].tolist() == [2, 3, BIG] and frame["m"].dtype == dtype


def test_what_becomes_objects(element, a):
    """Indexes, rows of several kinds, and whatever gets a NaN."""
    assert pd.Index(a).dtype == np.dtype("O") and pd.Index(a).tolist() == [3, BIG, 2]
    reindexed = pd.Series(a).reindex([0, 7])
    assert (
        reindexed.dtype == np.dtype("O") and reindexed.iloc[0] == 3 and np.isnan(reindexed.iloc[1])
    )
    assert pd.DataFrame({"n": a, "s": list("xyz")}).iloc[0].dtype == np.dtype("O")
    series, groups = pd.Series(a), [0, 0, 1]
    for result, values in (
        (series.map(lambda x: x + 1), [4, BIG + 1, 3]),
        (series.groupby(groups).max(), [BIG, 2]),
        (series.groupby(groups).transform("max"), [BIG, BIG, 2]),
        (series.groupby(groups).agg(lambda group: group.to_numpy().sum()), [BIG + 3, 2]),
    ):
        assert str(result.dtype) == "object" and result.tolist() == values
    # A list of scalars is to pandas a list of Python's numbers: give it the array.
    expected = np.dtype("int64") if element is Integer else np.dtype("O")
    assert pd.Series([element(3), element(2)]).dtype == expected


def test_what_pandas_computes_in_floats(a):
    """`to_numpy()` and NumPy's functions are exact."""
    series, groups = pd.Series(a), [0, 0, 1]
    for number in (series.median(), series.var(), series.std(), series.quantile(), series.skew()):
        assert type(number) is np.float64
    for result in (
        series.rolling(2).sum(),
        series.expanding().sum(),
        series.groupby(groups).median(),
        series.groupby(groups).var(),
        pd.concat([series, pd.Series([0.5])]),
        pd.DataFrame({"n": a, "f": [0.5, 1.5, 2.5]}).loc[1],
        pd.DataFrame({"n": a, "f": [0.5, 1.5, 2.5]}).T[1],
    ):
        assert str(result.dtype) == "float64"
    assert series.median() == 3 and np.median(series.to_numpy()) == 3
    assert series.groupby(groups).median()[0] == 2.0**69 != Fraction(BIG + 3, 2)
    assert series.to_numpy().mean() == Fraction(BIG + 5, 3)
    assert np.cumsum(series.to_numpy()).tolist() == [3, BIG + 3, BIG + 5]


def test_what_pandas_leaves_out_or_undone_without_a_word(element):
    a = np.array([13, 25, BIG], dtype=element)
    if element is Rational:
        a /= 7
    frame = pd.DataFrame({"f": [0.25, 1.5, 2.5], "n": a})
    assert list(frame.select_dtypes("number")) == list(frame.describe()) == ["f"]
    assert frame.sum(numeric_only=True).to_dict() == {"f": 4.25}
    assert plain(frame.round(1)["n"]) == plain(frame["n"].round(-1)) == a.tolist()
    rounded = np.rint(frame["n"] / 10) * 10
    assert plain(rounded) == [round(Fraction(x) / 10) * 10 for x in a.tolist()]
    # By bytes, which are addresses of large values.
    assert not frame["n"].equals(frame["n"].copy())
    assert np.array_equal(frame["n"], frame["n"].copy())
    pd.testing.assert_series_equal(frame["n"], frame["n"].copy())


def test_text_of_a_file_becomes_exact_numbers(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(f"k,y\n1,1/3\n2,0.1\n3,{BIG}\n4,\n")
    frame = pd.read_csv(path, dtype={"y": str})
    with pytest.raises(ValueError, match="NaN"):
        np.array(frame["y"], dtype=Rational)
    frame = frame.dropna()
    frame["y"] = np.array(frame["y"], dtype=Rational)
    assert frame["y"].dtype == np.dtype(Rational)
    assert plain(frame["y"]) == [Fraction(1, 3), Fraction(1, 10), BIG]
    with pytest.raises(TypeError, match="not supported for parsing"):
        pd.read_csv(path, dtype={"y": np.dtype(Rational)})


def test_what_is_refused_says_so_and_changes_nothing(element, a):
    series = pd.Series(a)
    for refused in (
        series.sum,
        series.mean,
        lambda: series.groupby([0, 0, 1]).sum(),
        lambda: series.groupby([0, 0, 1]).mean(),
        lambda: series.groupby([0, 0, 1]).cumsum(),
        lambda: series.nlargest(2),
        series.interpolate,
        series.ffill,
    ):
        with pytest.raises(TypeError):
            refused()
    for refused, error in {
        series.cumsum: ValueError,
        series.cumprod: ValueError,
        series.diff: ValueError,
        series.cummax: OverflowError,
        series.cummin: OverflowError,
    }.items():
        with pytest.raises(error, match="to an exact number"):
            refused()
    frame = pd.DataFrame({"n": a, "f": [0.5, 1.5, 2.5]})
    for refused in (
        lambda: series.mask(series > 2, 0),
        lambda: series.clip(0, 5),
        lambda: series.replace(2, 5),
        series.pct_change,
        lambda: frame.set_index("n"),
        lambda: series.shift(1),
        lambda: series.where(series > 2, element(0)),
        series.value_counts,
        series.describe,
    ):
        with pytest.raises(NotImplementedError, match=rf"denizen\.{element.__name__}"):
            refused()
    numbers = pd.Series([1, 2, 3])
    with pytest.raises((TypeError, ValueError)):
        numbers.iloc[0] = a[1]
    assert numbers.tolist() == [1, 2, 3]
    assert plain(series) == [3, BIG, 2]
    # What works instead of them: NumPy's own functions, and arrays of objects.
    assert series.to_numpy().sum() == BIG + 5
    assert series.astype(object).sum() == BIG + 5
    grouped = series.groupby([0, 0, 1]).agg(lambda group: group.to_numpy().sum())
    assert grouped.tolist() == [BIG + 3, 2]
    objects = series.astype(object)
    assert objects.clip(0, 5).astype(np.dtype(element)).tolist() == [3, 5, 2]
    assert objects.where(series > 2, 0).tolist() == [3, BIG, 0]
    assert objects.shift(1).tolist() == [None, 3, BIG]


@pytest.mark.parametrize("element, kinds", [(Integer, "i"), (Rational, "")])
def test_questions_about_kinds_have_answers(element, kinds):
    types, dtype = pd.api.types, np.dtype(element)
    for question in ("numeric", "integer", "object", "bool", "string", "float", "datetime64_any"):
        assert getattr(types, f"is_{question}_dtype")(dtype) is False
    assert types.pandas_dtype(dtype) == dtype
    assert types.is_scalar(element(3)) and types.is_number(element(3))
    assert types.is_integer(element(3)) is bool(kinds)
