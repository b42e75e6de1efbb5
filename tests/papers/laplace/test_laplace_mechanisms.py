"""Laplace networks as they are played, and what audits make of what they promise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from settings import make_mechanism

from dpaudit.audit.preparation import with_known
from dpaudit.canaries import Null, Replaced
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.estimators.trials import Trials
from dpaudit.judging.judge import verdict
from dpaudit.papers.laplace import (
    Laplace,
    LaplaceAnonymizedLearning,
    LaplaceAnonymizingFirst,
    LaplaceLearningFirst,
    Negative,
)
from dpaudit.papers.laplace.canary import world_rows
from dpaudit.papers.laplace.noise import leak
from dpaudit.rates import BoundCriterion
from dpaudit.seeds import trials
from dpaudit.types import IN, OUT, Data, Records

SURE = 1 - 1e-5
"""Of bounds that a test holds against the truth: one in 100,000 seeds would be a false alarm."""

FEW = {"epochs": 2, "batch": 10, "hidden": 1, "width": 4}
ALL = (LaplaceAnonymizingFirst, LaplaceLearningFirst, LaplaceAnonymizedLearning)


def trials_of(mechanism, data, n, seed=0, canary=None, raw=False):
    """The trials of n releases in each world, as the attack looks at them."""
    pair = with_known(mechanism, (canary or Replaced()).build(data, seed))
    wanted = trials(seed, 2 * n)
    seen = mechanism.run(pair, wanted)
    stacked = {name: np.stack([o[name] for o in seen]) for name in seen[0]}
    attack = Laplace().raw() if raw else Laplace()
    return Trials(
        attack.features(stacked, pair.given), np.array([t.world for t in wanted]), "laplace"
    )


def exact_bound(mechanism, data, n, raw=False, **how):
    """By the exact scan of the scores, which decides a run."""
    seen = trials_of(mechanism, data, n, raw=raw, **how)
    scores = replace(seen.split(seen.features[:, 0]), raw=raw)
    return ExactScan(draws=400).bound(scores, 0.0)


def scanned_bound(mechanism, data, n, **how):
    return exact_bound(mechanism, data, n, **how).epsilon


def counted_bound(mechanism, data, n, sure=0.95, **how):
    """The bound by counted errors, of a threshold that was chosen on the other half."""
    choosing, judging = trials_of(mechanism, data, n, **how).halves()
    rule = choosing.fit(Laplace(), BoundCriterion(0.0))
    return ClopperPearson(sure).bound(judging.count(rule), 0.0).epsilon


def shifted(data, parameters, shift, **given):
    return make_mechanism(LaplaceLearningFirst, data, shift=shift, parameters=parameters, **given)


# ---------------------------------------------------------------- what is promised


@pytest.mark.parametrize(
    ("kind", "given", "epsilon", "unit"),
    [
        (LaplaceLearningFirst, {}, 1.0, "whole model"),
        (LaplaceLearningFirst, {"unit": "parameter"}, 1.0, "each parameter"),
        (LaplaceLearningFirst, {"promise": "composed"}, 35.0, "whole model"),
        (LaplaceLearningFirst, {"promise": "composed", "unit": "parameter"}, 1.0, "each parameter"),
        (LaplaceAnonymizingFirst, {}, 1.0, "whole model"),
        (LaplaceAnonymizedLearning, {}, 1.0, "whole model"),
        (LaplaceAnonymizedLearning, {"promise": "composed"}, 35.0, "whole model"),
        (LaplaceAnonymizedLearning, {"later": 10}, 1.0, "each parameter"),
        (LaplaceAnonymizedLearning, {"later": 10, "promise": "composed"}, 11.0, "each parameter"),
        (LaplaceAnonymizedLearning, {"unit": "parameter"}, 1.0, "each parameter"),
        (
            LaplaceAnonymizedLearning,
            {"unit": "parameter", "promise": "composed"},
            35.0,
            "each parameter",
        ),
        (
            LaplaceAnonymizedLearning,
            {"unit": "parameter", "promise": "composed", "clipped": "sum"},
            3.0,
            "each parameter",
        ),
    ],
)
def test_a_claim_states_its_unit(data, kind, given, epsilon, unit):
    claim = make_mechanism(kind, data, epsilon=1.0, **FEW, **given).claim
    assert (claim.epsilon, claim.unit) == (epsilon, unit)
    assert (claim.delta, claim.adjacency, claim.curve) == (0.0, "replace", None)


@pytest.mark.parametrize(
    ("kind", "given", "refusal"),
    [
        (LaplaceLearningFirst, {"unit": "layer"}, ("unknown-choice", "unit", "layer")),
        (LaplaceLearningFirst, {"weights": "1"}, ("malformed", "weights", "1")),
        (LaplaceLearningFirst, {"shift": 2.0}, ("out-of-range", "shift", 2.0)),
        (LaplaceLearningFirst, {"parameters": 5}, ("no-effect", "parameters", 5)),
        (LaplaceLearningFirst, {"hidden": -1}, ("too-small", "hidden", -1)),
        (LaplaceLearningFirst, {"epsilon": 0.0}, ("not-positive", "epsilon", 0.0)),
        (LaplaceAnonymizingFirst, {"k": 31}, ("too-large", "k", 31)),
        (LaplaceAnonymizedLearning, {"clipped": "all"}, ("unknown-choice", "clipped", "all")),
        (LaplaceAnonymizedLearning, {"others": 5}, ("no-effect", "others", 5)),
        (
            LaplaceAnonymizedLearning,
            {"later": 1, "unit": "model"},
            ("excluded-options", "unit", "model"),
        ),
        (
            LaplaceAnonymizedLearning,
            {"unit": "parameter", "observer": "updates"},
            ("excluded-options", "observer", "updates"),
        ),
        (LaplaceAnonymizedLearning, {"later": -1}, ("too-small", "later", -1)),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(data, kind, given, refusal):
    with refuses(*refusal) as caught:
        make_mechanism(kind, data, **given)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- what is played


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("canary", [Replaced(), Negative(), Null("replace")], ids=repr)
def test_a_trial_is_the_same_whatever_is_played_beside_it(data, kind, canary):
    mechanism = make_mechanism(kind, data, **FEW)
    pair = canary.build(data, 1)
    wanted = trials(3, 8)
    together = mechanism.run(with_known(mechanism, pair), wanted)
    alone = [mechanism.run(pair, [trial])[0] for trial in wanted]
    for a, b in zip(together, alone, strict=True):
        assert a.keys() == b.keys() >= mechanism.example().keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name])
            if name in mechanism.example():
                assert np.shape(a[name]) == np.shape(mechanism.example()[name])


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (LaplaceLearningFirst, {"unit": "parameter"}),
        (LaplaceLearningFirst, {"shift": 0.1}),
        (LaplaceAnonymizingFirst, {"trained": True, "k": 10}),
        (LaplaceAnonymizedLearning, {"observer": "weights"}),
        (LaplaceAnonymizedLearning, {"unit": "parameter"}),
        (LaplaceAnonymizedLearning, {"clipped": "sum"}),
        (LaplaceAnonymizedLearning, {"later": 2}),
    ],
    ids=str,
)
def test_every_way_releases_what_its_example_says_and_scores(data, kind, given):
    mechanism = make_mechanism(kind, data, **FEW, **given)
    pair = with_known(mechanism, Negative().build(data, 0))
    (seen,) = mechanism.run(pair, trials(0, 2)[:1])
    assert set(seen) - {"accuracy"} == set(mechanism.example())
    for name, example in mechanism.example().items():
        assert np.shape(seen[name]) == np.shape(example)
    assert np.isfinite(trials_of(mechanism, data, 2).features).all()
    assert ("accuracy" in seen) == (mechanism.claim.unit == "whole model" and "shift" not in given)


def test_worlds_differ_in_one_place_and_batches_are_the_same(data):
    pair = Negative().build(data, 0)
    (x0, y0), (x1, y1) = (world_rows(pair, world) for world in (OUT, IN))
    differ = (x0 != x1).any(axis=1) | (y0 != y1)
    assert np.flatnonzero(differ).tolist() == [pair.canary.removed]
    null = Null("replace").build(data, 0)
    np.testing.assert_array_equal(world_rows(null, OUT)[0], world_rows(null, IN)[0])


def test_between_worlds_all_parameters_leak_what_is_told(data):
    mechanism = shifted(data, 50, 0.2, epsilon=3.0)
    pair = Replaced().build(data, 0)
    assert leak(mechanism.known(pair)) == pytest.approx(50 * 0.2 * 3.0)
    assert "leak exactly epsilon 30" in mechanism.about(pair).deployment


# ---------------------------------------------------------------- audits of LearningFirst


def test_read_for_the_model_it_is_refuted_by_all_parameters_together(data):
    """100 parameters, each moved by 10 %, 1,000 a world: about 1 by counts, 1.7 by the scan.

    In 40 audits counts gave .98, deviation .40, so that the mean of 20 is within 4.5 deviations.
    """
    mechanism = shifted(data, 100, 0.1)
    by_counts = [counted_bound(mechanism, data, 1000, seed=s) for s in range(20)]
    assert np.mean(by_counts) == pytest.approx(1.0, abs=0.4)
    assert verdict(mechanism.claim, exact_bound(mechanism, data, 1000)) == "VIOLATION"


@pytest.mark.verify
def test_twenty_thousand_a_world_show_two_of_what_is_ten_in_truth(data):
    mechanism = shifted(data, 100, 0.1)
    assert leak(mechanism.known(Replaced().build(data, 0))) == pytest.approx(10)
    found = [counted_bound(mechanism, data, 20_000, seed=s) for s in range(3)]
    assert np.mean(found) == pytest.approx(1.95, abs=0.2)
    assert scanned_bound(mechanism, data, 20_000) > 2


@pytest.mark.parametrize(("d", "shift"), [(1, 1.0), (1, 0.1)])
def test_one_parameter_alone_never_exceeds_the_claim(data, d, shift):
    mechanism = shifted(data, d, shift)
    truth = shift * mechanism.epsilon
    assert counted_bound(mechanism, data, 2000, SURE) <= truth
    if shift == 1.0:
        assert 0.7 < counted_bound(mechanism, data, 2000) <= 1


@pytest.mark.parametrize(
    ("d", "shift", "expected", "within"),
    [(1, 1.0, 0.68, 0.25), (10, 1.0, 3.53, 0.7), (1000, 0.1, 3.74, 0.5)],
)
def test_bounds_are_those_that_simulation_gave(data, d, shift, expected, within):
    """With 1,000 a world; means of five."""
    found = [counted_bound(shifted(data, d, shift), data, 1000, seed=s) for s in range(5)]
    assert np.mean(found) == pytest.approx(expected, abs=within)


def test_a_trained_network_leaks_more_than_is_claimed_but_not_through_one_parameter(data):
    given = {"epochs": 40, "batch": 10, "hidden": 1, "width": 16, "lr": 1.0}
    whole = make_mechanism(LaplaceLearningFirst, data, **given)
    assert scanned_bound(whole, data, 1000) > whole.claim.epsilon
    one = make_mechanism(LaplaceLearningFirst, data, unit="parameter", **given)
    assert scanned_bound(one, data, 1000) <= one.claim.epsilon


def test_of_the_null_nothing_is_certified(data):
    for mechanism in (shifted(data, 100, 0.5), make_mechanism(LaplaceAnonymizingFirst, data)):
        assert counted_bound(mechanism, data, 500, SURE, canary=Null("replace")) == 0


# ---------------------------------------------------------------- audits of AnonymizedLearning


@pytest.mark.parametrize(("later", "least", "most"), [(0, 0.6, 1.0), (1, 1.2, 2.0), (10, 3.2, 11)])
def test_theorem_4_fails_for_one_parameter_by_the_batches_after_the_record(
    data, later, least, most
):
    """No more than epsilon for each batch, which composition allows."""
    mechanism = make_mechanism(LaplaceAnonymizedLearning, data, later=later)
    assert mechanism.claim.unit == "each parameter"
    assert least < counted_bound(mechanism, data, 2000)
    assert counted_bound(mechanism, data, 2000, SURE) <= most


@pytest.mark.verify
def test_the_counterexample_shows_six_times_the_claim_with_twenty_thousand_a_world(data):
    """Judged by 20,000 a world, by a threshold that as many others have chosen.

    Eight simulations, also with others that later batches leave as they are, gave 6.06 to 6.09 with
    a deviation of .25, of which the known 5.83 is one; this is within 4.5 of them.
    """
    found = counted_bound(make_mechanism(LaplaceAnonymizedLearning, data, later=10), data, 40_000)
    assert found == pytest.approx(6.07, abs=1.1)


def test_who_sees_the_updates_refutes_the_claim_for_the_model(data):
    mechanism = make_mechanism(
        LaplaceAnonymizedLearning, data, batch=10, hidden=1, width=8, epochs=2
    )
    assert scanned_bound(mechanism, data, 300) > 2 > mechanism.claim.epsilon
    composed = make_mechanism(LaplaceAnonymizedLearning, data, promise="composed", **FEW)
    assert composed.claim.epsilon == 35


# ---------------------------------------------------------------- audits of AnonymizingFirst


def one_column(n):
    """Records of one column that are all 0, and of class 0."""
    return Records(np.zeros((n, 1, 1, 1), np.float32), np.zeros(n, np.int64))


def test_anonymizing_first_stays_below_its_claim_and_comes_near_it():
    """One column and one group: the negative record changes the mean by all that it may."""
    data = Data("made up", one_column(40), one_column(5), one_column(5), classes=2)
    mechanism = make_mechanism(LaplaceAnonymizingFirst, data, epsilon=3.0, k=40)
    pair = Negative().build(data, 0)
    assert leak(mechanism.known(pair)) == pytest.approx(3.0)
    assert 1.2 < counted_bound(mechanism, data, 2000, canary=Negative()) <= 3
    assert counted_bound(mechanism, data, 2000, SURE, canary=Negative()) <= 3


@pytest.mark.parametrize("k", [3, 10, 30])
def test_no_pair_leaks_more_than_anonymizing_first_claims(data, k):
    mechanism = make_mechanism(LaplaceAnonymizingFirst, data, epsilon=1.0, k=k)
    for seed in range(10):
        assert 0 < leak(mechanism.known(Negative().build(data, seed))) <= 1


# ---------------------------------------------------------------- the side channel


def test_raw_scores_show_what_the_arithmetic_leaks_and_rounded_ones_do_not(data):
    """One parameter, moved by 10 %: .1 in truth, of the noise; its low bits show far more."""
    mechanism = shifted(data, 1, 0.1)
    assert scanned_bound(mechanism, data, 1000, raw=True) > 1
    assert scanned_bound(mechanism, data, 1000) <= 0.25
    assert math.isclose(leak(mechanism.known(Replaced().build(data, 0))), 0.1)
