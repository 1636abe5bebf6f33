"""The pytest plugin of denizen: tests after which objects of an element type are left fail.

A module of its own, outside the package: pytest imports it at every start, in every project where
denizen is installed, and the package would bring NumPy with it. It is imported for the first test
that is audited.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from denizen import Audit
    from denizen._audit.report import Leak

__all__ = ["denizen_audit"]

_NAME = "denizen_audit"
_NONE: Mapping[str, int] = MappingProxyType({})

#: Places of leaked objects that a message names.
_MOST_LOCATIONS = 5

#: Frames of a stack before those that are left out of it.
_EDGE = 50

#: Stack frames of these packages are between the test and Python; no leak is looked for there.
_RUNNERS = ("_pytest", "pluggy", "unittest", "xdist")

_MARKER = f"""\
{_NAME}(judged=True, *, trace=False, allow={{}}): \
the test fails when objects of denizen's element types outlive it. \
trace: every stack is kept whole. allow: how many may outlive it, by the names of types. \
{_NAME}(False): whatever is left, the test passes."""


class _Settings:
    """The arguments of the marker."""

    def __init__(
        self, judged: bool = True, *, trace: bool = False, allow: Mapping[str, int] = _NONE
    ) -> None:
        self.judged = judged
        self.trace = trace
        self.allow = allow
        if not isinstance(self.judged, bool):
            raise TypeError(f"got {self.judged!r} where True or False is expected")
        if not isinstance(self.allow, Mapping) or not all(
            isinstance(name, str) and isinstance(count, int) for name, count in self.allow.items()
        ):
            raise TypeError(f"got allow={self.allow!r}; numbers by names of types are expected")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("denizen", "objects in arrays of denizen's element types")
    group.addoption(
        "--denizen-audit",
        action="store_true",
        help=f"fail every test that leaves objects behind, as the marker {_NAME} does",
    )
    parser.addini(_NAME, "the same as --denizen-audit", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


class _Watch:
    """The audit of one test: from before its first fixture until after its last one."""

    def __init__(self, item: pytest.Item, settings: _Settings) -> None:
        self.item = item
        self.settings = settings
        self.passed = False
        self.audit: Audit | None = None
        #: Live objects by type when it began.
        self.before: Counter[str] = Counter()
        #: What is alive at its end and was not before.
        self.left: Counter[str] = Counter()
        #: What fixtures made that may outlive the test: objects by type, and by place.
        self.exempt: Counter[str] = Counter()
        self.exempt_locations: Counter[_Location] = Counter()

    def begin(self) -> None:
        from denizen import Audit

        _forget_the_last_exception()
        _garbage.collect_what_others_left()
        self.before = _live()
        trace, name = self.settings.trace, self.item.nodeid
        audit = Audit(trace=trace, raises=False, collects=False, target=name)
        self.audit = audit.__enter__()
        _watches.append(self)

    def end(self) -> None:
        if self not in _watches:
            return
        _watches.remove(self)
        assert self.audit is not None
        if self.settings.judged and self.passed and self.leaked():
            _drop_what_pytest_keeps(self.item)
            _garbage.collect(until=lambda: not self.leaked())
        self.left = self.leaked()
        self.audit.stop()
        _garbage.note(self.passed)

    def leaked(self) -> Counter[str]:
        """How many more objects are alive than before, by type."""
        return _live() - self.before

    @contextmanager
    def exempting(self) -> Iterator[None]:
        """What is made in this block may outlive the test."""
        assert self.audit is not None
        gc.collect()
        objects, locations = self.leaked(), _locations(self.audit)
        yield
        gc.collect()
        self.exempt += self.leaked() - objects
        self.exempt_locations += _locations(self.audit) - locations

    def complaint(self) -> str | None:
        """What to say of the objects that outlive the test, if any do that may not."""
        if self.audit is None or not (self.settings.judged and self.passed):
            return None
        allow = self.settings.allow
        if allow and (unknown := _unknown(allow)):
            return f"{self.item.nodeid}: the marker {_NAME} {unknown}"
        left = self.left - self.exempt
        left = Counter({n: c for n, c in left.items() if c > allow.get(n, 0)})
        if not left:
            return None
        counted = ", ".join(
            f"{count} {name} object{'s' if count != 1 else ''}"
            + (f" ({allow[name]} allowed)" if name in allow else "")
            for name, count in left.items()
        )
        return "\n".join([f"{counted} outlived the test", *self._lines(left)])

    def _lines(self, types: Mapping[str, int]) -> Iterator[str]:
        from denizen._audit.text import leak_lines

        assert self.audit is not None
        exempt = self.exempt_locations.copy()
        shown = 0
        for leak in self.audit.leaks:
            free = min(exempt[location := _location(leak)], leak["count"])
            exempt[location] -= free
            if leak["type"] not in types or leak["count"] == free:
                continue
            if shown == _MOST_LOCATIONS:
                yield "  and more, made at other places"
                return
            shown += 1
            first, *rest = leak_lines(_without_runners(leak, leak["count"] - free))
            yield f"  {leak['type']}: {first}"
            yield from (f"  {line}" for line in rest)


#: The tests that are running and audited, innermost last: pytest may run within a test.
_watches: list[_Watch] = []
_WATCH = pytest.StashKey[_Watch]()

#: The type of objects, the kind of memory they are in, file and line where they were made.
_Location = tuple[str, str, str, int]


class _Garbage:
    """When to collect garbage: a collection takes longer than most tests.

    A test that leaves nothing behind needs none. What is left behind may be garbage, most often
    young. Older garbage that ends with it would make up for what the test leaves behind, so it is
    collected before the test: after code that was not audited, and after failures.
    """

    def __init__(self) -> None:
        #: Live objects by type at the end of the last test.
        self._live: Counter[str] | None = None
        #: Whether the last test failed.
        self._failed = False

    def collect_what_others_left(self) -> None:
        if (self._failed or self._live != _live()) and _live():
            gc.collect()

    def collect(self, until: Callable[[], bool]) -> None:
        """From the youngest objects to all, until enough has ended."""
        for generation in (1, 2):
            gc.collect(generation)
            if until():
                return

    def note(self, passed: bool) -> None:
        self._live = _live()
        self._failed = not passed


_garbage = _Garbage()


def _forget_the_last_exception() -> None:
    """What the last failure left for a debugger: its traceback keeps arrays. pytest drops it too,
    only later, when it calls the test: their end would make up for what the test leaves behind."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)


def _unknown(allow: Mapping[str, int]) -> str | None:
    """What to say of names that no type has. Types may be registered as late as by the test."""
    from denizen import types

    known = types()
    for name in allow:
        if name not in known:
            like = [full for full in known if full.rpartition(".")[2] == name.rpartition(".")[2]]
            meant = f"is {like[0]} meant?" if like else f"there are {', '.join(known)}"
            return f"allows {name!r} objects, but no element type is called so; {meant}"
    return None


def _live() -> Counter[str]:
    from denizen import stats

    return Counter({name: figures["live"] for name, figures in stats().items() if figures["live"]})


def _location(leak: Leak) -> _Location:
    site = leak["site"]
    return leak["type"], leak["where"], site["file"] if site else "", site["line"] if site else 0


def _locations(audit: Audit) -> Counter[_Location]:
    locations: Counter[_Location] = Counter()
    for leak in audit.leaks:
        locations[_location(leak)] += leak["count"]
    return locations


def _without_runners(leak: Leak, count: int) -> Leak:
    """The leak with this many objects, and the part of its stack that is not pytest's own."""
    stack, left_out = leak["stack"], leak["left_out"]
    for index, site in enumerate(stack):
        parts = site["file"].replace("\\", "/").split("/")
        if index and any(runner in parts for runner in _RUNNERS):
            stack = stack[:index]
            left_out = left_out if index > _EDGE else 0
            break
    return {**leak, "count": count, "stack": stack, "left_out": left_out}


def _drop_what_pytest_keeps(item: pytest.Item) -> None:
    """What a test leaves to pytest and cannot end itself: values of its fixtures, which are over,
    attributes of the instance of its class, and records of `logging` with their arguments."""
    if isinstance(item, pytest.Function):
        item.funcargs.clear()
        instance = getattr(getattr(item, "_obj", None), "__self__", None)
        if item.cls is not None and isinstance(instance, item.cls):
            getattr(instance, "__dict__", {}).clear()
    try:
        from _pytest.logging import caplog_records_key
    except ImportError:
        return
    for records in item.stash.get(caplog_records_key, {}).values():
        records.clear()


def _settings(item: pytest.Item) -> _Settings | None:
    """How this test is to be audited, if it is."""
    mark = item.get_closest_marker(_NAME)
    if mark is None:
        wanted = (
            _NAME in getattr(item, "fixturenames", ())
            or item.config.getoption("--denizen-audit")
            or item.config.getini(_NAME)
        )
        return _Settings() if wanted else None
    try:
        return _Settings(*mark.args, **mark.kwargs)
    except TypeError as error:
        wrong = f"{error}".removeprefix("_Settings.__init__() ")
    pytest.fail(f"{item.nodeid}: the marker {_NAME} {wrong}", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    settings = _settings(item)
    if settings is None:
        return
    # The test's own setup comes after those of its module and class, unless it is skipped. Its
    # teardown comes after the ends of its fixtures, lets the instance of its class go, and comes
    # before the ends of wider fixtures.
    watch = item.stash[_WATCH] = _Watch(item, settings)
    setup, teardown = item.setup, item.teardown

    def begin_and_setup() -> None:
        __tracebackhide__ = True
        del item.setup
        watch.begin()
        setup()

    def teardown_and_end() -> None:
        __tracebackhide__ = True
        del item.teardown
        try:
            teardown()
        finally:
            watch.end()

    item.setup = begin_and_setup  # type: ignore[method-assign]
    item.teardown = teardown_and_end  # type: ignore[method-assign]


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None]:
    """A fixture that is wider than the test may make what outlives it. One of a class is not, where
    there is no class: it ends with the test."""
    if not _watches or fixturedef.scope == "function" or isinstance(request.node, pytest.Item):
        yield
        return
    with _watches[-1].exempting():
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any]:
    outcome = yield
    if call.when == "call" and (watch := item.stash.get(_WATCH, None)):
        # What is said about failures keeps tracebacks, and those keep arrays.
        watch.passed = outcome.excinfo is None and outcome.get_result().passed


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    # After everything was torn down, and only if that went well.
    watch = item.stash.get(_WATCH, None)
    if watch is None:
        return
    del item.stash[_WATCH]
    if complaint := watch.complaint():
        pytest.fail(complaint, pytrace=False)


@pytest.fixture
def denizen_audit(request: pytest.FixtureRequest) -> Audit:
    """The running audit of the test, which fails when objects outlive it.

    The audit counts from before the first fixture of the test until after its last one; what
    fixtures of a class, a module or the session make may stay. Its members say what has happened
    so far: `denizen_audit.types["denizen.Integer"]["constructed"]`.
    """
    watch = request.node.stash.get(_WATCH, None)
    if watch is None or watch.audit is None:
        raise pytest.UsageError(
            f"{_NAME} must be an argument of the test or of a fixture, or be named in "
            "usefixtures: when it is asked for by getfixturevalue, the test has begun already"
        )
    audit: Audit = watch.audit
    return audit
