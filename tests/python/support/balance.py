"""The fixture that every test of the project runs under: each object that a test makes is gone when
it ends. Test folders take it over in their conftest.py."""

import gc
import itertools
import sys

import pytest

import denizen

PASSED = pytest.StashKey[bool]()
#: After so many tests what they left (modules, caches, reports) is not looked at any more.
FREEZE_EVERY = 64
_tests = itertools.count(1)


#: What clients count themselves: live objects, and uses of what is no object.
OWN_COUNTERS = {
    "denizen_example": {"live_duals": lambda client: client.live_duals()},
    "denizen_raw": {
        "bombs": lambda client: client.bombs()[2],
        "misused bombs": lambda client: client.misused_bombs(),
        "units": lambda client: client.units(),
        "singles": lambda client: client.singles(),
        "tracers": lambda client: client.countdown.counts["tracers alive"],
        "misused tracers": lambda client: client.countdown.counts["dead tracers used"],
    },
    "denizen_sorting": {"live": lambda client: client.live()},
    "denizen_hostile": {
        "live": lambda client: sum(count for _, count in client.live()),
        "violations": lambda client: len(client.violations()),
    },
}


def live_objects():
    """Live objects a type, and by the clients' own counters, after the garbage is collected."""
    gc.collect()
    live = {name: counters["live"] for name, counters in denizen.stats().items()}
    for module, counters in OWN_COUNTERS.items():
        if client := sys.modules.get(module):
            live |= {f"{module}.{name}()": count(client) for name, count in counters.items()}
    return live


def pytest_collection_finish():
    """What exists before the first test stays: collections need not look at it each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture(autouse=True)
def balanced(request):
    """Fails a test after which more (or fewer) objects live than before it."""
    before = live_objects()
    yield
    # The traceback of a failed test keeps its objects.
    if not request.node.stash.get(PASSED, False):
        return
    # pytest keeps the values of the other fixtures until after this one.
    request.node.funcargs.clear()
    after = live_objects()
    changed = {
        name: (before.get(name, 0), live)
        for name, live in after.items()
        if live != before.get(name, 0)
    }
    if next(_tests) % FREEZE_EVERY == 0:
        gc.freeze()
    assert not changed, f"live objects before and after the test: {changed}"
