"""The tests beside the C++ examples count objects as those of tests/python do, and the trials that
are written there run for the C++ types too."""

import pytest
from balance import balanced, pytest_collection_finish, pytest_runtest_makereport
from kind import generate, other

pytest.register_assert_rewrite("trials")

__all__ = [
    "balanced",
    "other",
    "pytest_collection_finish",
    "pytest_generate_tests",
    "pytest_runtest_makereport",
]


def pytest_generate_tests(metafunc):
    def kinds():
        from cpp_kinds import KINDS

        return KINDS

    generate(metafunc, kinds)
