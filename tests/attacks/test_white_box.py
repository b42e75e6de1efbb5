"""Scores of adversaries that see updates or trained parameters."""

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.attacks.white_box import Steps, Updates, Weights

DRAW = np.random.default_rng(5)
U = DRAW.normal(0.3, 1.2, size=(40, 7))


def known(q, s):
    return {"sample_rate": np.array(q), "noise_multiplier": np.array(s)}


@pytest.mark.parametrize("q", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("s", [0.4, 1.0, 3.0])
def test_updates_are_scored_by_the_log_likelihood_ratio(q, s):
    """Against densities: in a step the canary is there, or not, by a coin of q."""
    without = norm.logpdf(U, 0, s)
    with_it = np.log((1 - q) * norm.pdf(U, 0, s) + q * norm.pdf(U, 1, s))
    scores = Updates().features({"updates": U}, known(q, s))[:, 0]
    np.testing.assert_allclose(scores, (with_it - without).sum(axis=1), rtol=1e-6, atol=1e-6)


def test_of_full_batches_the_sum_is_all_that_counts():
    scores = Updates().features({"updates": U}, known(1.0, 0.7))[:, 0]
    assert np.array_equal(np.argsort(scores), np.argsort(U.sum(axis=1)))


def test_tiny_noise_overflows_nothing():
    scores = Updates().features({"updates": 50 * U}, known(0.01, 0.1))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(("attack", "name"), [(Weights, "moved"), (Steps, "step")])
def test_what_is_one_number_a_trial_already_is_the_score(attack, name):
    shown = np.array([0.5, -2.0, 7.0])
    np.testing.assert_allclose(attack().features({name: shown}, {})[:, 0], shown, rtol=1e-6)
    assert attack().needs == {name}


def test_all_scores_are_fixed_beforehand_so_that_all_trials_judge():
    assert {attack().scoring for attack in (Updates, Weights, Steps)} == {"fixed"}
