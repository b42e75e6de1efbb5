"""What is expected of an estimator is what it shows on outcomes that are drawn or counted out."""

import numpy as np
import pytest
from refusals import refuses
from scipy.special import ndtr
from scipy.stats import binom, laplace, norm

from dpaudit.accounting.curves import GaussianFamily, PureFamily
from dpaudit.estimators import (
    GDP,
    ClopperPearson,
    ExactScan,
    OneRun,
    OneRunFDP,
    PairedAUC,
    RankTest,
)
from dpaudit.estimators.exact_tests import wins
from dpaudit.estimators.one_run import is_refuted
from dpaudit.estimators.power.guessed import GUESSES, RUNS, Guessed, right
from dpaudit.estimators.power.prospect import Truth, least, least_parameter_above
from dpaudit.estimators.power.scored import Counted, Paired, Ranked, Scanned, statistic
from dpaudit.estimators.simulation import Draws
from dpaudit.results import Counts, Guesses, Scores

D = 1e-5
GAUSS, PURE = GaussianFamily(), PureFamily(D)
Z = norm.isf(1e-5)
"""Deviations that chance exceeds with a probability of 1e-5 on either side."""


class Laplace:
    """Out at 0, in at 1, noise of scale 1/epsilon; the score is what is released."""

    def inn(self, epsilon, u):
        return laplace.sf(laplace.isf(u) + epsilon)


def truth(curves=GAUSS, claim=1.0, true=4.0):
    return Truth(curves, claim, true, D, 0.95)


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize("start", [0, 1, 5])
def test_the_least_number_is_enough_and_one_fewer_is_not(start):
    for threshold in range(start, 40):
        assert least(lambda n, t=threshold: n >= t, 1000, start) == threshold
    assert least(lambda n: False, 1000, start) is None
    assert least(lambda n: n >= 1000, 1000, start) == 1000


def test_what_is_enough_but_not_beyond_is_found_by_small_steps():
    assert least(lambda n: 300 <= n <= 400, 20_000) is None
    assert least(lambda n: 300 <= n <= 400, 20_000, growth=1.2) == 300


@pytest.mark.parametrize("curves", [GAUSS, PURE])
@pytest.mark.parametrize("epsilon", [0.1, 1, 8])
def test_the_curve_of_an_epsilon_is_the_first_above_it(curves, epsilon):
    found = least_parameter_above(curves, epsilon, D)
    assert epsilon < curves.epsilon(found, D) < epsilon + 1e-5


def test_an_epsilon_beyond_all_curves_is_refused():
    with refuses("too-large", option="epsilon", value=1e6):
        least_parameter_above(GAUSS, 1e6, D)


# ---------------------------------------------------------------- counted errors


@pytest.mark.parametrize("estimator", [ClopperPearson(), GDP()])
@pytest.mark.parametrize("n", [20, 40])
def test_the_chance_of_counts_is_that_of_all_counts(estimator, n):
    """Every pair of counts, each held against the claim by the estimator itself."""
    assumed = PURE if isinstance(estimator, ClopperPearson) else GAUSS
    prospect = Counted(estimator, assumed, truth(claim=0.5, true=8.0))
    refutes = np.array(
        [
            [estimator.bound(Counts(fp, n, fn, n), D).epsilon > 0.5 for fn in range(n + 1)]
            for fp in range(n + 1)
        ]
    )
    k = np.arange(n + 1)
    exact = [
        float(binom.pmf(k, n, x) @ refutes @ binom.pmf(k, n, y))
        for x, y in zip(*prospect.rates, strict=True)
    ]
    assert max(exact) - 0.02 <= prospect.chance(n) <= max(exact) + 1e-9
    assert max(exact) > 0.1


def test_a_true_claim_is_refuted_no_more_often_than_the_confidence_allows():
    for curves in (GAUSS, PURE):
        barely = truth(curves, claim=2.0, true=2.0 + 1e-9)
        for n in (20, 100, 1000):
            assert Paired(PairedAUC(curves), curves, barely).chance(n) <= 0.05 + 1e-6
            assert Counted(ClopperPearson(), PURE, barely).chance(n) <= 0.05 + 1e-6
    barely = truth(GAUSS, claim=2.0, true=2.0 + 1e-9)
    assert Ranked(RankTest(), GAUSS, barely).chance(400) == pytest.approx(0.05, abs=1e-6)


