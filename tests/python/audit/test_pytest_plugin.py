"""The pytest plugin: tests that leak fail, and say where; what a test may keep."""

import os

import pytest


def test_a_leak_fails_the_test_and_says_where_it_was_made(run):
    outcomes, output = run(
        test_a="""
@pytest.mark.denizen_audit
def test_global():
    keep(10)

def test_after(denizen_audit):
    assert len(kept) == 1
    assert ones(3).sum() == 3
"""
    )
    assert outcomes == {"test_global": "PE", "test_after": "P", "status": 1}
    assert "ERROR at teardown of test_global" in output
    assert "10 denizen.Integer objects outlived the test" in output
    assert "denizen.Integer: 10 in 1 array (80 bytes)" in output
    assert "> test_a.py:8, in ones" in output
    assert "test_a.py:14, in test_global\n        keep(10)\n" in output
    # The frames of pytest are left out.
    assert f"{os.sep}_pytest{os.sep}" not in output and f"{os.sep}pluggy{os.sep}" not in output


def test_what_is_reachable_from_nowhere_is_no_leak(run):
    outcomes, _ = run(
        test_a="""
pytestmark = pytest.mark.denizen_audit

def test_cycle():
    cycle = [ones(10)]
    cycle.append(cycle)

def test_exception():
    array = ones(10)
    with pytest.raises(ZeroDivisionError) as info:
        other = ones(5)
        1 / 0
    assert info.traceback

def test_generator():
    def generate():
        array = ones(10)
        yield
    next(generator := generate())

def test_attribute_of_an_exception():
    class Error(Exception): pass
    with pytest.raises(Error):
        error = Error()
        error.array = ones(10)
        raise error

def test_logged(caplog):
    logging.getLogger().warning("%s", ones(3))
    assert len(caplog.records) == 1

def test_printed(capsys):
    print(ones(3))

def test_patched(monkeypatch):
    monkeypatch.setattr("builtins.denizen_test", ones(3), raising=False)
""",
    )
    assert outcomes.pop("status") == 0
    assert set(outcomes.values()) == {"P"} and len(outcomes) == 7


def test_a_cache_that_grows_fails_the_first_test_alone(run):
    outcomes, output = run(
        test_a="""
import functools
pytestmark = pytest.mark.denizen_audit

@functools.cache
def cached(n):
    return ones(n)

def test_first():
    cached(4)

def test_second():
    cached(4)

def test_scalar():
    kept.append(Integer(7) + 1)
    kept.append(Rational(1, 3))
"""
    )
    assert outcomes["test_first"] == "PE" and outcomes["test_second"] == "P"
    assert "4 denizen.Integer objects" in output


def test_a_failed_test_is_not_reported_for_a_leak_too(run):
    outcomes, output = run(
        test_a="""
pytestmark = pytest.mark.denizen_audit

def test_fails():
    array = ones(10)
    keep(5)
    assert array[0] == 2

@pytest.mark.xfail
def test_expected():
    array = ones(10)
    assert array[0] == 2

def test_skips():
    array = ones(10)
    pytest.skip("no reason")

@pytest.fixture
def broken():
    array = ones(10)
    yield
    raise OSError("teardown")

def test_teardown_fails(broken):
    pass

@pytest.fixture
def broken_setup():
    array = ones(10)
    raise OSError("setup")

def test_setup_fails(broken_setup):
    pass

def test_next_is_judged_alone():
    array = ones(10)

def test_next_leaks():
    keep(3)
"""
    )
    assert outcomes == {
        "test_fails": "F",
        "test_expected": "XFAIL",
        "test_teardown_fails": "PE",
        "test_setup_fails": "E",
        "test_next_is_judged_alone": "P",
        "test_next_leaks": "PE",
        "status": 1,
    }
    assert output.count("outlived the test\n") == 1
    assert "pytest_denizen" not in output


