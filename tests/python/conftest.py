"""What all tests share: every object that a test makes is gone when it ends, tests marked by `every`
run once for each kind of element, and `strategies` says how many examples hypothesis tries."""

import signal

import pytest
import strategies
from balance import balanced, pytest_collection_finish, pytest_runtest_makereport
from kind import generate, other

pytest.register_assert_rewrite("trials")

# Where the tests run in the background of a script, SIGINT is ignored, and so it would be in the
# processes that they start to interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = [
    "balanced",
    "other",
    "pytest_collection_finish",
    "pytest_generate_tests",
    "pytest_runtest_makereport",
    "strategies",
]


def pytest_generate_tests(metafunc):
    def kinds():
        from kinds import KINDS

        return KINDS

    generate(metafunc, kinds)
