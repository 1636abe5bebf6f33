"""What the threads do: one operation at a time, on shared arrays, views that overlap, and their own.

An operation raises only what it cannot help; what comes out of it is checked (`Subject.check`)."""

import codecs
import copy
import gc
import io
import pickle
import random
import threading
from collections.abc import Callable

import numpy as np
import numpy.ma  # else NumPy imports it in `unique`, where a fork may find its lock held

import denizen

from .hands import Hand
from .subjects import Subject

# What protocol 2 writes bytes with: its first use imports a module, see above.
codecs.lookup("latin1")

Operation = Callable[[Hand], None]
OPERATIONS: dict[str, Operation] = {}


def operation(run: Operation) -> Operation:
    OPERATIONS[run.__name__] = run
    return run


# ---- reads ---------------------------------------------------------------------------------------


@operation
def read_elements(hand: Hand) -> None:
    a = hand.view()
    hand.subject.check([a[hand.rng.randrange(len(a))] for _ in range(3)])


@operation
def read_copies(hand: Hand) -> None:
    a = hand.view()
    hand.look(hand.rng.choice((a.copy, a.flatten, lambda: np.array(a), lambda: copy.deepcopy(a)))())


@operation
def read_objects(hand: Hand) -> None:
    hand.look(hand.view()[:700].astype(object))


@operation
def read_texts(hand: Hand) -> None:
    a = hand.view()
    repr(a[:20])
    str(a[:1])
    a[:600].astype(np.dtypes.StringDType())


@operation
def read_selections(hand: Hand) -> None:
    a = hand.view()
    indices, mask = hand.indices(a), hand.mask(a)
    hand.look(
        hand.rng.choice(
            (
                lambda: a[indices],
                lambda: a[mask],
                lambda: a.take(indices),
                lambda: a.compress(mask),
                lambda: np.where(mask, a, a[::-1]),
                lambda: np.choose(mask.astype(int), [a, a[::-1]]),
            )
        )()
    )


@operation
def read_joined(hand: Hand) -> None:
    x, y = hand.pair()
    hand.look(
        hand.rng.choice(
            (
                lambda: np.concatenate([x, y]),
                lambda: np.stack([x, y]),
                lambda: x.repeat(2),
                lambda: np.tile(x, 2),
                lambda: np.roll(x, 5),
                lambda: np.insert(x, 3, y[:2]),
            )
        )()
    )


@operation
def read_one_by_one(hand: Hand) -> None:
    a = hand.view()[:300]
    iterator = np.nditer(a, flags=["buffered", "refs_ok", "zerosize_ok"], buffersize=16)
    hand.rng.choice(
        (
            lambda: hand.subject.check(x for x in a),
            lambda: hand.subject.check(x for x in a.flat),
            lambda: hand.look(np.fromiter(a, dtype=hand.subject.element)),
            lambda: [x.copy() for x in iterator],
        )
    )()


@operation
def compare(hand: Hand) -> None:
    x, y = hand.pair()
    assert len(x == y) == len(x)
    if hand.subject.ordered:
        assert len(x < y) == len(x)


# ---- writes --------------------------------------------------------------------------------------


@operation
def write_elements(hand: Hand) -> None:
    a = hand.view()
    a[hand.rng.randrange(len(a))] = hand.source()
    a[hand.rng.randrange(len(a))] = a[hand.rng.randrange(len(a))]


@operation
def write_one_everywhere(hand: Hand) -> None:
    a, value = hand.view(), hand.own(3)
    a.fill(value[0])
    a[::3] = value[1]


@operation
def write_arrays(hand: Hand) -> None:
    x, y = hand.pair()
    x[...] = y


@operation
def write_over_itself(hand: Hand) -> None:
    a = hand.view()
    if hand.rng.random() < 0.5:
        a[1:] = a[:-1]
    else:
        a[:] = a[::-1]


@operation
def write_where(hand: Hand) -> None:
    x, y = hand.pair()
    np.copyto(x, y, where=hand.mask(x))


@operation
def write_selections(hand: Hand) -> None:
    a, values = hand.view(), hand.own(30)
    indices, mask = hand.indices(a)[:30], hand.mask(a)
    hand.rng.choice(
        (
            lambda: a.__setitem__(indices, values[: len(indices)]),
            lambda: a.__setitem__(mask, values[0]),
            lambda: a.put(indices, values),
            lambda: np.putmask(a, mask, values),
            lambda: np.place(a, mask, values),
        )
    )()