@pytest.mark.parametrize("expected", ["", "@pytest.mark.xfail"], ids=["fails", "xfails"])
def test_what_a_failure_keeps_makes_up_for_no_leak(run, expected):
    """The frames of a failed test live until pytest calls the next one."""
    outcomes, output = run(
        test_a=f"""
pytestmark = pytest.mark.denizen_audit

{expected}
def test_before():
    array = ones(10)
    assert array[0] == 2

def test_leaks_fewer():
    keep(4)

{expected}
def test_before_that():
    array = ones(10)
    assert array[0] == 2

def test_leaks_more():
    keep(13)

{expected}
def test_once_more():
    array = ones(10)
    assert array[0] == 2

def test_leaks_nothing():
    ones(3)
"""
    )
    before = "XFAIL" if expected else "F"
    assert outcomes == {
        "test_before": before,
        "test_leaks_fewer": "PE",
        "test_before_that": before,
        "test_leaks_more": "PE",
        "test_once_more": before,
        "test_leaks_nothing": "P",
        "status": 1,
    }
    assert "4 denizen.Integer objects outlived the test\n" in output
    assert "13 denizen.Integer objects outlived the test\n" in output


def test_fixtures_of_a_class_are_no_wider_than_tests_outside_classes(run):
    """There they end with the test, so nothing of theirs may stay."""
    outcomes, output = run(
        test_a="""
@pytest.fixture(scope="class")
def of_class():
    yield ones(50)

@pytest.mark.denizen_audit
def test_leaks(of_class):
    keep(20)

@pytest.mark.denizen_audit
def test_clean(of_class):
    assert of_class.sum() == 50

@pytest.mark.denizen_audit
class TestClass:
    def test_in_class(self, of_class):
        assert of_class.sum() == 50
"""
    )
    assert outcomes == {
        "test_leaks": "PE",
        "test_clean": "P",
        "TestClass::test_in_class": "P",
        "status": 1,
    }
    assert "20 denizen.Integer objects outlived the test" in output


def test_fixtures_of_the_test_may_hold_arrays_and_wider_ones_keep_them(run):
    outcomes, output = run(
        conftest="""
@pytest.fixture(scope="session")
def session():
    return ones(100)
""",
        test_a="""
@pytest.fixture(scope="module", params=[1, 2])
def module(request, session):
    return [ones(10 * request.param)]

@pytest.fixture(scope="module")
def lazy():
    return ones(30)

@pytest.fixture(scope="class")
def of_class():
    yield ones(5)

@pytest.fixture
def own():
    return ones(7)

@pytest.fixture(autouse=True)
def everywhere():
    array = ones(2)
    yield
    assert array.sum() == 2

pytestmark = pytest.mark.denizen_audit

def test_module(module, own):
    assert own.sum() == 7

def test_lazy(request, own):
    assert request.getfixturevalue("lazy").size == 30

class TestClass:
    def test_class(self, of_class, own):
        self.array = own + 1

    def test_other(self, of_class):
        keep(3)

def test_appends_to_a_wider_one(module):
    module.append(ones(11))
""",
    )
    assert outcomes == {
        "test_module[1]": "P",
        "test_module[2]": "P",
        "test_lazy": "P",
        "TestClass::test_class": "P",
        "TestClass::test_other": "PE",
        "test_appends_to_a_wider_one[1]": "PE",
        "test_appends_to_a_wider_one[2]": "PE",
        "status": 1,
    }
    assert output.count("11 denizen.Integer objects outlived the test\n") == 2
    assert output.count("3 denizen.Integer objects outlived the test\n") == 1


def test_a_leak_beside_a_wider_fixture_is_named_without_it(run):
    outcomes, output = run(
        test_a="""
@pytest.fixture(scope="module")
def module():
    return ones(1000)

@pytest.mark.denizen_audit
def test_both(module):
    kept.append(np.zeros(6, dtype=Integer) + 1)
"""
    )
    assert outcomes == {"test_both": "PE", "status": 1}
    assert "6 denizen.Integer objects outlived the test" in output
    assert "denizen.Integer: 6 in 1 array" in output and "1,000 in" not in output


