"""Randomized response as it is played, and what audits make of what it promises."""

import math

import numpy as np
import pytest
from refusals import refuses
from settings import make_mechanism

from dpaudit.canaries import Null, Replaced
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.estimators.trials import Trials
from dpaudit.papers.local import RandomizedResponse, ReportedValue
from dpaudit.seeds import trials
from dpaudit.types import IN, OUT, Data, Records

LN = math.log
SURE = 1 - 1e-5
"""Of bounds that a test holds against the truth: one in 100,000 seeds would be a false alarm."""


def users(n, classes=6):
    return Records(np.zeros((n, 1, 2, 2), np.float32), np.arange(n) % classes)


@pytest.fixture(scope="module")
def data():
    return Data("made up", users(30), users(5), users(5), classes=6)


def trials_of(mechanism, data, n, seed=0, canary=None):
    """The trials of n users in each world, as the attack looks at them."""
    built = canary or Replaced(mechanism.label_pair)
    pair = built.build(data, seed)
    wanted = trials(seed, 2 * n)
    seen = mechanism.run(pair, wanted)
    stacked = {name: np.stack([o[name] for o in seen]) for name in seen[0]}
    worlds = np.array([trial.world for trial in wanted])
    features = ReportedValue().features(stacked, mechanism.known(pair))
    return Trials(features, worlds, "reported-value"), stacked


def counted_bound(mechanism, data, n, confidence=0.95, seed=0, canary=None):
    """The bound by the counted errors of the fixed rule."""
    seen, _ = trials_of(mechanism, data, n, seed, canary)
    rule = seen.fit(ReportedValue(), None)
    return ClopperPearson(confidence).bound(seen.count(rule), 0.0).epsilon


def scanned_bound(mechanism, data, n):
    """The bound by the exact scan of the scores, which decides a run."""
    seen, _ = trials_of(mechanism, data, n)
    return ExactScan(draws=400).bound(seen.scores(seen.fit(ReportedValue(), None)), 0.0).epsilon


def of(data, **given):
    return make_mechanism(RandomizedResponse, data, **given)


# ---------------------------------------------------------------- what is promised


def test_the_paper_s_example_claims_ln_3_for_one_report(data):
    claim = of(data).claim
    assert claim.epsilon == pytest.approx(LN(3))
    assert (claim.delta, claim.unit, claim.adjacency) == (0, "one report", "replace")
    assert claim.beside == {"local DP": pytest.approx(LN(4))}
    assert of(data, observer="blended").claim.epsilon == pytest.approx(LN(3))
    assert of(data, theta=1).claim.epsilon == pytest.approx(LN(1.5))


