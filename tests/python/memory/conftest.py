"""Fixtures that several files of this folder share."""

import gc

import pytest
from support.handler_mode import MODES
from support.handlers import OwnHandler, get_handler
from support.hostile_modules import MODULES


@pytest.fixture
def caller_keeps_handler():
    before = get_handler()
    yield
    assert get_handler() is before


@pytest.fixture
def own():
    """A user's handler, all of whose memory is given back when the test ends."""
    own = OwnHandler()
    yield own
    gc.collect()
    assert own.live == {} and own.wrong == []


@pytest.fixture(params=MODES)
def block(request, own):
    """A function that makes a handler block."""
    return lambda: MODES[request.param](own)


@pytest.fixture(params=MODULES)
def hostile(request, monkeypatch):
    """The module whose types a test's process takes."""
    monkeypatch.setenv("HOSTILE", request.param)
