import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import ndtr, ndtri

from dpaudit.accounting import gaussian_epsilon, privacy_loss
from dpaudit.accounting.privacy_loss import epsilon, rounded_down, rounded_up, sides

DELTA = 1e-5


def curve(x, *setting):
    """f, from its two sides."""
    return np.maximum(*(1 - np.interp(x, *side) for side in sides(*setting)))


def accountants(q, s, adjacency, interval):
    """One step, rounded towards more leak by dp-accounting."""
    replace = adjacency == "replace"
    relation = {"neighboring_relation": pld.NeighborRel.REPLACE_ONE} if replace else {}
    return pld.from_gaussian_mechanism(
        s, sampling_prob=q, value_discretization_interval=interval, **relation
    )


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(("q", "s"), [(0.1, 1.0), (0.01, 0.3), (0.5, 4.0), (1.0, 0.5)])
def test_a_step_rounded_up_is_the_accountants(q, s, adjacency):
    interval = 0.003
    theirs = accountants(q, s, adjacency, interval)
    pair = privacy_loss._divergences(q, s, adjacency, interval)
    for (lowest, deltas), pmf in zip(pair, (theirs._pmf_remove, theirs._pmf_add), strict=True):
        p, infinite = rounded_up(deltas, interval)
        losses = (np.arange(len(p)) + lowest) * interval
        assert 1 - 1e-14 < p.sum() + infinite < 1 + 1e-9  # nothing is lost to rounding errors
        e = np.linspace(-3, 6, 200)
        found = [infinite + p @ np.maximum(0, -np.expm1(one - losses)) for one in e]
        np.testing.assert_allclose(found, pmf.to_dense_pmf().get_delta_for_epsilon(e), atol=1e-9)


def test_epsilon_is_between_an_accountants_two_roundings():
    """7.0416 and 7.0466: dp-accounting, both directions, intervals of 1e-4."""
    both = [
        pld.from_gaussian_mechanism(
            1.0,
            sampling_prob=0.1,
            value_discretization_interval=interval,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
        )
        .self_compose(100)
        .get_epsilon_for_delta(DELTA)
        for pessimistic, interval in ((False, 1e-4), (True, 1e-3))
    ]
    assert both == pytest.approx([7.0416, 7.0466], abs=1e-4)
    assert both[0] < epsilon(0.1, 100, 1.0, "add-remove", DELTA) < both[1]


@pytest.mark.parametrize(
    ("q", "steps", "s"),
    [(0.01, 1000, 0.7), (0.256, 234, 1.0), (0.1, 9, 20), (0.001, 10**6, 0.66)],
)
def test_what_is_lost_by_rounding_down_is_small(q, steps, s):
    """Per step an accountant would lose half of its interval: 0.05 in 1,000 steps of 1e-4."""
    up = accountants(q, s, "add-remove", min(1e-3, 0.1 * q / s)).self_compose(steps)
    above = up.get_epsilon_for_delta(DELTA)
    assert 0.995 * above < epsilon(q, steps, s, "add-remove", DELTA) <= above


@pytest.mark.parametrize(("adjacency", "distance"), [("add-remove", 1), ("replace", 2)])
def test_full_batches_are_a_gaussian_mechanism(adjacency, distance):
    """4 steps of noise multiplier 4: mu = sqrt(4) distance/4, known exactly."""
    mu = distance / 2
    exact = gaussian_epsilon(mu, DELTA)
    assert exact - 1e-3 < epsilon(1.0, 4, 4.0, adjacency, DELTA) <= exact
    x = np.linspace(0, 1, 1001)
    true = ndtr(-ndtri(x) - mu)
    found = curve(x, 1.0, 4, 4.0, adjacency)
    assert (found <= true + 1e-12).all()
    np.testing.assert_allclose(found, true, atol=1e-5)


@pytest.mark.parametrize(("q", "s"), [(0.1, 1.0), (0.01, 0.5), (0.5, 4.0)])
@pytest.mark.parametrize("interval", [0.1, 0.003])
@pytest.mark.parametrize("edge", [*privacy_loss.EDGES, 0.5])
def test_no_divergence_of_a_step_is_above_the_true_one(q, s, interval, edge):
    """H_e = P(x > t) - e^e Q(x > t) where the loss at t is e, in closed form."""
    lowest, p = rounded_down(*privacy_loss._cells(q, s, "add-remove", interval, edge), interval)
    losses = (np.arange(len(p)) + lowest) * interval
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-9)
    e = np.linspace(math.log1p(-q) + 1e-3, 4, 60)
    t = 0.5 + s**2 * np.log((np.exp(e) - 1 + q) / q)
    true = (1 - q) * ndtr(-t / s) + q * ndtr((1 - t) / s) - np.exp(e) * ndtr(-t / s)
    found = np.array([p @ np.maximum(0, -np.expm1(one - losses)) for one in e])
    assert (found <= true + 1e-12).all()
    if interval < 0.01:
        np.testing.assert_allclose(found[e > 0], true[e > 0], atol=interval / 50)


def test_the_curve_is_the_accountants_inequalities():
    """The definition, by dp-accounting's public divergences on a grid of e."""
    once = accountants(0.2, 1.5, "add-remove", 1e-3)
    made = once.self_compose(20)
    e = np.linspace(0, 6, 601)
    d_rem, d_add = (p.get_delta_for_epsilon(e) for p in (made._pmf_remove, made._pmf_add))
    for x in (0.0, 1e-3, 0.05, 0.3, 0.7, 0.99):
        naive = max(np.max(1 - d_rem - np.exp(e) * x), np.max(np.exp(-e) * (1 - d_add - x)), 0)
        assert curve(x, 0.2, 20, 1.5, "add-remove") == pytest.approx(naive, abs=1e-4)


def test_replacing_a_record_leaks_more_than_removing_it():
    removed, replaced = (epsilon(0.1, 100, 1.0, kind, DELTA) for kind in ("add-remove", "replace"))
    assert (removed, replaced) == pytest.approx((7.0466, 10.5164), abs=1e-3)


@pytest.mark.parametrize(
    ("steps", "s", "delta"), [(10**5, 1000.0, 1e-11), (10**6, 1000.0, 1e-11), (10**6, 3000.0, 1e-8)]
)
def test_the_error_of_many_transforms_is_allowed_for(steps, s, delta):
    """Full batches, which have a closed form: without the allowance this was up to 15 too large."""
    exact = gaussian_epsilon(math.sqrt(steps) / s, delta)
    assert privacy_loss.epsilon(1.0, steps, s, "add-remove", delta) <= exact
