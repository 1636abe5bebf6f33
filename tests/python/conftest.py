"""What all tests share: every object that a test makes is gone when it ends."""

import gc

import pytest

import denizen

PASSED = pytest.StashKey[bool]()


def live_objects():
    """Live objects a type, after the garbage is collected."""
    gc.collect()
    return {name: counters["live"] for name, counters in denizen.stats().items()}


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
    assert not changed, f"live objects before and after the test: {changed}"
