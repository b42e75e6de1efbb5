"""The strength of a test: refuted, held against a strong test, weak, or a null check."""

import pytest

from dpaudit.judging.outcome import strength
from dpaudit.results import NOTHING_TO_CHOOSE, Bound
from dpaudit.types import Claim, GaussianCurve

BARE = Claim(4.0, 1e-5)
CURVED = Claim(4.0, 1e-5, curve=GaussianCurve(1.0))
NOTHING = Claim(float("inf"), 1e-5)


def of(epsilon, claim=BARE, verdict="NO_VIOLATION_FOUND", assumption="none", null=False):
    bound = Bound(epsilon, 1e-5, 0.95, "e", assumption, NOTHING_TO_CHOOSE, ceiling=9.0)
    return strength(claim, verdict, bound, null)


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.0, "weak"), (1.999, "weak"), (2.0, "strong")])
def test_a_claim_held_against_a_strong_test_if_half_of_it_is_certified(epsilon, wanted):
    assert of(epsilon) == wanted


def test_a_bound_by_a_curve_makes_a_strong_test_only_of_a_claim_with_that_curve():
    assert of(3.0, BARE, assumption="gaussian") == "weak"
    assert of(3.0, CURVED, assumption="gaussian") == "strong"
    assert of(3.0, CURVED, assumption="accountant") == "weak"


def test_inconclusive_is_always_weak():
    assert of(3.9, verdict="INCONCLUSIVE") == "weak"
    assert of(5.0, verdict="INCONCLUSIVE", assumption="gaussian") == "weak"
    assert strength(BARE, "INCONCLUSIVE", None, False) == "weak"


def test_a_refuted_claim_and_a_mechanism_without_one_have_words_of_their_own():
    assert of(4.1, verdict="VIOLATION") == "refuted"
    assert of(4.1, NOTHING, "NO_GUARANTEE_CLAIMED") == "not-claimed"
    assert strength(NOTHING, "NO_GUARANTEE_CLAIMED", None, False) == "not-claimed"


@pytest.mark.parametrize("verdict", ["NO_VIOLATION_FOUND", "INCONCLUSIVE", "NO_GUARANTEE_CLAIMED"])
def test_a_null_run_passes_only_if_nothing_is_certified(verdict):
    assert of(0.0, verdict=verdict, null=True) == "null-passed"
    assert of(0.01, verdict=verdict, null=True) == "null-failed"
    assert of(4.1, verdict="VIOLATION", null=True) == "null-failed"


def test_a_null_run_that_could_not_have_failed_is_weak():
    powerless = Bound(0.0, 1e-5, 0.95, "e", "none", NOTHING_TO_CHOOSE, ceiling=0.0)
    assert strength(BARE, "INCONCLUSIVE", powerless, True) == "weak"
