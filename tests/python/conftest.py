"""What all tests share: every object that a test makes is gone when it ends, and `strategies` says
how many examples hypothesis tries."""

import strategies
from balance import balanced, pytest_collection_finish, pytest_runtest_makereport

__all__ = ["balanced", "pytest_collection_finish", "pytest_runtest_makereport", "strategies"]
