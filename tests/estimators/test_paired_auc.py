import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta, binom

from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import DPSGDFamily
from dpaudit.estimators import PairedAUC
from dpaudit.estimators.sentences import ASSUMED, PAIRS, confident
from dpaudit.results import NOTHING_TO_CHOOSE, Scores
from dpaudit.types import DPSGDCurve

DELTA = 1e-5


def pairs(won, n):
    """Scores of n pairs, of which the in-trial wins the first."""
    return Scores(np.zeros(n), np.where(np.arange(n) < won, 1.0, -1.0))


@pytest.mark.parametrize(
    ("n", "ceiling"),
    [(50, 2.785), (100, 3.493), (250, 4.418), (500, 5.114), (1000, 5.809), (10_000, 8.113)],
)
def test_known_ceilings(n, ceiling):
    estimator = PairedAUC("pure")
    assert estimator.ceiling(n, n, DELTA) == pytest.approx(ceiling, abs=5e-4)
    closed = math.log((1 - DELTA) ** 2 / (1 - 0.05 ** (1 / n)) - 1)
    assert estimator.ceiling(n, n, DELTA) == pytest.approx(closed, abs=1e-6)
    assert estimator.bound(pairs(n, n), DELTA).epsilon == estimator.ceiling(n, n, DELTA)


@pytest.mark.parametrize(("won", "n"), [(0, 10), (5, 10), (70, 100), (99, 100), (650, 1000)])
def test_bound_is_the_formula(won, n):
    least = beta.ppf(0.05, won, n - won + 1) if won else 0.0
    pure = max(0.0, math.log(max((1 - DELTA) ** 2 / (1 - least) - 1, 1e-9)))
    assert PairedAUC("pure").bound(pairs(won, n), DELTA).epsilon == pytest.approx(pure, abs=1e-6)
    mu = math.sqrt(2) * ndtri(least)
    gaussian = gaussian_epsilon(mu, DELTA) if mu > 0 else 0.0
    assert PairedAUC().bound(pairs(won, n), DELTA).epsilon == pytest.approx(gaussian, abs=1e-6)


def test_bound_by_the_accountants_area():
    """The area of the bound's own noise multiplier is the least AUC, to the grid's step."""
    claim = DPSGDCurve(sample_rate=0.2, steps=10, noise_multiplier=1.0)
    bound = PairedAUC(claim).bound(pairs(700, 1000), DELTA)
    curves, least = DPSGDFamily(0.2, 10), beta.ppf(0.05, 700, 301)
    s = 0.1 * 2**14 / np.arange(1, 2**14)
    inside = s[(s > 0.3) & (s < 3)]
    low, high = 0, len(inside) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if curves.area(inside[middle]) < least else (low, middle)
    assert bound.assumption == "accountant"
    assert bound.epsilon == curves.epsilon(inside[low], DELTA)


@pytest.mark.parametrize("n", [1, 5, 20, 100])
@pytest.mark.parametrize("true", [0.0, 0.5, 1.0, 3.0])
def test_bound_exceeds_the_truth_no_more_often_than_stated(n, true):
    """Exactly, by enumeration: randomized response, whose AUC is the largest allowed."""
    auc = 1 / (1 + math.exp(-true))
    above = [PairedAUC("pure").bound(pairs(k, n), 0.0).epsilon > true for k in range(n + 1)]
    assert binom.pmf(np.arange(n + 1), n, auc)[above].sum() <= 0.05
    if n == 100:
        assert any(above), "an enumeration that could not fail shows nothing"


def test_trials_are_paired_by_index():
    """The order within a world changes the pairs, and trials without a partner are left out."""
    out, inn = np.array([0.0, 2.0, 4.0] * 20), np.array([1.0, 3.0, 5.0] * 20)
    assert PairedAUC().bound(Scores(out, inn), DELTA).epsilon == PairedAUC().ceiling(60, 60, DELTA)
    turned = PairedAUC().bound(Scores(out, np.roll(inn, 1)), DELTA).epsilon
    assert turned < PairedAUC().ceiling(60, 60, DELTA)
    longer = Scores(np.append(out, [9.0] * 5), inn)
    assert PairedAUC().bound(longer, DELTA).epsilon == PairedAUC().ceiling(60, 60, DELTA)


def test_worlds_may_change_their_roles():
    """With scores turned round, and no ties, the same pairs are won."""
    draw = np.random.default_rng(5)
    out, inn = draw.normal(size=60), draw.normal(size=60) + 2
    for estimator in (PairedAUC(), PairedAUC("pure")):
        bound = estimator.bound(Scores(out, inn), DELTA)
        assert 0 < bound.epsilon == estimator.bound(Scores(-inn, -out), DELTA).epsilon


def test_bound_says_what_it_is():
    bound = PairedAUC("pure", confidence=0.9).bound(pairs(60, 70), DELTA)
    assert (bound.estimator, bound.assumption, bound.selection) == (
        "paired-auc",
        "none",
        NOTHING_TO_CHOOSE,
    )
    assert PairedAUC().bound(pairs(60, 70), DELTA).assumption == "gaussian"
    assert bound.sentence.startswith(confident(0.9))
    assert f"{ASSUMED['none']} {PAIRS}" in bound.sentence


def test_no_number_of_pairs_takes_long():
    assert PairedAUC("pure").ceiling(10**9, 10**9, DELTA) == pytest.approx(19.626, abs=1e-3)
