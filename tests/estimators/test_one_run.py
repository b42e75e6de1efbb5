import math

import numpy as np
import pytest
from outcome_strategies import DELTA
from refusals import refuses
from scipy.stats import beta, binom

from dpaudit.estimators import OneRun
from dpaudit.estimators.one_run import _PValue
from dpaudit.results import Guesses


@pytest.mark.parametrize(
    ("g", "value"), [(Guesses(1000, 1000, 700), 0.731741), (Guesses(1000, 200, 180), 1.796285)]
)
def test_known_answers(g, value):
    assert OneRun().bound(g, DELTA).epsilon == pytest.approx(value, abs=1e-5)


def naive_p(g, delta, e):
    """The theorem, sum by sum."""
    r, v, q = g.guesses, g.correct, 1 / (1 + math.exp(-e))
    pmf = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    worst = max((sum(pmf[v - i : v]) / i for i in range(1, v + 1)), default=0.0)
    return sum(pmf[v:]) + 2 * g.canaries * delta * worst


@pytest.mark.parametrize(
    "g", [Guesses(30, 30, 24), Guesses(60, 20, 18), Guesses(12, 9, 9)], ids=str
)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3, 0.01])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_bound_is_the_theorem_climbed_naively(g, delta, confidence):
    """The first e, in small steps from 0, at which p is no longer below a."""
    climb = (i / 500 for i in range(5000))
    first = next(e for e in climb if naive_p(g, delta, e) >= 1 - confidence)
    bound = OneRun(confidence).bound(g, delta).epsilon
    assert first - 1 / 500 - 1e-6 <= bound <= first


def test_without_delta_it_is_clopper_pearson_on_the_share_of_right_guesses():
    share = beta.ppf(0.05, 180, 21)
    bound = OneRun().bound(Guesses(10**9, 200, 180), 0.0).epsilon
    assert bound == pytest.approx(math.log(share / (1 - share)), abs=1e-9)


def test_canaries_that_were_not_guessed_count():
    few, many = Guesses(200, 200, 180), Guesses(20_000, 200, 180)
    assert OneRun().bound(many, DELTA).epsilon < OneRun().bound(few, DELTA).epsilon - 0.05


@pytest.mark.parametrize("m", [10, 60, 200])
@pytest.mark.parametrize("true", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_bound_exceeds_the_truth_no_more_often_than_stated(m, true, delta, confidence):
    """Exactly, by enumeration: randomized response on each canary, which gives it away with delta.

    That is (epsilon, delta)-DP for each of the independent coins, and all are guessed.
    """
    right = delta + (1 - delta) / (1 + math.exp(-true))
    v = np.arange(m + 1)
    rule = OneRun(confidence)
    bounds = np.array([rule.bound(Guesses(m, m, int(k)), delta).epsilon for k in v])
    above = bounds > true + 1e-7
    assert binom.pmf(v, m, right)[above].sum() <= 1 - confidence
    if m == 200 and true <= 1 and delta == 0:
        assert above.any(), "an enumeration that could not fail shows nothing"


def test_guesses_beyond_any_run_are_refused():
    with refuses("too-large", "guesses", 10**12):
        OneRun().ceiling(10**12, 10**12, DELTA)
    assert OneRun().ceiling(10**12, 10**12, 0.0) > 26


def test_p_grows_with_epsilon_wherever_it_is_below_a_half():
    """So that its first crossing is its only one, whatever 2 m d is."""
    draw = np.random.default_rng(0)
    for _ in range(150):
        r = int(draw.integers(1, 200))
        p = _PValue(r, int(draw.integers(1, r + 1)), 10 ** draw.uniform(-3, 3))
        values = np.array([p(e) for e in np.linspace(0, 6, 40)])
        assert (np.diff(values)[values[:-1] < 0.5] > -1e-12).all()