@pytest.mark.parametrize(
    ("given", "epsilon"),
    [
        ({"reports": 2, "shares": "0.5505,0.4495"}, 1.9945),
        ({"reports": 2, "shares": "0.5505,0.4495", "promise": "pbp-sum"}, 1.7918),
        ({"reports": 2, "shares": "0.5505,0.4495", "promise": "ldp"}, 2 * LN(4)),
        ({"reports": 8}, 8 * LN(3)),
        ({"matrix": "three-parameter", "observer": "blended"}, 0.0),
        ({"matrix": "grr:2"}, 2.0),
        ({"matrix": "grr:2", "values": 3, "reports": 4}, 8.0),
        ({"matrix": "unary:4"}, 4.0),
        ({"matrix": "optimised-unary:1", "promise": "ldp"}, 1.0),
        ({"matrix": "binary:1,0.5", "support_only": True}, LN(2)),
        ({"matrix": "given:.8,.1,.1/.2,.9,.9"}, LN(8)),
    ],
)
def test_what_is_claimed_is_what_was_chosen(data, given, epsilon):
    assert of(data, **given).claim.epsilon == pytest.approx(epsilon, abs=1e-4)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"matrix": "blend"}, ("unknown-name", "matrix", "blend")),
        ({"matrix": "grr"}, ("unknown-name", "matrix", "grr")),
        ({"matrix": "grr:much"}, ("not-a-number", "matrix", "much")),
        ({"matrix": "grr:1,2"}, ("malformed", "matrix", "grr:1,2")),
        ({"matrix": "grr:-1"}, ("out-of-range", None, -1.0)),
        ({"matrix": "given:.8,.2/.2"}, ("shape-mismatch", "matrix", "given:.8,.2/.2")),
        ({"matrix": "given:.8,.3/.2,.8"}, ("not-normalised", "matrix", pytest.approx(1.1))),
        ({"matrix": "grr:1", "values": 7}, ("too-few-classes", "matrix", "grr:1")),
        ({"values": 3}, ("excluded-options", "values", 3)),
        ({"shares": "1"}, ("shape-mismatch", "shares", 1)),
        ({"shares": "a,b"}, ("not-a-number", "shares", "a,b")),
        ({"observer": "nobody"}, ("unknown-choice", "observer", "nobody")),
        ({"promise": "all"}, ("unknown-choice", "promise", "all")),
        ({"reports": 0}, ("too-small", "reports", 0)),
        ({"theta": 2}, ("out-of-range", "theta", 2)),
        ({"theta": 0, "observer": "blended"}, ("no-effect", "theta", 0)),
        ({"matrix": "binary:1,0.5"}, ("no-finite-epsilon", "matrix", "binary:1,0.5")),
        ({"reports": 10**6}, ("too-costly", "reports", 10**6)),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(data, given, refusal):
    with refuses(*refusal) as caught:
        of(data, **given)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- what is played


@pytest.mark.parametrize(
    "given",
    [{}, {"observer": "blended"}, {"matrix": "grr:1"}, {"matrix": "unary:2", "values": 3}],
    ids=str,
)
def test_reports_have_the_probabilities_of_their_matrix(data, given):
    """Of some 30 frequencies none is 5 deviations off but with a probability of 2e-5."""
    n, mechanism = 4000, of(data, **given)
    pair = Replaced(mechanism.label_pair).build(data, 0)
    seen = mechanism.run(pair, wanted := trials(0, 2 * n))
    d, other = mechanism.label_pair
    blended = mechanism.population.blended
    channel = blended if mechanism.theta is None else mechanism.population.matrices[mechanism.theta]
    for world, value in ((OUT, d), (IN, other)):
        reports = [
            int(o["report"][0]) for o, t in zip(seen, wanted, strict=True) if t.world == world
        ]
        p = channel[:, value]
        found = np.bincount(reports, minlength=len(p)) / n
        assert (np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / n)).all()


def test_the_parameter_is_seen_by_who_knows_it_alone_and_stays_a_user_s_own(data):
    _, known = trials_of(of(data, reports=3), data, 50)
    assert set(known) == {"report", "theta"}
    assert known["report"].shape == (100, 3)
    assert set(known["theta"].tolist()) == {0}
    _, blended = trials_of(of(data, observer="blended", reports=3), data, 50)
    assert set(blended) == {"report"}
    # Answers of one user go together: Pr(both the same) = .5 (.68 + .52) = .60, not .58 as of two.
    _, twice = trials_of(
        of(data, observer="blended", matrix="binary:1,0", reports=2, support_only=True), data, 50
    )
    assert (twice["report"][:, 0] == twice["report"][:, 1]).all()


def test_a_trial_is_the_same_whatever_is_played_beside_it(data):
    mechanism = of(data, observer="blended", reports=2)
    pair = Replaced(mechanism.label_pair).build(data, 0)
    wanted = trials(3, 40)
    together = mechanism.run(pair, wanted)
    alone = [mechanism.run(pair, [trial])[0] for trial in wanted]
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_array_equal(a["report"], b["report"])


def test_a_user_s_value_is_the_class_modulo_the_values(data):
    mechanism = of(data, matrix="binary:1,0.999", support_only=True)
    pair = Replaced((5, 2)).build(data, 0)
    seen = mechanism.run(pair, trials(0, 20))
    assert [int(o["report"][0]) for o in seen] == [1, 0] * 10