def test_the_typical_bound_of_counts_is_the_median_of_many_audits():
    """Exactly half of some 2,000 audits would show less; off by what 1e-5 on either side allows."""
    prospect = Counted(GDP(), GAUSS, truth(claim=4.0, true=8.0))
    n, audits, mu = 250, 2000, prospect.truth.parameter
    draw, shown = np.random.default_rng(0), []
    for cut in np.linspace(0.35, 0.65, 4) * mu:
        fp, fn = (draw.binomial(n, ndtr(-c), audits).tolist() for c in (cut, mu - cut))
        bounds = [GDP().bound(Counts(a, n, b, n), D).epsilon for a, b in zip(fp, fn, strict=True)]
        shown.append(
            np.quantile(bounds, [0.5 - Z * 0.5 / audits**0.5, 0.5 + Z * 0.5 / audits**0.5])
        )
    low, high = np.max(shown, axis=0)
    assert low - 0.1 <= prospect.typical(n) <= high + 0.1


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize("curves", [GAUSS, PURE])
@pytest.mark.parametrize("n", [15, 40])
def test_the_chance_of_pairs_is_that_of_all_numbers_lost(curves, n):
    made = PairedAUC(curve=curves)
    prospect = Paired(made, curves, truth(curves, true=3.0))
    lost = 1 - curves.area(prospect.truth.parameter)
    exact = sum(
        binom.pmf(k, n, lost)
        for k in range(n + 1)
        if made.bound(Scores(np.zeros(n), np.where(np.arange(n) < k, -1.0, 1.0)), D).epsilon > 1
    )
    assert prospect.chance(n) == pytest.approx(exact, abs=1e-9)
    assert 0.05 < exact < 1


@pytest.mark.parametrize(
    ("claim", "true", "n"), [(1, 2, 25), (1, 4, 25), (8, 12, 25), (1, 2, 400), (8, 9.5, 400)]
)
def test_the_chance_of_the_rank_test_is_close_to_what_simulation_gives(claim, true, n):
    """20,000 draws of the claim, 4,000 of the truth, whose share is off by 0.034 at most."""
    prospect = Ranked(RankTest(), GAUSS, truth(claim=claim, true=true))
    claimed, really = (least_parameter_above(GAUSS, e, D) for e in (claim, true))

    def won(parameter, number, seed):
        out, u = Draws(n, n, number, seed).all()
        return wins(out, GAUSS.inn(parameter, u))

    limit = np.quantile(won(claimed, 20_000, 1), 0.95, method="higher")
    share = np.mean(won(really, 4_000, 2) > limit)
    assert prospect.chance(n) == pytest.approx(share, abs=0.05 + Z * 0.5 / np.sqrt(4_000))


@pytest.mark.parametrize(
    ("true", "n", "paired", "ranked"),
    [(2.0, 250, 1.17, 1.34), (4.0, 1000, 3.50, 3.61), (8.0, 250, 6.63, 7.02)],
)
def test_typical_bounds_are_near_the_known_mean_bounds(true, n, paired, ranked):
    t = truth(claim=1.0, true=true)
    assert Paired(PairedAUC(), GAUSS, t).typical(n) == pytest.approx(paired, abs=0.1)
    assert Ranked(RankTest(), GAUSS, t).typical(n) == pytest.approx(ranked, abs=0.1)


def test_typical_scans_are_near_the_known_mean_bounds():
    assert Scanned(ExactScan(), PURE, truth(true=4.0)).typical(250) == pytest.approx(1.18, abs=0.15)
    assert Scanned(ExactScan(), PURE, truth(true=10.0)).typical(250) == pytest.approx(
        2.69, abs=0.15
    )


