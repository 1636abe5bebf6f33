"""Whatever NumPy does, each object is built and ended once.

Every test is also checked by the `balanced` fixture, which counts live objects before and after.
"""

import warnings

import denizen_raw as raw
import numpy as np
import pytest
from support.selections import SELECTIONS

import denizen
from denizen import Integer, Rational

BIG = 2**100
# Each runs under valgrind as well.
pytestmark = pytest.mark.short

TYPES = {
    "Integer": (Integer, [BIG, 0, -3, BIG + 1, 7, -(BIG**2), 1, 2]),
    "Rational": (Rational, ["1/3", 0, f"{BIG}/7", "-5/2", 4, "22/7", f"-1/{BIG}", 9]),
}


@pytest.fixture(params=TYPES)
def kind(request):
    return TYPES[request.param]


@pytest.fixture
def a(kind):
    return np.array(kind[1], dtype=kind[0])


def objects(array):
    """The same values as a `dtype=object` array of plain Python numbers."""
    return np.asarray(array).astype(object)


def stats(array):
    return denizen.stats()[array.dtype.name if "." in array.dtype.name else str(array.dtype)]


def assert_same(array, expected):
    assert np.asarray(array).astype(object).tolist() == np.asarray(expected, dtype=object).tolist()


@pytest.mark.regression("T01", "numpy/numpy#10721", "numpy/numpy#15944")
def test_half_overwritten_array_balances(a):
    before = stats(a)
    b = a.copy()
    b[::2] = b[1::2]
    del b
    after = stats(a)
    assert after["live"] == before["live"]
    made = after["constructed"] - before["constructed"]
    assert made == after["destroyed"] - before["destroyed"] and made > 0


@pytest.mark.regression("T02", "stack-of-tasks/eigenpy#370")
@pytest.mark.parametrize("make", [np.zeros, np.empty])
def test_unfilled_cells_read_as_the_default(kind, make):
    fresh = make(6, dtype=kind[0])
    assert fresh.tolist() == [0] * 6
    assert (fresh + fresh == 0).all() and not fresh.any()
    assert "0" in repr(fresh)
    out = np.empty_like(fresh)
    np.add(fresh, 1, out=out, where=[True, False] * 3)
    assert out.tolist() == [1, 0] * 3


@pytest.mark.regression("T03", "electronicarts/EASTL#485")
def test_assignment_constructs_or_assigns_by_the_cell(a):
    target = np.zeros(len(a), dtype=a.dtype)
    target[::2] = a[::2]
    before = stats(a)
    target[:] = a
    after = stats(a)
    assert_same(target, objects(a))
    # Only the vacant half with values that are not zero was built; the rest was assigned.
    built = sum(1 for value in a[1::2].tolist() if value != 0)
    assert after["constructed"] - before["constructed"] == built


@pytest.mark.regression("T04", "dealii/dealii#13005")
def test_filling_over_a_full_array_ends_the_old_values(a):
    target = a.copy()
    target.fill(5)
    assert target.tolist() == [5] * len(a)
    np.copyto(target, a)
    assert_same(target, objects(a))
    np.multiply(a, a, out=target)
    assert_same(target, objects(a) * objects(a))


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_are_independent_copies(a, name):
    select = SELECTIONS[name]
    expected = select(objects(a)).tolist()
    result = select(a)
    assert result.dtype == a.dtype
    a[:] = 99
    assert result.tolist() == expected


def test_put_putmask_place_and_at(a):
    expected = objects(a)
    for array in (a, expected):
        np.put(array, [0, 4], array[[1, 2]])
        np.putmask(array, np.arange(len(array)) % 3 == 0, array[::-1].copy())
        np.place(array, np.arange(len(array)) > 5, array[:3].copy())
        np.add.at(array, [0, 0, 1], 5)
    assert_same(a, expected)


