"""What all tests share: every object that a test makes is gone when it ends, tests marked by `every`
run once for each kind of element, those of C++ too where their modules are built, and `strategies`
says how many examples hypothesis tries."""

import signal

import pytest
from support import strategies
from support.balance import balanced, pytest_collection_finish, pytest_runtest_makereport
from support.kind import generate, other

pytest.register_assert_rewrite("support.threads", "support.transport")

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


def pytest_addoption(parser):
    parser.addoption(
        "--all-types",
        action="store_true",
        help="run the tests that go for every kind of element for all of them, not the typical ones",
    )


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("kinds"):
        # Late: the clients are looked for where a test needs them.
        from support.every_kind import known_kinds

        kinds, typical = known_kinds()
        whole = metafunc.config.getoption("--all-types")
        generate(metafunc, kinds, None if whole else typical)
