"""Fixtures that several files of this folder share."""

import cpp_data
import pytest
from data_storages import STORAGES, Storage


@pytest.fixture
def data():
    yield cpp_data
    cpp_data.throw_after(-1)
    cpp_data.shared_drop()


@pytest.fixture(params=STORAGES)
def storage(request, data):
    return Storage(data, request.param, STORAGES[request.param])


@pytest.fixture
def inline(data):
    return Storage(data, "inline", "Inline")