# ---------------------------------------------------------------- the score


def test_nothing_is_chosen_from_what_is_judged(data):
    attack = ReportedValue()
    assert not attack.fitted
    assert attack.scoring == "fixed"
    seen, _ = trials_of(of(data), data, 20)
    np.testing.assert_allclose(np.unique(np.abs(seen.features)), LN(4))


def test_the_score_is_the_likelihood_ratio_of_what_is_seen(data):
    mechanism = of(data, observer="blended", reports=2)
    seen, shown = trials_of(mechanism, data, 40)
    d, other = mechanism.label_pair
    p, shares = mechanism.population.matrices, mechanism.population.shares

    def likelihood(reports, value):
        return sum(
            s * math.prod(m[o, value] for o in reports) for s, m in zip(shares, p, strict=True)
        )

    expected = [LN(likelihood(r, other) / likelihood(r, d)) for r in shown["report"]]
    np.testing.assert_allclose(seen.features[:, 0], expected, rtol=1e-8)


# ---------------------------------------------------------------- audits


def test_who_knows_the_parameter_refutes_ln_3_from_a_few_hundred_reports(data):
    """With 500 users a world in 90 % of audits; fewer than 20 of 30 have a chance below 1e-4."""
    mechanism = of(data)
    refuted = sum(counted_bound(mechanism, data, 500, seed=s) > LN(3) for s in range(30))
    assert refuted >= 20
    assert counted_bound(mechanism, data, 2000, SURE) <= LN(4)
    assert scanned_bound(mechanism, data, 2000) > LN(3)


def test_who_does_not_know_it_refutes_nothing(data):
    mechanism = of(data, observer="blended")
    assert counted_bound(mechanism, data, 2000, SURE) <= LN(7 / 3)
    assert 0.6 < counted_bound(mechanism, data, 2000) < LN(3)
    assert 0.6 < scanned_bound(mechanism, data, 2000) < LN(3)


def test_three_parameters_are_refuted_by_who_knows_none_of_them(data):
    mechanism = of(data, matrix="three-parameter", observer="blended")
    assert mechanism.claim.epsilon == 0
    assert counted_bound(mechanism, data, 1000) > 0.2  # 6 deviations away from no leak
    assert counted_bound(mechanism, data, 1000, SURE) <= LN(19 / 11)
    assert scanned_bound(mechanism, data, 1000) > 0


@pytest.mark.parametrize(("reports", "at_least"), [(2, 2 * LN(3)), (4, 3.5)])
def test_several_reports_leak_as_many_times_ln_4_to_who_knows_them(data, reports, at_least):
    mechanism = of(data, reports=reports)
    assert mechanism.claim.epsilon == pytest.approx(reports * LN(3))
    assert scanned_bound(mechanism, data, 2000) > at_least
    assert counted_bound(mechanism, data, 2000, SURE) <= reports * LN(4)


def test_local_differential_privacy_of_several_reports_holds(data):
    for observer in ("known", "blended"):
        mechanism = of(data, reports=3, promise="ldp", observer=observer)
        assert counted_bound(mechanism, data, 1000, SURE) <= mechanism.claim.epsilon


@pytest.mark.parametrize("matrix", ["grr", "unary", "optimised-unary"])
@pytest.mark.parametrize(("epsilon", "at_least"), [(1, 0.6), (2, 1.5), (4, 2.5)])
def test_audits_of_one_matrix_for_all_agree_with_the_closed_form(data, matrix, epsilon, at_least):
    """Bounds come near to epsilon, which is claimed, and stay below it."""
    mechanism = of(data, matrix=f"{matrix}:{epsilon}")
    assert mechanism.claim.epsilon == pytest.approx(epsilon)
    assert counted_bound(mechanism, data, 2000, SURE) <= epsilon
    assert at_least < counted_bound(mechanism, data, 2000)


def test_of_the_null_nothing_is_certified(data):
    assert counted_bound(of(data), data, 1000, SURE, canary=Null("replace")) == 0
