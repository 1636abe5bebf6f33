"""The tests beside the C++ examples count objects as those of tests/python do."""

import pytest
from support.balance import balanced, pytest_collection_finish, pytest_runtest_makereport

pytest.register_assert_rewrite("support.threads", "support.transport")

__all__ = ["balanced", "pytest_collection_finish", "pytest_runtest_makereport"]
