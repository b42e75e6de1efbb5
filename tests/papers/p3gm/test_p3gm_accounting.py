"""What the phases of P3GM spend: the paper's figures, their corrections, and what holds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from scipy.integrate import quad

from dpaudit import accounting
from dpaudit.papers.p3gm.accounting import ORDERS, Phases, epsilon, noise_multiplier, replacing
from reproductions.p3gm.compositions import PURE, as_printed, baseline, composed, tight_epsilon

DELTA = 1e-5
EXAMPLE = Phases(0.1, 3, 20, 100, sample_rate=300 / 63_000, steps=840, s_s=1.4)


def test_the_example_s_budget_as_published_tightened_and_converted_tightly():
    assert EXAMPLE.composed_epsilon(DELTA) == pytest.approx(1.282, abs=5e-4)
    assert composed(EXAMPLE, DELTA, "capped") == pytest.approx(0.985, abs=5e-4)
    assert composed(EXAMPLE, DELTA, "capped", tight=True) == pytest.approx(0.776, abs=5e-4)
    assert composed(EXAMPLE, DELTA, "exact") < composed(EXAMPLE, DELTA, "capped")


def test_to_the_letter_the_paper_understates_it():
    assert as_printed(EXAMPLE, DELTA) == pytest.approx(1.14, abs=5e-3)
    assert as_printed(EXAMPLE, DELTA) < EXAMPLE.composed_epsilon(DELTA)


@pytest.mark.parametrize(
    ("s_s", "printed", "tight", "added"),
    [
        (1, 1.762, 1.612, 2.260),
        (1.4, 1.282, 0.985, 1.473),
        (2, 1.201, 0.783, 1.113),
        (4, 1.156, 0.700, 0.869),
    ],
)
def test_composition_is_below_the_baseline_everywhere_only_with_the_tight_term(
    s_s, printed, tight, added
):
    at = replace(EXAMPLE, s_s=s_s)
    assert at.composed_epsilon(DELTA) == pytest.approx(printed, abs=1e-3)
    assert composed(at, DELTA, "capped") == pytest.approx(tight, abs=1e-3)
    assert baseline(at, DELTA) == pytest.approx(added, abs=1e-3)


def test_the_exact_term_is_randomized_response_and_below_all_others():
    for e in (0.01, 0.1, 1.0, 5.0):
        p = 1 / (1 + math.exp(-e))
        with np.errstate(over="ignore"):
            direct = np.log(
                p**ORDERS * (1 - p) ** (1 - ORDERS) + (1 - p) ** ORDERS * p ** (1 - ORDERS)
            )
        usable = np.isfinite(direct)
        exact = PURE["exact"](e)
        assert exact[usable] == pytest.approx((direct / (ORDERS - 1))[usable], rel=1e-6)
        assert (exact <= PURE["capped"](e) + 1e-9).all()
        assert (PURE["capped"](e) <= PURE["printed"](e)).all()


def test_one_step_of_sgd_spends_its_renyi_divergence():
    """By numerical integration of what one step releases, alpha = 4."""
    q, s, a = 0.2, 1.5, 4.0

    def density(x, mean):
        return math.exp(-((x - mean) ** 2) / (2 * s**2)) / (s * math.sqrt(2 * math.pi))

    def integrand(x):
        return ((1 - q) * density(x, 0) + q * density(x, 1)) ** a * density(x, 0) ** (1 - a)

    direct = math.log(quad(integrand, -20, 30)[0]) / (a - 1)
    (at,) = np.flatnonzero(np.isclose(ORDERS, a))
    phases = Phases(0.1, 3, 2, 10.0, sample_rate=q, steps=1, s_s=s)
    assert phases.sgd[at] == pytest.approx(direct, rel=1e-6)
    assert phases.em[at] == pytest.approx(14 * a / 200)


def test_what_holds_for_replacing_is_exact_for_full_batches_and_counts_twice_the_clip():
    mu, steps, s = 0.5, 9, 12.0
    exact = accounting.gaussian_epsilon(math.hypot(mu, 2 * 3 / 12.0), DELTA)
    assert replacing(mu, 1.0, steps, s, DELTA) == pytest.approx(exact)
    # Nearly all records in every batch are nearly full batches, rounded up.
    nearly = replacing(mu, 0.999, steps, s, DELTA)
    assert exact - 0.02 < nearly < exact + 0.02
    curve = accounting.curve(2.0, 0.1, 50)
    assert replacing(0.0, 0.1, 50, 2.0, DELTA) > accounting.epsilon(curve, DELTA)


def test_the_noise_that_is_solved_for_spends_what_was_asked_and_hardly_less():
    s = noise_multiplier(2.0, 0.2, 0.2, 20, DELTA)
    assert 1.99 < replacing(0.2, 0.2, 20, s, DELTA) <= 2.0
    with refuses("budget-spent", "epsilon", 1.0) as caught:
        noise_multiplier(1.0, 0.55, 0.2, 20, DELTA)
    assert "2.22" in str(caught.value)
    with refuses("too-little-noise", "noise_multiplier", 0.01):
        replacing(0.2, 0.2, 20, 0.01, DELTA)


def test_the_conversion_of_a_gaussian_mechanism_is_never_below_its_exact_epsilon():
    mu = 0.4
    spent = ORDERS * mu**2 / 2
    exact = accounting.gaussian_epsilon(mu, DELTA)
    assert exact < tight_epsilon(spent, DELTA) < epsilon(spent, DELTA)
