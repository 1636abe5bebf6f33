"""The types that the tests of the function table register."""

import types

import pytest
from support.c_table import (
    API,
    register,
    spec,
    text,
    vtable,
)


@pytest.fixture
def module():
    return types.ModuleType("ctable")


@pytest.fixture(scope="session")
def word():
    """Handle of a correct type of one word, stored inline."""
    return register(types.ModuleType("ctable"), spec(vtable("ctable.Word")))


@pytest.fixture(scope="session")
def integer():
    return API["find_element"](text("denizen.Integer"), 8, 8, None)