def test_the_marker_has_arguments(run):
    outcomes, output = run(
        test_a="""
class TestAllowed:
    pytestmark = pytest.mark.denizen_audit(allow={"denizen.Integer": 5})

    def test_few(self):
        keep(5)

    def test_many(self):
        keep(6)

    def test_other_type(self):
        kept.append(np.ones(1, dtype=Rational))

    @pytest.mark.denizen_audit(False)
    def test_not_at_all(self):
        keep(100)

@pytest.mark.denizen_audit(allow={"Integer": 3})
def test_no_such_type():
    pass

@pytest.mark.denizen_audit(trace=True)
def test_trace(denizen_audit):
    assert denizen_audit.to_dict()["trace"]

@pytest.mark.denizen_audit(alow={})
def test_unknown():
    pass

@pytest.mark.denizen_audit(allow=3)
def test_no_mapping():
    pass

@pytest.mark.denizen_audit("yes")
def test_no_bool():
    pass
"""
    )
    assert outcomes == {
        "TestAllowed::test_few": "P",
        "TestAllowed::test_many": "PE",
        "TestAllowed::test_other_type": "PE",
        "TestAllowed::test_not_at_all": "P",
        "test_no_such_type": "PE",
        "test_trace": "P",
        "test_unknown": "E",
        "test_no_mapping": "E",
        "test_no_bool": "E",
        "status": 1,
    }
    assert "6 denizen.Integer objects (5 allowed) outlived the test" in output
    assert "1 denizen.Rational object outlived the test" in output
    assert "'Integer' objects, but no element type is called so; is denizen.Integer mean" in output
    assert "the marker denizen_audit got an unexpected keyword argument 'alow'" in output
    assert "got allow=3; numbers by names of types are expected" in output


def test_the_fixture_counts(run):
    outcomes, output = run(
        test_a="""
@pytest.fixture
def array():
    return ones(10)

def test_figures(array, denizen_audit):
    assert denizen_audit.types["denizen.Integer"]["constructed"] >= 10
    assert denizen_audit.leaks[0]["count"] == 10

def test_too_late(request):
    request.getfixturevalue("denizen_audit")

@pytest.mark.usefixtures("denizen_audit")
def test_used():
    keep(3)

@pytest.mark.denizen_audit(False)
def test_not_judged(denizen_audit):
    keep(3)
    assert denizen_audit.leaks[0]["count"] == 3

def test_beside_a_block(denizen_audit):
    import denizen
    with pytest.raises(denizen.LeakError):
        with denizen.audit():
            array = ones(3)
"""
    )
    assert outcomes == {
        "test_figures": "P",
        "test_too_late": "F",
        "test_used": "PE",
        "test_not_judged": "P",
        "test_beside_a_block": "P",
        "status": 1,
    }
    assert "denizen_audit must be an argument of the test" in output


@pytest.mark.parametrize("way", ["option", "ini"])
def test_all_tests_can_be_audited(run, tmp_path, way):
    if way == "ini":
        (tmp_path / "pytest.ini").write_text("[pytest]\ndenizen_audit = true\n")
    outcomes, _ = run(
        *(["--denizen-audit"] if way == "option" else []),
        test_a="""
@pytest.mark.parametrize("n", [0, 1, 2])
def test_some(n):
    keep(n)

def test_none():
    ones(3)

def test_denizen_is_not_needed():
    pass

@pytest.mark.denizen_audit(False)
def test_knows_why():
    keep(3)
""",
    )
    assert outcomes == {
        "test_some[0]": "P",
        "test_some[1]": "PE",
        "test_some[2]": "PE",
        "test_none": "P",
        "test_denizen_is_not_needed": "P",
        "test_knows_why": "P",
        "status": 1,
    }
