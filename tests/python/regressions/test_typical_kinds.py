"""The typical kinds, which tests run for without `--all-types`, meet every case of a capability."""

import pytest
from support.every_kind import known_kinds

CAPABILITIES = {
    "copies": lambda kind: kind.copyable,
    "a default": lambda kind: kind.default is not None,
    "sums": lambda kind: kind.adds,
    "an order": lambda kind: kind.ordered,
    "pickles": lambda kind: kind.pickles,
    "casts from numbers": lambda kind: kind.number is not None,
    "text": lambda kind: kind.has_text,
    "text that is refused": lambda kind: kind.strict_text,
    "zero bytes that are no value": lambda kind: kind.zero_counts,
    "a class of denizen's": lambda kind: kind.own_scalar,
    "values made in a way of its own": lambda kind: kind.build is not None,
    "comparisons that answer nonsense": lambda kind: bool(kind.nonsense),
    "comparisons that fail": lambda kind: kind.fail_after is not None,
}


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_typical_kind_has_each_capability_that_any_kind_has_and_one_lacks_it(name):
    kinds, typical = known_kinds()
    has = CAPABILITIES[name]
    assert {has(kinds[each]) for each in typical} == {has(kind) for kind in kinds.values()}


def test_the_typical_kinds_are_fewer_than_half():
    kinds, typical = known_kinds()
    assert typical < set(kinds) and len(typical) < len(kinds) / 2