@operation
def write_lists(hand: Hand) -> None:
    a = hand.view()[:40]
    a[...] = [hand.source() for _ in range(len(a))]


@operation
def write_flat(hand: Hand) -> None:
    a = hand.view()
    a.flat = hand.own(3)


# ---- loops ---------------------------------------------------------------------------------------


@operation
def add_into(hand: Hand) -> None:
    x, y = hand.pair()
    np.add(x, y, out=x if hand.rng.random() < 0.5 else y)


@operation
def add_apart(hand: Hand) -> None:
    x, y = hand.pair()
    hand.look(x + y)


@operation
def add_own(hand: Hand) -> None:
    """With a result that is known: private arrays, in the middle of all others."""
    x = hand.own(600)
    total = x + x[::-1]
    assert (total == total[::-1]).all()
    hand.look(total)


@operation
def add_where(hand: Hand) -> None:
    x, y = hand.pair()
    np.add(x, y, out=y, where=hand.mask(x))


@operation
def accumulate(hand: Hand) -> None:
    x, y = hand.pair()
    x, y = x[:600], y[:600]
    hand.rng.choice(
        (
            lambda: np.add.accumulate(x, out=y),
            lambda: np.add.at(x, [0, 1, 0], y[:3]),
            lambda: x[: len(x) // 2 * 2].reshape(2, -1).sum(axis=0),
        )
    )()


@operation
def products(hand: Hand) -> None:
    x, y = hand.pair()
    ones = np.ones(len(x), dtype=hand.subject.element)
    # `dot` takes no such types before NumPy 2.5.
    hand.subject.check([x @ ones, np.vecdot(ones, y)])


@operation
def reduce(hand: Hand) -> None:
    hand.subject.check([hand.view().sum()])


@operation
def extremes(hand: Hand) -> None:
    a = hand.view()
    hand.subject.check([a.min(), a.max(), a[a.argmin()]])


@operation
def small_again(hand: Hand) -> None:
    """Sums of sums grow: others begin anew."""
    a = hand.base()
    a[...] = hand.own(len(a))


@operation
def replace(hand: Hand) -> None:
    """The array before goes when the last thread lets its view go."""
    index = hand.rng.randrange(len(hand.pool.bases))
    hand.pool.bases[index] = hand.pool.fresh(hand.rng, index)


# ---- casts, sorts, pickles -----------------------------------------------------------------------


@operation
def cast_back(hand: Hand) -> None:
    x, y = hand.pair()
    x[...] = y.astype(object)


@operation
def cast_texts_back(hand: Hand) -> None:
    a = hand.own(600)
    text = a.astype("U400")
    hand.look(text.astype(hand.subject.element))
    x, _ = hand.pair()
    x[...] = text[: len(x)] if len(x) <= 600 else text[0]


@operation
def cast_between_numbers(hand: Hand) -> None:
    x, y = hand.pair()
    if hand.subject.name == "Integer":
        x[...] = y.astype(denizen.Rational).astype(denizen.Integer)
    elif hand.subject.name == "Rational":
        np.floor(y).astype(denizen.Integer).astype(denizen.Rational)
    else:
        y.astype(np.int64)


@operation
def sort_shared(hand: Hand) -> None:
    hand.view().sort()


@operation
def sort_own(hand: Hand) -> None:
    a = hand.view().copy()
    order = a.argsort(kind="stable")
    a.sort()
    assert (a[:-1] <= a[1:]).all()
    assert sorted(order.tolist()) == list(range(len(a)))
    hand.look(a)


@operation
def order_shared(hand: Hand) -> None:
    a = hand.view()
    hand.rng.choice(
        (
            lambda: a.argsort(),
            lambda: np.partition(a, len(a) // 2),
            lambda: a.partition(len(a) // 3),
            lambda: np.unique(a),
            lambda: np.sort(a).searchsorted(a[:5]),
        )
    )()


@operation
def pickles(hand: Hand) -> None:
    hand.look(pickle.loads(pickle.dumps(hand.view()[:700], hand.rng.choice((2, 5)))))


@operation
def files(hand: Hand) -> None:
    file = io.BytesIO()
    np.save(file, hand.view()[:600], allow_pickle=True)
    file.seek(0)
    hand.look(np.load(file, allow_pickle=True))


# ---- lives of arrays -----------------------------------------------------------------------------


@operation
def resize_shared(hand: Hand) -> None:
    """Refused while another thread has it, else whole."""
    index = hand.rng.randrange(len(hand.pool.holders))
    try:
        hand.pool.holders[index].resize(hand.rng.choice((600, 650, 700, 5000)))
    except ValueError as error:
        assert "referenc" in str(error) or "refcheck" in str(error), error


@operation
def use_resized(hand: Hand) -> None:
    index = hand.rng.randrange(len(hand.pool.holders))
    copied = hand.pool.holders[index].copy()
    hand.look(copied)
    hand.pool.holders[index][:600] = copied[:600]


@operation
def resize_own(hand: Hand) -> None:
    a = hand.own()
    for size in (len(a) + 1, 5, 2000, 0, 30):
        a.resize(size, refcheck=False)
        hand.look(a)


@operation
def bury(hand: Hand) -> None:
    """Another thread ends them."""
    a = hand.own()
    hand.pool.graves.append([a, a[::2], hand.own(), {"cycle": a}])
    if len(hand.pool.graves) > 20:
        hand.pool.graves.pop(0)


@operation
def dig(hand: Hand) -> None:
    try:
        hand.pool.graves.pop()
    except IndexError:
        gc.collect(0)


@operation
def thread_that_dies(hand: Hand) -> None:
    """Its arrays stay in use, and its caches are handed on."""
    mine = Hand(hand.pool, random.Random(hand.rng.random()))

    def work() -> None:
        made = [mine.own() for _ in range(3)]
        mine.pool.bases[0], made = mine.pool.fresh(mine.rng, 0), made[1:]
        mine.pool.graves.append(made)
        mine.look(mine.view())

    thread = threading.Thread(target=quiet, args=(work,))
    thread.start()
    if hand.rng.random() < 0.5:
        thread.join()


def quiet(work: Callable[[], None]) -> None:
    """For a thread whose errors are another one's business: those of fuses, and refusals."""
    try:
        work()
    except Exception as error:
        if not is_expected(error):
            raise


@operation
def structures(hand: Hand) -> None:
    """Foreign memory, which is safe in one thread's hands."""
    a = hand.own(40)
    records = np.zeros(40, dtype=[("x", hand.subject.element), ("n", "i8")])
    records["x"] = a
    records["x"][::2] = hand.view()[:1]
    hand.look(records[::-1].copy()["x"])
    hand.look(records[[1, 5, 7]]["x"])


@operation
def handler_mode(hand: Hand) -> None:
    with denizen.handler():
        hand.look(hand.view().copy())
        floats = np.arange(700.0)
        floats.resize(900, refcheck=False)
        objects = np.array([None] * 10, dtype=object)
        structures(hand)
    assert floats[699] == 699.0 and objects[9] is None
    hand.pool.graves.append([floats, objects])


@operation
def look_inside(hand: Hand) -> None:
    a = hand.view()
    assert denizen.owner(a) in ("managed", "adopted")
    repr(denizen.inspect(a))
    assert hand.subject.name.split()[-1] in "".join(denizen.stats())


@operation
def audited(hand: Hand) -> None:
    """Others make objects meanwhile, which the block cannot tell from its own."""
    try:
        with denizen.audit(trace=hand.rng.random() < 0.5) as audit:
            hand.own()
            hand.look(hand.view()[:50])
        audit.to_dict()
    except denizen.LeakError:
        pass


# ---- errors at the same time ---------------------------------------------------------------------


@operation
def divide_by_zero(hand: Hand) -> None:
    x, y = hand.pair()
    ones = np.ones(len(x), dtype=hand.subject.element)
    zero = hand.rng.randrange(len(x))
    ones[zero] = 0
    divide = np.floor_divide if hand.subject.name == "Integer" else np.true_divide
    try:
        divide(x, ones, out=y)
    except ZeroDivisionError:
        return
    raise AssertionError("a division by zero went well")


@operation
def convert_nonsense(hand: Hand) -> None:
    a = hand.view()[:30]
    values = [hand.source() for _ in range(len(a))]
    values[hand.rng.randrange(len(a))] = hand.rng.choice(hand.subject.nonsense)
    try:
        a[...] = values
    except (ValueError, TypeError):
        return
    raise AssertionError("nonsense was taken for a value")


@operation
def light_a_fuse(hand: Hand) -> None:
    assert hand.subject.fuse is not None
    hand.subject.fuse(hand.rng.choice(hand.subject.fuses), hand.rng.randrange(3000))


# ---- objects that only move ----------------------------------------------------------------------


@operation
def show_cells(hand: Hand) -> None:
    """Scalars that show cells of shared arrays, while others sort, write and end those."""
    a = hand.base()
    shown = [a[hand.rng.randrange(len(a))] for _ in range(5)]
    hand.subject.check(shown)
    hand.pool.graves.append(shown)
    if len(hand.pool.graves) > 20:
        hand.pool.graves.pop(0)


@operation
def move_in(hand: Hand) -> None:
    a, own = hand.base(), hand.own(3)
    a[hand.rng.randrange(len(a))] = hand.subject.element(hand.source())
    try:
        a[hand.rng.randrange(len(a))] = own[1]
    except TypeError as error:
        # It shows another cell already.
        assert "show" in str(error) or "copied" in str(error), error


@operation
def add_moving(hand: Hand) -> None:
    a = hand.view()
    hand.look(a + a) if hand.rng.random() < 0.7 else np.add(a, a, out=a)


@operation
def order_moving(hand: Hand) -> None:
    # An axis that is not contiguous would be copied.
    a = hand.base()
    a.sort() if hand.rng.random() < 0.5 else a.argsort()
    a.argmin()


@operation
def refuse_copies(hand: Hand) -> None:
    a = hand.base()
    for attempt in (a.copy, lambda: a[[1, 2]], lambda: np.concatenate([a, a])):
        try:
            attempt()
        except TypeError as error:
            assert "cop" in str(error), error
        else:
            raise AssertionError("an object that only moves was copied")


# ---- client code ---------------------------------------------------------------------------------


@operation
def view_of_cpp(hand: Hand) -> None:
    assert hand.subject.read_free is not None
    hand.subject.read_free(hand.view())


@operation
def view_of_cpp_that_writes(hand: Hand) -> None:
    assert hand.subject.raise_free is not None
    hand.subject.raise_free(hand.view())


def is_expected(error: BaseException) -> bool:
    """Whether an error is one that an operation cannot help: a fuse that another thread lit, or
    cells that are lent to C++. A SystemError is a mistake of the program's, whatever its cause."""
    while error is not None and not isinstance(error, SystemError):
        if isinstance(error, denizen.BorrowError) or "the fuse of" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


#: What is done with objects that only move.
MOVING = (
    *("read_elements", "compare", "show_cells", "move_in", "refuse_copies", "add_moving"),
    *("order_moving", "replace", "resize_shared", "resize_own", "bury", "dig"),
    *("thread_that_dies", "look_inside", "audited", "convert_nonsense"),
)
#: And with nothing else.
ONLY_MOVING = {"show_cells", "move_in", "refuse_copies", "add_moving", "order_moving"}


def operations_for(subject: Subject) -> dict[str, Operation]:
    """Those that the type has the means for."""
    if not subject.copies:
        return {name: OPERATIONS[name] for name in MOVING}
    without = set(ONLY_MOVING)
    if not subject.adds:
        without |= {
            "add_into", "add_apart", "add_own", "add_where", "accumulate", "reduce",
            "cast_between_numbers", "products",
        }  # fmt: skip
    if not subject.ordered:
        without |= {"extremes", "sort_shared", "sort_own", "order_shared"}
    if subject.fuse is None:
        without |= {"light_a_fuse"}
    if not subject.nonsense:
        without |= {"convert_nonsense"}
    if subject.read_free is None:
        without |= {"view_of_cpp", "view_of_cpp_that_writes"}
    if subject.name not in ("Integer", "Rational"):
        without |= {"divide_by_zero"}
        if not subject.name.startswith("cpp"):
            without |= {"products"}
    return {name: run for name, run in OPERATIONS.items() if name not in without}