def test_the_statistic_of_the_scan_is_the_best_naive_bound():
    draw = np.random.default_rng(0)
    out, inn = np.sort(draw.random((5, 12)), axis=1), np.sort(draw.random((5, 12)) ** 3, axis=1)
    for row in range(5):
        naive = max(
            ClopperPearson()
            .bound(Counts(int((out[row] < cut).sum()), 12, int((inn[row] >= cut).sum()), 12), D)
            .epsilon
            for cut in out[row]
        )
        assert max(0.0, statistic(out, inn, D)[row]) == pytest.approx(naive, abs=1e-9)


def test_the_chance_of_the_scan_is_that_of_its_bounds():
    """60 audits; off by less than what chance exceeds with 1e-5 on either side."""
    n, audits = 40, 60
    prospect = Scanned(ExactScan(), PURE, truth(PURE, claim=1.0, true=2.0))
    draw, scan = np.random.default_rng(0), ExactScan(draws=400)
    parameter = prospect.truth.parameter
    refuted = [
        scan.bound(Scores(-draw.random(n), -PURE.inn(parameter, draw.random(n))), D).epsilon > 1
        for _ in range(audits)
    ]
    assert 0.1 < prospect.chance(n) < 0.9
    assert prospect.chance(n) == pytest.approx(np.mean(refuted), abs=Z * 0.5 / np.sqrt(audits))


@pytest.mark.parametrize(
    ("really", "expected"), [(PureFamily(D), 0.83), (Laplace(), 0.59), (GAUSS, 0.007)]
)
def test_how_often_the_scan_refutes_depends_on_the_mechanism_of_the_same_epsilon(really, expected):
    """11 trials in each world, claim 1, truth 3; 150 audits, off by what 1e-5 on a side allows."""
    draw, scan, n, audits = np.random.default_rng(0), ExactScan(draws=400), 11, 150
    parameter = 3.0 if isinstance(really, Laplace) else least_parameter_above(really, 3.0, D)
    shown = [
        scan.bound(Scores(-draw.random(n), -really.inn(parameter, draw.random(n))), D).epsilon > 1
        for _ in range(audits)
    ]
    allowed = Z * np.sqrt(expected * (1 - expected) / audits) + 2 / audits
    assert np.mean(shown) == pytest.approx(expected, abs=allowed)
    if not isinstance(really, Laplace):
        chance = Scanned(ExactScan(), PURE, truth(really, claim=1.0, true=3.0)).chance(n)
        assert chance == pytest.approx(expected, abs=0.05)


# ---------------------------------------------------------------- one run


def test_guesses_on_all_canaries_are_right_as_often_as_the_curve_allows():
    """Phi(mu/2) of them; less a little, because not exactly half of the canaries are in."""
    t = truth(true=8.0)
    share = right(t, 1000, 1000).mean() / 1000
    assert share == pytest.approx(ndtr(t.parameter / 2), abs=0.01)
    assert right(t, 1000, 100).mean() / 100 > share


