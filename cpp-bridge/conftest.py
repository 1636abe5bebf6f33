"""The tests beside the C++ examples count objects as those of tests/python do."""

from balance import balanced, pytest_collection_finish, pytest_runtest_makereport

__all__ = ["balanced", "pytest_collection_finish", "pytest_runtest_makereport"]