@pytest.mark.regression("T06", "numpy/numpy#11075")
def test_assigning_a_float_leaves_nothing_behind(kind):
    x = np.array([5, 6, 7], dtype=kind[0])
    x[:] = 0.0
    assert x.tolist() == [0, 0, 0]
    x[1:] = 3
    assert x.tolist() == [0, 3, 3]


@pytest.mark.regression("T07", "numpy/numpy#22686")
@pytest.mark.parametrize("size", [16, 17, 8192, 20_000])
def test_buffered_operations_never_read_in_front_of_foreign_memory(kind, size):
    x = np.arange(size).astype(kind[0])
    y = np.arange(size)
    assert ((x + y).astype(np.int64) == 2 * y).all()
    with np.errstate(all="ignore"):
        old = np.setbufsize(16)
        try:
            assert (np.add(x, y, dtype=type(x.dtype)).astype(np.int64) == 2 * y).all()
            assert (np.multiply(y, x).astype(np.int64) == y * y).all()
        finally:
            np.setbufsize(old)
    total = 0
    iterator = np.nditer(
        [y, None],
        flags=["buffered", "refs_ok", "external_loop"],
        op_flags=[["readonly"], ["writeonly", "allocate"]],
        op_dtypes=[x.dtype, x.dtype],
        casting="unsafe",
        buffersize=16,
    )
    with iterator:
        for source, target in iterator:
            target[...] = source + 1
            total += len(source)
        assert total == size
        assert (iterator.operands[1].astype(np.int64) == y + 1).all()


