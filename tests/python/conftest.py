"""What all tests share: every object that a test makes is gone when it ends."""

import gc

import pytest

import denizen


def live_objects():
    """Live objects a type, after the garbage is collected."""
    gc.collect()
    return {name: counters["live"] for name, counters in denizen.stats().items()}


@pytest.fixture(autouse=True)
def balanced():
    """Fails a test after which more (or fewer) objects live than before it."""
    before = live_objects()
    yield
    after = live_objects()
    changed = {name: (before.get(name, 0), live) for name, live in after.items()}
    assert all(was == now for was, now in changed.values()), f"live before and after: {changed}"
