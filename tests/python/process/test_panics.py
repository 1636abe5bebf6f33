"""A panic in any function of the runtime that NumPy or Python calls: a Python exception that names the
function, and nothing else. Each operation runs once for each call that it makes into the runtime,
with that call panicking."""

import pytest
from support.process import run

OPERATIONS = """
import gc, io, pickle
import denizen._runtime as runtime

unraisable = []
sys.unraisablehook = lambda error: unraisable.append(str(error.exc_value))

def attempt(prepare, operate, after=None):
    # How many calls into the runtime were made, and what was raised.
    arguments = prepare()
    error = None
    runtime._plan_fault("slot", after)
    try:
        operate(*arguments)
    except Exception as raised:
        error = raised
    calls, happened = runtime._end_fault()
    text = "" if error is None else f"{type(error).__name__}: {error}"
    del arguments, error
    return calls, happened, text

def panic_everywhere(name, prepare, operate):
    counts = lambda: {t: c["live"] for t, c in denizen.stats().items()}
    attempt(prepare, operate)
    gc.collect()
    before = counts()
    calls, _, error = attempt(prepare, operate)
    assert calls > 0 and "panicked" not in error, (name, calls, error)
    silent, others = 0, set()
    for after in range(calls):
        unraisable.clear()
        _, happened, error = attempt(prepare, operate, after)
        heard = [text for text in [error, *unraisable] if text]
        silent += happened and not heard
        for text in heard:
            if "panicked" not in text:
                # A sink of a client's, which says so itself, or NumPy's words.
                others.add(text)
                continue
            assert "as a plan of faults wants it; please report it" in text, (name, text)
        gc.collect()
        if any(name in text for name in ("clear", "dealloc") for text in heard):
            # What the call was for did not happen: the objects stay for good.
            before = counts()
        assert counts() == before, (name, after, error, before, counts())
        # Everything goes on.
        assert (np.array([1, 2], dtype=T) + 1).tolist() == [2, 3]
    print(name, calls, silent, ";".join(others), sep="|")

T = denizen.Integer
Decimal = example.BigDecimal
big = 2**70

def integers(count=3):
    return np.array([big, 5, -big] * 4, dtype=T)[:count].copy()
"""

#: What is said instead of the panic: NumPy knows only one way in which an allocation fails, a sink's
#: failure is the words of the client that wrote to it, and of a cast's descriptors those of NumPy.
OTHERS = (
    "MemoryError",
    "formatting failed",
    "cannot cast",
    "unable to resolve descriptors",
    "Iterator reset failed",
)

#: Where NumPy looks for a common dtype, finds none, and goes on to what needs none.
SILENT = {"promoters": 2, "methods": 1, "scalar operators": 2}

#: Of each kind of slot: what is prepared, and what is done.
PANICS = {
    "dtype": ("()", "repr(np.dtype(T)), str(np.dtype(T)), np.dtype(T).name, type(np.dtype(T))()"),
    "pickle of a dtype": ("()", "pickle.loads(pickle.dumps(np.dtype(T)))"),
    "promotion": ("(integers(),)", "a[0] + 1, a[0] * 2.5, np.result_type(a, np.int8)"),
    "promoters": ("(integers(),)", "np.add(a, 1), np.add(a, np.float32(1)), a == 1"),
    "common dtype": ("(integers(),)", "np.concatenate([a, np.arange(3)])"),
    "discovery": ("(integers(),)", "np.array([a[0], a[1]])"),
    "methods": ("(integers(),)", "a.cumsum(), a.cumprod(), np.add.at(a, 0, 1)"),
    "sorts": ("(integers(),)", "a.sort(), a.argsort(), np.partition(a, 1)"),
    "put": ("(integers(),)", "a.put([0], 7), np.putmask(a, [True, False, True], 9)"),
    "text": ("(integers(),)", "a.astype(str), a.astype('U30'), np.array(['1']).astype(T)"),
    "scalar operators": (
        "(np.array(['1.5'], dtype=Decimal)[0],)",
        "a + a, -a, a == 5, a < a, float(a), int(a), abs(a), 1 - a",
    ),
    "scalar": (
        "(np.array(['1.5'], dtype=Decimal)[0],)",
        "a[()], str(a), repr(a), hash(a), bool(a)",
    ),
    "results": ("(integers(),)", "a.argmax(), a.argmin(), a.tolist(), a.any()"),
    "pickle": ("(integers(),)", "pickle.loads(pickle.dumps(a))"),
    "resize": ("(integers(),)", "a.resize(9, refcheck=False)"),
    "new array": ("(integers(),)", "np.ndarray(3, T), np.empty(3, T), np.zeros(2, T)"),
    "records": ("(np.zeros(2, dtype=[('x', T)]),)", "a['x'].__setitem__(0, big), a.copy(), a[0]"),
    "handler": ("()", "denizen_handler()"),
}


def code(names):
    lines = [
        OPERATIONS,
        "def denizen_handler():\n    with denizen.handler(): np.arange(9.0).copy()",
    ]
    lines += [
        f"panic_everywhere({name!r}, lambda: {PANICS[name][0]}, lambda a=None: ({PANICS[name][1]}, None))"
        for name in names
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("half", [0, 1])
def test_a_panic_in_a_slot_is_an_exception_that_names_it(half):
    names = list(PANICS)[half::2]
    # What a panic prints goes to stderr.
    printed = run(code(names), stderr=lambda text: "panicked at" in text, RUST_BACKTRACE="0")
    results = [line.split("|") for line in printed.splitlines()]
    assert [name for name, *_ in results] == names
    for name, calls, silent, others in results:
        assert int(calls) > 0
        assert int(silent) <= SILENT.get(name, 0), name
        assert all(any(text in other for text in OTHERS) for other in others.split(";") if other)
