"""Private ensembles as they are played, and what audits make of what is exchanged."""

import math

import numpy as np
import pytest
from refusals import refuses
from settings import make_mechanism

from dpaudit.canaries import Null, Replaced
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.judging.run_data import fitting_attacks
from dpaudit.papers.ensemble import Corner, Learner, PrivateEnsemble
from dpaudit.protocols import lacking
from dpaudit.results import Counts, Scores
from dpaudit.seeds import trials
from dpaudit.types import IN, OUT, Data, Records

SURE = 1 - 1e-5
"""Of bounds that a test holds against the truth: one in 100,000 seeds would be a false alarm."""


def points(n, seed, d=10):
    x = np.random.default_rng(seed).standard_normal((n, 1, 1, d))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return Records(x.astype(np.float32), (x[:, 0, 0, 0] > 0).astype(np.int64))


@pytest.fixture(scope="module")
def data():
    return Data("a sphere", points(800, 0), points(10, 1), points(10, 2), classes=2)


def of(data, **given):
    return make_mechanism(PrivateEnsemble, data, **{"organisations": 4, **given})


def scores_of(mechanism, data, per_world, canary=None, seed=0):
    """Scores of both worlds, as the attack has them."""
    pair = (canary or Corner()).build(data, seed)
    seen = mechanism.run(pair, wanted := trials(seed, 2 * per_world))
    stacked = {name: np.stack([o[name] for o in seen]) for name in seen[0]}
    score = Learner().features(stacked, {})[:, 0]
    worlds = np.array([trial.world for trial in wanted])
    return Scores(out=score[worlds == OUT], inn=score[worlds == IN])


def proven(scores):
    """By the exact scan of the scores, which decides a run."""
    return ExactScan(draws=400).bound(scores, 0.0).epsilon


def counted_bound(scores):
    """By the errors of the fixed rule, so surely that it may be held against the truth."""
    fp, fn = int((scores.out > 0).sum()), int((scores.inn <= 0).sum())
    counts = Counts(fp, len(scores.out), fn, len(scores.inn))
    return ClopperPearson(SURE).bound(counts, 0.0).epsilon


# ---------------------------------------------------------------- what is promised


def test_a_learner_claims_epsilon_for_replacing_a_record(data):
    claim = of(data, epsilon=2.0).claim
    assert (claim.epsilon, claim.delta, claim.adjacency) == (2.0, 0.0, "replace")
    assert claim.unit == "one learner"
    assert "eps' 1.554" in claim.source  # 2 - 2 ln 1.25, of 200 records and lam .005
    assert of(data, target="aggregate").claim.epsilon == 4.0
    assert of(data).craft(data, 0)["label_pair"].tolist() == [0, 1]


def test_for_the_receiver_s_own_records_nothing_is_claimed(data):
    claim = of(data, target="receiver").claim
    assert math.isinf(claim.epsilon)
    assert not claim.guarantees


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"target": "all"}, ("unknown-choice", "target", "all")),
        ({"perturbation": "input"}, ("unknown-choice", "perturbation", "input")),
        ({"epsilon": 0.0}, ("not-positive", "epsilon", 0.0)),
        ({"lam": -1.0}, ("not-positive", "lam", -1.0)),
        ({"organisations": 1}, ("too-small", "organisations", 1)),
        ({"records": 300}, ("too-few-records", "organisations", 4)),
        ({"organisations": 801}, ("too-few-records", "organisations", 801)),
        ({"features": 11}, ("too-large", "features", 11)),
        ({"bound": 0.0}, ("not-positive", "bound", 0.0)),
        ({"rows": "cut"}, ("unknown-choice", "rows", "cut")),
        ({"beta": 0.0}, ("not-positive", "beta", 0.0)),
        ({"reading": "signs"}, ("unknown-choice", "reading", "signs")),
        ({"bound": 0.5}, ("too-long", "rows", 800)),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(data, given, refusal):
    with refuses(*refusal) as caught:
        of(data, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"rows": "clip"}, {"rows": "normalise"}, {"bound": 5.0}], ids=str
)
def test_longer_rows_are_taken_if_they_are_shortened(data, given):
    longer = Records(data.pool.x * np.float32(5), data.pool.y)
    mechanism = of(Data("longer", longer, data.shadow, data.test, 2), **given)
    assert mechanism.features == 10
    assert of(data, intercept=True).features == 11


# ---------------------------------------------------------------- what is played


@pytest.mark.parametrize("target", ["learner", "aggregate", "receiver"])
@pytest.mark.parametrize("canary", [Corner(), Replaced((0, 1)), Null("replace")], ids=str)
def test_a_trial_is_the_same_whatever_is_played_beside_it(data, target, canary):
    mechanism = of(data, target=target)
    pair, wanted = canary.build(data, 0), trials(3, 12)
    together = mechanism.run(pair, wanted)
    assert together[0].keys() == mechanism.example().keys()
    for trial, seen in zip(wanted, together, strict=True):
        (alone,) = mechanism.run(pair, [trial])
        for name, array in seen.items():
            np.testing.assert_array_equal(alone[name], array)
            assert np.shape(array) == np.shape(mechanism.example()[name])


def test_what_was_crafted_comes_with_the_pair_and_not_with_the_data(data):
    """A run that goes on has the canary and what was given, and makes the pair of them anew."""
    pair = Corner().build(data, 0)
    assert set(pair.given) == {"before", "crowd"}
    assert pair.adjacency == "replace"
    assert pair.canary.x.shape == data.shape
    with refuses("too-small", "features", 1):
        Corner().build(Data("flat", points(20, 0, d=1), data.shadow, data.test, 2), 0)