@pytest.mark.regression("T08", "T09", "T48", "numpy/numpy#26859", "numpy/numpy#30181")
@pytest.mark.parametrize("size", [0, 1, 5, 8, 9, 100, 10_000, 300_000])
def test_resize_moves_and_fills(a, size):
    expected = objects(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        a.resize(size, refcheck=False)
        kept = min(size, len(expected))
        assert a[:kept].tolist() == expected[:kept].tolist()
        assert not a[kept:].any()
        if size:
            a[-1] = BIG
        a.resize(3, refcheck=False)
        a.resize(20, refcheck=False)
    assert not a[3:].any()


@pytest.mark.regression("T14", "numpy/numpy#32013")
def test_fromiter_twice_with_one_dtype(kind):
    dtype = np.dtype(kind[0])
    values = [int(v) for v in range(50)]
    one = np.fromiter(iter(values), dtype=dtype)
    two = np.fromiter(iter(values), dtype=dtype, count=50)
    assert one.tolist() == two.tolist() == values
    with pytest.raises(ValueError, match="[Ii]terator too short|too short"):
        np.fromiter(iter(values), dtype=dtype, count=60)

    def failing():
        yield BIG
        yield BIG
        raise KeyError("stop")

    with pytest.raises(KeyError):
        np.fromiter(failing(), dtype=dtype)


@pytest.mark.regression("T19", "numpy/numpy#16131")
def test_add_in_every_memory_layout(kind):
    values = np.arange(24).reshape(2, 3, 4)
    c = values.astype(kind[0])
    f = np.asfortranarray(c)
    variants = [c, f, c[::-1], c[:, ::-1, ::2], c.transpose(2, 0, 1), c[0, 0, 0], c[..., 1],
                np.broadcast_to(c[0], (2, 3, 4)), c[:0]]  # fmt: skip
    for x in variants:
        assert_same(x + x, objects(x) + objects(x))
        assert_same(x * 2 - x, objects(x) * 2 - objects(x))


@pytest.mark.regression("T25")
@pytest.mark.parametrize("shape", [(2, 0, 2), (0,), (), (1,), (3, 1)])
def test_odd_shapes(kind, shape):
    for make in (np.zeros, np.empty):
        x = make(shape, dtype=kind[0])
        assert x.shape == shape and denizen.owner(x) == "managed"
        assert np.asarray(x + 1).tolist() == np.ones(shape, dtype=int).tolist()
        x[...] = BIG
        assert x.size == 0 or x.max() == BIG


@pytest.mark.regression("T31", "numpy/numpy#11255")
def test_storage_outlives_the_last_view(a):
    expected = objects(a)
    view = a.reshape(2, 4)[:, 1:3].T
    flat = a.ravel()
    assert flat.base is not None
    del a
    assert view.tolist() == expected.reshape(2, 4)[:, 1:3].T.tolist()
    flat.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        flat[0] = 1
    del flat
    assert denizen.owner(view) == "managed"
    del view


# An error midway leaves everything before it done and everything after it untouched.
@pytest.mark.regression("T36")
@pytest.mark.parametrize("position", [0, 3, 7])
def test_an_element_that_fails_midway(kind, position):
    x = np.array([BIG] * 8, dtype=Rational)
    y = np.array([2] * 8, dtype=Rational)
    y[position] = 0
    out = np.array([5] * 8, dtype=Rational)
    with pytest.raises(ZeroDivisionError):
        np.divide(x, y, out=out)
    assert out.tolist()[:position] == [BIG // 2] * position
    assert out.tolist()[position:] == [5] * (8 - position)
    with pytest.raises(ZeroDivisionError):
        x / y
    assert (x == BIG).all()


def test_failed_assignment_keeps_earlier_values(kind):
    x = np.array([1, 2, 3], dtype=kind[0])
    with pytest.raises((TypeError, ValueError)):
        x[1] = object()
    with pytest.raises((TypeError, ValueError)):
        x[0] = "no number"
    assert x.tolist() == [1, 2, 3]
    # As with int64: what comes before the bad value is assigned.
    with pytest.raises(TypeError):
        x[:] = [7, object(), 9]
    assert x.tolist() == [7, 2, 3]


def test_absurd_results_are_errors():
    one = np.array([1], dtype=Integer)
    with pytest.raises((MemoryError, OverflowError)):
        np.left_shift(one, 2**45)
    with pytest.raises((MemoryError, OverflowError)):
        np.array([10], dtype=Integer) ** np.array([10**12], dtype=Integer)
    assert one.tolist() == [1]


def test_shuffle_and_permutations_keep_the_objects(a):
    expected = sorted(objects(a).tolist())
    rng = np.random.default_rng(1)
    for _ in range(20):
        rng.shuffle(a)
    assert sorted(a.tolist()) == expected
    assert sorted(rng.permutation(a).tolist()) == expected
    half = np.zeros(2 * len(a), dtype=a.dtype)
    half[: len(a)] = a
    rng.shuffle(half)
    half += 0
    assert sorted(half.tolist()) == sorted(expected + [0] * len(a))


def test_setstate_of_an_array_without_items(a):
    state = np.array([1, 2, 3], dtype=a.dtype).__reduce__()[2]
    before = a.tolist()
    with pytest.raises(ValueError, match="items"):
        a.__setstate__(state)
    assert a.tolist() == before
    a = a[:0].copy()
    a.__setstate__(state)
    assert a.tolist() == [1, 2, 3]
    a.resize(10, refcheck=False)
    assert a.tolist() == [1, 2, 3] + [0] * 7


# ---- What NumPy gives away: sources that a cast is to leave vacant -------------------------------

MOVED = {
    **TYPES,
    **{
        name: (getattr(raw, name), range(1, 9))
        for name in ("Tracer", "BoxedTracer", "InlineTracer")
    },
    "HeldTracer": (raw.HeldTracer, range(1, 9)),
}
N = 10


def unaligned(x):
    return np.dtype([("a", "i1"), ("x", x)])


def reordered(x):
    return np.dtype({"names": ["a", "x"], "formats": ["i8", x], "offsets": [32, 1], "itemsize": 41})


def iterate(array, dtype, change, **options):
    """Changes an array in buffers of another dtype, which are written back and given up."""
    iterator = np.nditer(
        [array],
        flags=["buffered", "refs_ok", "external_loop"],
        op_flags=[["readwrite", "aligned", "contig"]],
        op_dtypes=[dtype],
        casting="unsafe",
        buffersize=3,
        **options,
    )
    with iterator:
        for buffer in iterator:
            change(buffer)


def add_one(buffer):
    buffer["a"] += 1
    buffer["x"] = buffer["x"] + 1


#: Each changes the records `d` (of `a`, a number, and `x`, an element) and says what it makes of
#: `(a, x)`, both lists of ten numbers.
GIVEN_AWAY = {
    "in place": (
        lambda d: [
            np.add(d["x"], np.arange(N), out=d["x"]),
            np.multiply(d["x"], d["x"], out=d["x"]),
        ],
        lambda a, x: (a, [(n + i) ** 2 for i, n in enumerate(x)]),
    ),
    "over what is read": (
        lambda d: np.multiply(d["x"], d["x"][::-1], out=d["x"]),
        lambda a, x: (a, [n * m for n, m in zip(x, x[::-1], strict=True)]),
    ),
    "only some": (
        lambda d: np.add(d["x"], 1, out=d["x"], where=np.arange(N) % 3 == 0),
        lambda a, x: (a, [n + (i % 3 == 0) for i, n in enumerate(x)]),
    ),
    "accumulated": (
        lambda d: np.add.accumulate(d["x"], out=d["x"]),
        lambda a, x: (a, [sum(x[: i + 1]) for i in range(N)]),
    ),
    "reduced into one": (
        lambda d: np.add.reduce(d["x"], out=d["x"][3:4].reshape(())),
        lambda a, x: (a, [sum(x) if i == 3 else n for i, n in enumerate(x)]),
    ),
    "buffers of the field": (
        lambda d: iterate(d["x"], d["x"].dtype, lambda b: np.add(b, 1, out=b)),
        lambda a, x: (a, [n + 1 for n in x]),
    ),
    "buffers of numbers": (
        lambda d: iterate(d["x"], np.dtype("i8"), lambda b: np.add(b, 1, out=b)),
        lambda a, x: (a, [n + 1 for n in x]),
    ),
    "a field in buffers of elements": (
        lambda d: iterate(d["a"], d["x"].dtype, lambda b: np.add(b, 1, out=b)),
        lambda a, x: ([n + 1 for n in a], x),
    ),
    "buffers of records": (
        lambda d: iterate(d, reordered(d.dtype["x"]), add_one),
        lambda a, x: ([n + 1 for n in a], [n + 1 for n in x]),
    ),
    "buffers of records of numbers": (
        lambda d: iterate(d, np.dtype([("a", "i2"), ("x", "i8")]), add_one),
        lambda a, x: ([n + 1 for n in a], [n + 1 for n in x]),
    ),
    "records that overlap": (
        lambda d: d.__setitem__(slice(1, None), d[:-1]),
        lambda a, x: (a[:1] + a[:-1], x[:1] + x[:-1]),
    ),
    "sorted records": (
        lambda d: d[::-1].sort(order="a"),
        lambda a, x: (a[::-1], x[::-1]),
    ),
    "records there and back": (
        lambda d: d.__setitem__(..., d.astype(reordered(d.dtype["x"]))[::-1].copy()),
        lambda a, x: (a[::-1], x[::-1]),
    ),
}


@pytest.mark.parametrize("way", GIVEN_AWAY)
@pytest.mark.parametrize("name", MOVED)
def test_what_numpy_gives_away_is_moved_or_ended(name, way):
    element, _ = MOVED[name]
    change, model = GIVEN_AWAY[way]
    d = np.zeros(N, unaligned(element))
    d["a"], d["x"] = np.arange(N), np.arange(N) + 20
    before = denizen.stats()[str(d.dtype["x"])]
    change(d)
    after = denizen.stats()[str(d.dtype["x"])]
    a, x = model(list(range(N)), [n + 20 for n in range(N)])
    assert (d["a"].tolist(), d["x"].astype("i8").tolist()) == (a, x)
    assert after["live"] - before["live"] == 0


@pytest.fixture
def fuse():
    """Sets fuses of bombs, and takes them out again."""
    yield raw.set_fuse
    raw.set_fuse("drop", -1)


# The old objects end where others move in: an error there is one of the whole operation.
@pytest.mark.parametrize("position", [0, 4, 9])
def test_a_destructor_that_fails_under_a_move_is_told(fuse, position):
    d = np.zeros(N, unaligned(raw.Bomb))
    d["x"] = np.arange(N)
    fuse("drop", position)
    with pytest.raises(RuntimeError, match="drop"):
        np.add(d["x"], d["x"], out=d["x"])
    assert fuse("drop", -1) == -1
    assert [int(str(x)) for x in d["x"]] == [2 * n for n in range(N)]


# More cells than a loop takes at once: all of them are cleared.
@pytest.mark.parametrize(
    "dtype",
    [np.dtype(raw.Bomb), unaligned(raw.Bomb), np.dtype([("x", raw.Bomb)], align=True)],
    ids=str,
)
def test_a_destructor_that_fails_ends_no_other_object(monkeypatch, fuse, dtype):
    reports = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reports.append(str(report.exc_value)))
    before = raw.bombs()[2]
    d = np.zeros(3000, dtype)
    (d["x"] if dtype.names else d)[...] = np.arange(3000)
    fuse("drop", 5)
    del d
    assert raw.bombs()[2] == before
    assert len(reports) == 1 and "drop" in reports[0]


@pytest.mark.parametrize("name", ["Tracer", "BoxedTracer", "InlineTracer", "HeldTracer"])
def test_a_cast_that_fails_ends_what_it_was_given(name):
    element = getattr(raw, name)
    x, out = np.arange(N).astype(element), np.zeros(N, [("a", "i1"), ("x", "i1")])
    x[7] = 1000
    with pytest.raises(OverflowError):
        np.add(x, 1, out=out["x"], casting="unsafe")
    assert out["x"].tolist() == [*range(1, 8), 0, 0, 0]
    with pytest.raises(OverflowError):
        iterate(out, unaligned(element), lambda buffer: buffer["x"].fill(1000))


# What comes before a value that does not fit is converted all the same, in blocks or one by one.
@pytest.mark.parametrize("position", [0, 2, 1500])
@pytest.mark.parametrize("target", ["i4", "c16", "c8", "f2"])
def test_a_cast_to_numbers_stops_at_the_one_that_does_not_fit(kind, target, position):
    x = np.arange(2000).astype(kind[0]) % 7
    x[position] = BIG**20
    out = np.full(2000, 99 + (99j if target[0] == "c" else 0), target)
    with pytest.raises(OverflowError):
        np.copyto(out, x, casting="unsafe")
    assert out[:position].tolist() == [n % 7 for n in range(position)]
    assert (out[position:] == out[-1]).all()


THIRD = np.longdouble(1) / 3


@pytest.mark.parametrize("position", [0, 2, 1500])
@pytest.mark.parametrize(
    ("element", "source", "bad"),
    [
        (Integer, "f4", np.inf),
        (Integer, "D", 1j),
        (Rational, "D", 1j),
        (raw.Tracer, "D", 1j),
        pytest.param(
            *(raw.Tracer, "g", THIRD),
            marks=pytest.mark.skipif(THIRD == 1 / 3, reason="valgrind rounds it to a double"),
        ),
    ],
)
def test_a_cast_from_numbers_stops_at_the_one_that_is_none(element, source, bad, position):
    numbers = (np.arange(2000) % 7).astype(source)
    numbers[position] = bad
    out = np.full(2000, 99).astype(element)
    with pytest.raises((OverflowError, ValueError, TypeError)):
        np.copyto(out, numbers, casting="unsafe")
    assert out[:position].astype("i8").tolist() == [n % 7 for n in range(position)]
    assert (out[position:].astype("i8") == 99).all()
