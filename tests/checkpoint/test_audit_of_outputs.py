"""Judging what a model said: which bound decides, what a score needs, when nothing is decided."""

import numpy as np
import pytest
from chance import A
from scipy.stats import binom

from dpaudit.checkpoint.audit import audit
from dpaudit.checkpoint.audited import Question
from dpaudit.checkpoint.outputs import of_logits, of_losses, with_passes
from dpaudit.checkpoint.subject import Subject
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun
from dpaudit.types import Records

N = 400


def subject(coins="kit", put_in=None, seed=0):
    draw = np.random.default_rng(seed)
    put_in = draw.random(N) < 0.5 if put_in is None else put_in
    records = Records(
        np.zeros((len(put_in), 1, 1, 3), np.float32), draw.integers(0, 2, len(put_in))
    )
    return Subject(records, put_in, 2, coins, "records")


def leaking(asked, mu, seed=1):
    """A model whose log-odds of a canary's label are N(0, 1), and N(mu, 1) if it was in."""
    odds = np.random.default_rng(seed).normal(size=len(asked.put_in)) + mu * asked.put_in
    y = asked.records.y
    return of_logits(np.where(np.arange(2) == y[:, None], odds[:, None], 0.0), y)


def judged(mu, coins="kit", **asked):
    whole = subject(coins)
    return audit(Question(**asked), whole, "model", leaking(whole, mu))


def test_a_claim_is_refuted_by_what_assumes_nothing():
    found = judged(4, claimed=(1.0, 1e-5))
    assert found.verdict == "VIOLATION"
    first, beside = found.bounds
    assert (first.estimator, first.assumption) == ("one-run", "none")
    assert (beside.estimator, beside.assumption) == ("one-run-fdp", "gaussian")
    assert first.epsilon > 1
    assert (
        found.calls.tolist().count(1) + found.calls.tolist().count(-1) == found.guesses[0].guesses
    )


def test_an_assumed_curve_refutes_no_bare_claim():
    found = judged(2, claimed=(3.0, 1e-5))
    assert found.bounds[0].epsilon < 3 < found.bounds[1].epsilon
    assert found.verdict == "NO_VIOLATION_FOUND"


def test_a_stated_curve_decides():
    found = judged(2, claimed=(3.0, 1e-5), curve="gaussian")
    assert [bound.estimator for bound in found.bounds] == ["one-run-fdp", "one-run"]
    assert found.verdict == "VIOLATION"


def test_a_ceiling_below_the_claim_decides_nothing():
    found = judged(6, claimed=(8.0, 1e-5))
    assert found.bounds[0].ceiling < 8
    assert found.verdict == "INCONCLUSIVE"


def test_without_a_claim_there_is_no_verdict():
    assert judged(4).verdict is None


def test_a_number_of_guesses_that_is_fixed_is_judged_as_it_is():
    found = judged(2, guesses=100)
    assert found.guesses[0].guesses == 100
    assert found.bounds[0].epsilon == OneRun(0.95).bound(found.guesses[0], 1e-5).epsilon
    with pytest.raises(BadInput, match="there are 400 canaries to guess, not 401"):
        judged(2, guesses=401)


def test_delta_zero_is_judged_without_a_curve():
    assert [b.estimator for b in judged(4, claimed=(1.0, 0.0)).bounds] == ["one-run"]


# ---------------------------------------------------------------- without coins


def test_members_that_nobody_says_coins_chose_decide_nothing():
    found = judged(4, "supposed", claimed=(1.0, 1e-5))
    assert found.bounds[0].epsilon > 1
    assert found.verdict == "INCONCLUSIVE"
    assert judged(4, "stated", claimed=(1.0, 1e-5)).verdict == "VIOLATION"


@pytest.mark.parametrize(("inn", "fair"), [(200, True), (166, False), (234, False), (170, True)])
def test_a_split_that_fair_coins_hardly_give_has_no_bound(inn, fair):
    whole = subject("stated", put_in=np.arange(N) < inn)
    assert (2 * binom.cdf(min(inn, N - inn), N, 0.5) >= 1e-3) == fair
    found = audit(Question((1.0, 1e-5)), whole, "model", leaking(whole, 4))
    assert bool(found.bounds) == fair
    assert (found.verdict == "INCONCLUSIVE") == (not fair)
    assert found.risk.auc > 0.9


def test_records_of_one_side_are_refused():
    with pytest.raises(BadInput, match="all records are of one side"):
        subject(put_in=np.ones(5, bool))


# ---------------------------------------------------------------- scores


def test_a_reference_takes_away_what_makes_records_differ():
    """Hard and easy records hide a small leak, which the difference to a reference shows."""
    whole = subject()
    draw = np.random.default_rng(2)
    hard = draw.normal(size=N) * 5
    noise = draw.normal(size=(3, N)) * 0.3

    def model(shift):
        loss = np.log1p(np.exp(-(hard + shift)))
        return of_losses(loss, "")

    target = model(1.5 * whole.put_in + noise[0])
    others = [(f"r{i}", model(noise[i])) for i in (1, 2)]
    alone = audit(Question(score="loss"), whole, "m", target)
    for name in ("auto", "lira", "rmia"):
        found = audit(Question(score=name), whole, "m", target, others)
        assert found.risk.auc > 0.85 > alone.risk.auc
        assert found.bounds[0].epsilon > alone.bounds[0].epsilon + 1
    assert audit(Question(), whole, "m", target, others).score.name == "lira"


def test_a_score_says_what_it_lacks():
    whole = subject()
    target = leaking(whole, 1)
    with pytest.raises(BadInput, match="the score lira needs reference models"):
        audit(Question(score="lira"), whole, "m", target)
    with pytest.raises(BadInput, match="the score inv_std needs passes with dropout"):
        audit(Question(score="inv_std"), whole, "m", target)
    with pytest.raises(BadInput, match="the score loss does not use reference models"):
        audit(Question(score="loss"), whole, "m", target, [("r", target)])


def test_with_passes_their_mean_is_the_score():
    whole = subject()
    p = np.clip(0.5 + 0.3 * whole.put_in[:, None] + 0.01 * np.arange(5), 0, 1)
    found = audit(Question(), whole, "m", with_passes(leaking(whole, 0), p))
    assert found.score.name == "mean"
    assert found.risk.auc == 1.0


def test_many_equal_scores_are_told():
    whole = subject()
    found = audit(Question(), whole, "m", of_losses(np.ones(N), ""))
    assert "have the score of another one" in found.warnings[0]


def test_the_audit_of_no_leak_shows_one_no_more_often_than_it_states():
    """Fails by chance with a probability of 1e-5."""
    above, audits = 0, 150
    for seed in range(audits):
        whole = subject(seed=seed)
        outputs = leaking(whole, 0.0, seed=10_000 + seed)
        found = audit(Question(curve="none"), whole, "m", outputs)
        above += found.bounds[0].epsilon > 0
    assert above <= binom.isf(A, audits, 0.05)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"claimed": (-1.0, 1e-5)}, "the claimed epsilon must be a number above 0"),
        ({"claimed": (1.0, 1.0)}, "delta must be at least 0 and below 1"),
        ({"confidence": 95}, "confidence must be above 0.5 and below 1"),
        ({"curve": "bell"}, "the curve must be gaussian, none or dpsgd"),
        ({"guesses": 0}, "guesses must be a whole number of at least 1"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(asked, said):
    with pytest.raises(BadInput, match=said):
        Question(**asked)


def test_all_canaries_count_whether_guessed_or_not():
    assert [guesses.canaries for guesses in judged(2).guesses] == [N, N]