@pytest.mark.parametrize("curves", [GAUSS, PURE, PureFamily(0.05)])
@pytest.mark.parametrize(("m", "r"), [(1, 1), (2, 1), (2, 2), (5, 5), (5, 4), (40, 40), (60, 7)])
def test_right_guesses_are_those_of_canaries_that_are_drawn_one_by_one(curves, m, r):
    """CDFs of two samples of 4,000; farther apart with a probability of 1e-5 (DKW, each half)."""
    t = Truth(curves, 1.0, 3.0, getattr(curves, "delta", D), 0.95)
    draw, found = np.random.default_rng(0), np.empty(4000)
    for i in range(len(found)):
        put_in, place = draw.random(m) < 0.5, draw.random(m)
        place[put_in] = curves.inn(t.parameter, place[put_in])
        order = np.argsort(place)
        called = np.concatenate([put_in[order[: (r + 1) // 2]], ~put_in[order[m - r // 2 :]]])
        found[i] = called.sum()
    v = np.arange(r + 1)
    apart = np.abs((found[:, None] <= v).mean(0) - (right(t, m, r)[:, None] <= v).mean(0)).max()
    assert apart < 2 * np.sqrt(np.log(2 / 5e-6) / (2 * RUNS))


@pytest.mark.parametrize(("made", "assumed"), [(OneRun(), PURE), (OneRunFDP(), GAUSS)])
def test_the_chance_of_one_run_is_that_of_its_bounds(made, assumed):
    t = truth(claim=1.0, true=3.0)
    prospect = Guessed(made, assumed, t, 0.5)
    shown = {
        v: made.bound(Guesses(60, 30, int(v)), D).epsilon > 1 for v in np.unique(right(t, 60, 30))
    }
    expected = np.mean([shown[v] for v in right(t, 60, 30)])
    assert prospect.chance(60) == pytest.approx(expected)
    assert 0 < expected < 1


@pytest.mark.parametrize("delta", [0.0, D, 1e-2])
@pytest.mark.parametrize("r", [1, 8, 30])
def test_one_run_refutes_just_what_its_bound_is_above(delta, r):
    for g in (Guesses(40, r, v) for v in range(r + 1)):
        shown = OneRun().bound(g, delta).epsilon
        for claim in (0.01, 0.5, 1.0, 2.0):
            assert is_refuted(claim, g, delta, 0.05) == (shown > claim)


@pytest.mark.parametrize(("made", "assumed"), [(OneRun(), PURE), (OneRunFDP(), GAUSS)])
@pytest.mark.parametrize("delta", [D, 1e-2])
def test_the_ceiling_of_canaries_is_that_of_those_that_are_guessed(made, assumed, delta):
    for m in (2, 15, 60, 300):
        prospect = Guessed(made, assumed, Truth(GAUSS, 1.0, 4.0, delta, 0.95))
        assert prospect.ceiling(m) == made.ceiling(m, prospect.guesses(m), delta)
        assert prospect.typical(m) <= prospect.ceiling(m)
        half = Guessed(made, assumed, prospect.truth, 0.5)
        assert half.ceiling(m) == made.ceiling(m, m // 2 + (m == 15), delta)


@pytest.mark.parametrize(("made", "assumed"), [(OneRun(), PURE), (OneRunFDP(), GAUSS)])
def test_as_many_are_guessed_as_typically_show_most(made, assumed):
    """Of those that are tried; beside every number of guesses there is they come close."""
    prospect, m = Guessed(made, assumed, truth(claim=1.0, true=4.0)), 120
    every = {r: Guessed(made, assumed, prospect.truth, r / m).typical(m) for r in range(1, m + 1)}
    chosen = prospect.guesses(m)
    assert every[chosen] == prospect.typical(m)
    tried = [r for r in (*GUESSES, m) if r <= m and r >= 0.01 * m]
    assert every[chosen] == max(every[r] for r in tried)
    assert 0.5 < 0.9 * max(every.values()) < every[chosen]


@pytest.mark.parametrize("made", [OneRun(), OneRunFDP()])
def test_where_no_number_of_guesses_typically_shows_anything_all_are_guessed(made):
    nothing = Truth(GAUSS, 0.01, 0.02, D, 0.95)
    prospect = Guessed(made, PURE if isinstance(made, OneRun) else GAUSS, nothing)
    assert prospect.guesses(40) == 40
    assert prospect.typical(40) == 0


def test_fewer_of_more_canaries_are_guessed():
    """A tenth of 20,000 refutes less often than a tenth of 5,000; a fiftieth does often."""
    t = truth(claim=2.8, true=4.0)
    tenth, best = (Guessed(OneRunFDP(), GAUSS, t, share) for share in (0.1, None))
    assert tenth.chance(20_000) < tenth.chance(5_000) < best.chance(5_000) < best.chance(20_000)
    assert best.guesses(20_000) < 0.05 * 20_000
    assert best.chance(20_000) > 0.5


def test_more_trials_have_a_larger_chance_and_a_larger_bound():
    t = truth(claim=2.0, true=4.0)
    for prospect in (
        Ranked(RankTest(), GAUSS, t),
        Paired(PairedAUC(), GAUSS, t),
        Counted(GDP(), GAUSS, t),
        Scanned(ExactScan(), PURE, t),
    ):
        few, many = 50, 400
        assert prospect.chance(few) <= prospect.chance(many)
        assert prospect.typical(few) < prospect.typical(many) <= prospect.ceiling(many)
        assert prospect.typical(many) < 4.0
