"""Figures of risk: against a loop over pairs, and that the interval holds at any number."""

import numpy as np
import pytest
from chance import A
from scipy.stats import binom, norm

from dpaudit.checkpoint.scoring import auc, auc_interval, needed, risk, tpr_at
from dpaudit.results import Scores


def naive(scores):
    pairs = [(i > o) + (i == o) / 2 for i in scores.inn for o in scores.out]
    return sum(pairs) / len(pairs)


def test_auc_is_that_of_a_loop_over_pairs():
    draw = np.random.default_rng(0)
    scores = Scores(out=draw.integers(0, 9, 40), inn=draw.integers(2, 12, 30))
    assert auc(scores) == pytest.approx(naive(scores))


def test_the_interval_holds_the_estimate_and_is_exact_where_nothing_errs():
    low, high = auc_interval(1.0, 250, 0.95)
    assert low == pytest.approx(0.025 ** (1 / 250), abs=1e-8)
    assert high == 1.0
    low, high = auc_interval(0.7, 100, 0.95)
    assert 0.55 < low < 0.7 < high < 0.83


@pytest.mark.parametrize(("mu", "n0", "n1"), [(0.0, 20, 30), (1.0, 12, 60), (3.0, 25, 25)])
def test_the_interval_misses_the_truth_no_more_often_than_it_states(mu, n0, n1):
    """Fails by chance with a probability of 1e-5."""
    draw, true, audits = np.random.default_rng(1), norm.cdf(mu / np.sqrt(2)), 600
    missed = 0
    for _ in range(audits):
        u = auc(Scores(out=draw.normal(size=n0), inn=draw.normal(size=n1) + mu))
        low, high = auc_interval(u, min(n0, n1), 0.95)
        missed += not low <= true <= high
    assert missed <= binom.isf(A, audits, 0.05)


def test_a_rate_is_the_best_cut_that_so_many_others_pass():
    scores = Scores(out=np.arange(200.0), inn=np.array([50.0, 197.5, 198.0, 198.5, 500.0]))
    assert tpr_at(scores, 0.01) == pytest.approx(0.8)  # two others may be above: the cut is 197
    assert tpr_at(scores, 0.005) == pytest.approx(0.4)
    assert tpr_at(Scores(out=np.zeros(200), inn=np.zeros(3)), 0.01) == 0.0


def test_too_few_others_have_no_rate():
    found = risk(Scores(out=np.arange(100.0), inn=np.arange(5.0)), 0.95)
    assert found.tpr[0.001] is None
    assert found.tpr[0.01] == 0.0
    assert (needed(0.01), needed(0.001)) == (100, 1000)
