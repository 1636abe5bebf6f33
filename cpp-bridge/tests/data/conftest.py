"""Fixtures that several files of this folder share."""

import cpp_data
import pytest
from data_kinds import KINDS, Kind


@pytest.fixture
def data():
    yield cpp_data
    cpp_data.throw_after(-1)
    cpp_data.shared_drop()


@pytest.fixture(params=KINDS)
def kind(request, data):
    return Kind(data, request.param, KINDS[request.param])


@pytest.fixture
def inline(data):
    return Kind(data, "inline", "Inline")