def test_a_corner_that_is_cut_off_with_its_features_is_refused(data):
    """With the first feature alone D and D' would be one, and nothing could be found."""
    with refuses("no-difference", "features", "corner"):
        of(data, features=1).refuse(Corner().build(data, 0))
    of(data, features=1).refuse(Replaced((0, 1)).build(data, 0))
    of(data, features=2).refuse(Corner().build(data, 0))


def test_the_attack_fixes_score_and_rule_beforehand():
    attack = Learner()
    assert not attack.fitted
    assert attack.scoring == "fixed"
    assert lacking(attack, {"values"}) == "leaning"
    assert lacking(attack, {"leaning"}) == ""


@pytest.mark.parametrize("target", ["learner", "aggregate", "receiver"])
def test_no_attack_of_another_mechanism_is_named_beside_its_own(data, target):
    """What is advised is another score, and not the same one by another name."""
    assert list(fitting_attacks(of(data, target=target).example())) == ["learner", "released"]


# ---------------------------------------------------------------- audits


@pytest.mark.parametrize(("epsilon", "least", "most"), [(2.0, 0.75, 1.25), (4.0, 1.9, 2.73)])
def test_a_corner_shows_about_half_of_what_is_claimed_and_never_all(data, epsilon, least, most):
    """Of 20,000 learners a world 1.1 and 2.3; the ratio itself is never above 1.25 and 2.73."""
    scores = scores_of(of(data, epsilon=epsilon, features=2), data, 2000)
    assert max(np.abs(scores.out).max(), np.abs(scores.inn).max()) < most
    assert least < proven(scores) < most
    assert 0 < counted_bound(scores) < epsilon


def test_more_features_show_less(data):
    few, many = (proven(scores_of(of(data, features=d), data, 2000)) for d in (2, 10))
    assert many < few - 0.3


def test_who_flips_a_label_shows_at_most_half_of_what_the_noise_hides(data):
    mechanism = of(data, organisations=16, epsilon=4.0, lam=0.01, features=2)
    most = mechanism.learner.noise(mechanism.records).epsilon / 2
    scores = scores_of(mechanism, data, 1000, Replaced((0, 1)))
    assert max(np.abs(scores.out).max(), np.abs(scores.inn).max()) <= most
    assert counted_bound(scores) <= most


@pytest.mark.parametrize("reading", ["linear", "sign"])
@pytest.mark.parametrize("average", ["mirror", "single"])
def test_an_aggregate_shows_less_than_the_learner_that_it_is_made_of(data, reading, average):
    how = {"features": 2, "reading": reading, "average": average}
    learner, aggregate = (
        proven(scores_of(of(data, target=target, **how), data, 1000))
        for target in ("learner", "aggregate")
    )
    assert aggregate < learner


@pytest.mark.parametrize("reading", ["linear", "sign"])
@pytest.mark.parametrize("canary", [Corner(), Replaced((0, 1))], ids=str)
def test_an_aggregate_tells_all_of_its_receiver_s_records(data, canary, reading):
    mechanism = of(data, target="receiver", reading=reading, organisations=16, epsilon=1.0)
    scores = scores_of(mechanism, data, 100, canary)
    assert scores.inn.min() > 1e-6
    assert scores.out.max() < -1e-6
    assert proven(scores) > 3.3  # 4.1 is the most


def test_what_only_rounding_tells_is_not_told(data):
    """Where all learners have the same sign for a record, its label changes no weight."""
    mechanism = of(data, target="receiver", reading="sign", features=3)
    scores = scores_of(mechanism, data, 20, Replaced((0, 1)))
    assert not np.any([scores.out, scores.inn])


@pytest.mark.parametrize(
    ("features", "perturbation"), [(2, "objective"), (10, "objective"), (2, "output")]
)
def test_the_fixed_rule_is_right_about_aggregates_more_often_than_not(data, features, perturbation):
    """Its threshold lies between the worlds, whatever the learners that are fixed lean to.

    Errors of a rule that knows nothing add up to 1, give or take .014: 5 deviations below.
    """
    how = {"target": "aggregate", "features": features, "perturbation": perturbation}
    scores = scores_of(of(data, **how), data, 2500)
    wrong = np.mean(scores.out > 0), np.mean(scores.inn <= 0)
    assert sum(wrong) < 0.93
    assert max(wrong) < 0.95


def test_an_aggregate_of_one_learner_is_that_learner(data):
    pair, wanted = Corner().build(data, 0), trials(0, 6)
    seen = [of(data, organisations=2, target=t).run(pair, wanted) for t in ("learner", "aggregate")]
    for one, other in zip(*seen, strict=True):
        np.testing.assert_allclose(one["values"], other["values"])


def test_output_perturbation_keeps_its_claim_too(data):
    scores = scores_of(of(data, perturbation="output", features=2), data, 1000)
    assert proven(scores) > 1.5
    assert counted_bound(scores) < 4


@pytest.mark.parametrize("target", ["learner", "aggregate", "receiver"])
def test_of_the_null_nothing_is_certified(data, target):
    assert counted_bound(scores_of(of(data, target=target), data, 500, Null("replace"))) == 0


@pytest.mark.verify
@pytest.mark.parametrize(("epsilon", "expected"), [(2.0, 1.08), (4.0, 2.34)])
def test_a_corner_shows_what_another_reproduction_of_20000_learners_has(data, epsilon, expected):
    """That one held trials out and counted; the exact scan shows as much or more."""
    scores = scores_of(of(data, epsilon=epsilon, features=2), data, 20_000)
    assert expected - 0.1 < proven(scores) < np.abs(scores.inn).max()
