"""Judging what a model said: which bound decides, what a score needs, when nothing is decided."""

import re

import numpy as np
import pytest
from chance import A
from refusals import refuses
from scipy.stats import binom

from dpaudit.checkpoint.audit import CheckpointRequest, audit
from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.kits.kit import Looks
from dpaudit.checkpoint.predictions import of_logits, of_losses, with_passes
from dpaudit.checkpoint.scoring import IN_PASSES, REFERRING
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun
from dpaudit.estimators.one_run import GuessNumbers
from dpaudit.types import Records

N = 400


def subject(coins="kit", put_in=None, seed=0, looks=None):
    draw = np.random.default_rng(seed)
    put_in = draw.random(N) < 0.5 if put_in is None else put_in
    records = Records(
        np.zeros((len(put_in), 1, 1, 3), np.float32), draw.integers(0, 2, len(put_in))
    )
    return Candidates(records, put_in, 2, coins, "records", looks=looks)


def leaking(asked, mu, seed=1):
    """A model whose log-odds of a canary's label are N(0, 1), and N(mu, 1) if it was in."""
    odds = np.random.default_rng(seed).normal(size=len(asked.put_in)) + mu * asked.put_in
    y = asked.records.y
    return of_logits(np.where(np.arange(2) == y[:, None], odds[:, None], 0.0), y)


def judged(mu, coins="kit", **asked):
    whole = subject(coins)
    return audit(CheckpointRequest(**asked), whole, "model", leaking(whole, mu))


def test_a_claim_is_refuted_by_what_assumes_nothing():
    found = judged(4, claimed=(1.0, 1e-5))
    assert found.verdict == "VIOLATION"
    first, beside = found.bounds
    assert (first.estimator, first.assumption) == ("one-run", "none")
    assert (beside.estimator, beside.assumption) == ("one-run-fdp", "gaussian")
    assert first.epsilon > 1
    assert found.calls.tolist().count(1) + found.calls.tolist().count(-1) == found.guesses.guesses


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


def test_what_could_decide_is_told_where_these_could_not():
    more, _ = judged(6, claimed=(6.0, 1e-5)).next_steps
    assert "2,000" in more
    assert "--count" in more
    none, _ = judged(6, claimed=(8.0, 1e-5)).next_steps
    assert "--curve" in none
    assert "--count" not in none


def test_without_a_claim_there_is_no_verdict():
    assert judged(4).verdict == "NO_GUARANTEE_CLAIMED"


def test_a_number_of_guesses_that_is_fixed_is_judged_as_it_is():
    found = judged(2, guesses=100)
    assert found.guesses.guesses == 100
    assert found.bounds[0].epsilon == OneRun(0.95).bound(found.guesses, 1e-5).epsilon
    with refuses("too-large", option="guesses", value=401):
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
    found = audit(CheckpointRequest((1.0, 1e-5)), whole, "model", leaking(whole, 4))
    assert bool(found.bounds) == fair
    assert (found.verdict == "INCONCLUSIVE") == (not fair)
    assert found.risk.auc > 0.9


def test_a_split_into_two_halves_is_doubted():
    halves = subject("stated", put_in=np.arange(N) % 2 == 0)
    (said,) = audit(CheckpointRequest(), halves, "m", leaking(halves, 1)).warnings
    assert re.findall(r"[\d.]+", said) == ["400", "4"]
    assert "4 %" in said


def test_records_of_one_side_are_refused():
    with refuses("one-side"):
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
        return of_losses(loss)

    target = model(1.5 * whole.put_in + noise[0])
    others = [(f"r{i}", model(noise[i])) for i in (1, 2)]
    alone = audit(CheckpointRequest(score="loss"), whole, "m", target)
    for name in ("auto", "calibrated", "lira", "rmia"):
        found = audit(CheckpointRequest(score=name), whole, "m", target, others)
        assert found.risk.auc > 0.85 > alone.risk.auc
        assert found.bounds[0].epsilon > alone.bounds[0].epsilon + 1
    assert audit(CheckpointRequest(), whole, "m", target, others).score.name == "calibrated"


def test_references_that_say_nothing_of_the_model_do_no_harm():
    """Those that never saw a canary are too sure of them: a slope of 1 would add their noise."""
    whole = subject()
    target = leaking(whole, 3)
    others = [("r", of_losses(np.random.default_rng(2).exponential(9, N)))]
    found = {
        name: audit(CheckpointRequest(score=name), whole, "m", target, others) for name in REFERRING
    }
    alone = audit(CheckpointRequest(), whole, "m", target)
    assert found["calibrated"].risk.auc == pytest.approx(alone.risk.auc, abs=0.01)
    assert found["lira"].risk.auc < alone.risk.auc - 0.1


def test_a_reference_that_says_the_same_of_all_changes_nothing():
    whole = subject()
    target = leaking(whole, 3)
    found = audit(CheckpointRequest(), whole, "m", target, [("r", of_losses(np.ones(N)))])
    assert found.calls.tolist() == audit(CheckpointRequest(), whole, "m", target).calls.tolist()


def test_a_score_says_what_it_lacks():
    whole = subject()
    target = leaking(whole, 1)
    with refuses("needs-references", option="score", value="lira"):
        audit(CheckpointRequest(score="lira"), whole, "m", target)
    with refuses("needs-passes", option="score", value="inv_std"):
        audit(CheckpointRequest(score="inv_std"), whole, "m", target)
    with refuses("no-effect", option="reference", value="loss"):
        audit(CheckpointRequest(score="loss"), whole, "m", target, [("r", target)])


def test_with_passes_their_mean_is_the_score():
    whole = subject()
    odds = whole.put_in[:, None] + 0.01 * np.arange(5)
    found = audit(CheckpointRequest(), whole, "m", with_passes(leaking(whole, 0), odds))
    assert found.score.name == "mean"
    assert found.risk.auc == 1.0


@pytest.mark.parametrize("name", ["auto", "calibrated", "lira", "rmia"])
def test_passes_with_dropout_are_compared_with_those_of_the_references(name):
    """The coins show in the passes of the model alone, once those of a reference are taken off."""
    whole = subject()
    draw = np.random.default_rng(3)
    hard, passes = draw.normal(size=(N, 1)) * 5, draw.normal(size=(2, N, 20))
    quiet = [leaking(whole, 0, seed) for seed in (4, 5)]
    target = with_passes(quiet[0], hard + 3 * whole.put_in[:, None] + passes[0])
    reference = with_passes(quiet[1], hard + passes[1])
    found = audit(CheckpointRequest(score=name), whole, "m", target, [("r", reference)])
    assert found.risk.auc > 0.8
    assert found.score.words.endswith(IN_PASSES)
    with refuses("needs-passes", option="reference"):
        audit(
            CheckpointRequest(score=name), whole, "m", target, [("r", reference), ("s", quiet[1])]
        )


# ---------------------------------------------------------------- references that know


def test_a_reference_that_was_trained_with_the_kit_is_refused():
    whole = subject()
    target, honest, knows = (leaking(whole, mu, seed) for mu, seed in ((1, 1), (0, 2), (1, 3)))
    audit(CheckpointRequest(), whole, "m", target, [("honest", honest)])
    with refuses("reference-knows", option="reference", value="r"):
        audit(CheckpointRequest(), whole, "m", target, [("honest", honest), ("r", knows)])
    with refuses("same-model", option="reference", value="m"):
        audit(CheckpointRequest(), whole, "m", target, [("m", target)])
    supposed = subject("supposed")
    (said,) = audit(CheckpointRequest(), supposed, "m", target, [("r", knows)]).warnings
    assert said.startswith("r ")
    assert "AUC 0." in said


# ---------------------------------------------------------------- looks


def test_a_later_look_at_a_kit_is_held_to_a_higher_confidence(tmp_path):
    whole = subject(looks=Looks(tmp_path))
    target = leaking(whole, 3)
    first = audit(CheckpointRequest((1.0, 1e-5)), whole, "m", target)
    again = audit(CheckpointRequest((2.0, 1e-5)), whole, "m", target)
    assert (first.looks, again.looks) == (1, 1)
    assert first.bounds == again.bounds
    other = leaking(whole, 3, seed=5)
    for look, sure in ((2, 1 - 0.05 / 4), (3, 1 - 0.05 / 8)):
        asked = CheckpointRequest(guesses=None if look == 2 else 100)
        found = audit(asked, whole, "m", other)
        assert found.looks == look
        for bound in found.bounds:
            assert bound.confidence == sure
        numbers = GuessNumbers.of(N) if look == 2 else GuessNumbers([100])
        alone = numbers.bound(found.scores, whole.put_in, OneRun, 1e-5, sure)
        assert found.bounds[0].epsilon == alone.epsilon
    assert audit(CheckpointRequest(), whole, "m", other).looks == 2
    assert audit(CheckpointRequest(), whole, "m", target).bounds == first.bounds


def test_what_decides_is_part_of_a_look(tmp_path):
    whole = subject(looks=Looks(tmp_path))
    target = leaking(whole, 3)
    assert [
        audit(CheckpointRequest((3.0, 1e-5), curve=curve), whole, "m", target).looks
        for curve in ("", "gaussian", "none", "gaussian")
    ] == [1, 2, 1, 2]


def test_a_score_that_orders_alike_is_no_other_look(tmp_path):
    whole = subject(looks=Looks(tmp_path))
    loss = np.random.default_rng(6).uniform(0.1, 3, N)
    assert audit(CheckpointRequest(), whole, "m", of_losses(loss)).looks == 1
    assert audit(CheckpointRequest(), whole, "m", of_losses(2 * loss)).looks == 1


def test_looks_end_where_no_confidence_is_left(tmp_path):
    looks = Looks(tmp_path)
    for i in range(60):
        looks.take(str(i), "")
    whole = subject(looks=looks)
    with refuses("no-looks-left", value=61):
        audit(CheckpointRequest(), whole, "m", leaking(whole, 3))
    assert looks.upcoming("another") == 61


def test_all_looks_of_no_leak_together_show_one_no_more_often_than_they_state(tmp_path):
    """In 1.5 times 5 % of kits at most; fails by chance with a probability of 1e-5."""
    kits, shown = 40, 0
    for seed in range(kits):
        (tmp_path / str(seed)).mkdir()
        whole = subject(seed=seed, looks=Looks(tmp_path / str(seed)))
        models = (leaking(whole, 0.0, seed=1000 * seed + i) for i in range(3))
        found = [audit(CheckpointRequest(curve="none"), whole, "m", said) for said in models]
        assert [one.looks for one in found] == [1, 2, 3]
        shown += any(one.bounds[0].epsilon > 0 for one in found)
    assert shown <= binom.isf(A, kits, 0.075)


def test_many_equal_scores_are_told():
    whole = subject()
    found = audit(CheckpointRequest(), whole, "m", of_losses(np.ones(N)))
    assert f"{N - 1} of {N}" in found.warnings[0]


def test_the_audit_of_no_leak_shows_one_no_more_often_than_it_states():
    """Fails by chance with a probability of 1e-5."""
    above, audits = 0, 150
    for seed in range(audits):
        whole = subject(seed=seed)
        outputs = leaking(whole, 0.0, seed=10_000 + seed)
        found = audit(CheckpointRequest(curve="none"), whole, "m", outputs)
        above += found.bounds[0].epsilon > 0
    assert above <= binom.isf(A, audits, 0.05)


@pytest.mark.parametrize(
    ("asked", "code", "option", "value"),
    [
        ({"claimed": (-1.0, 1e-5)}, "not-positive", None, -1.0),
        ({"claimed": (1.0, 1.0)}, "out-of-range", "delta", 1.0),
        ({"confidence": 95}, "out-of-range", "confidence", 95),
        ({"guesses": 0}, "too-small", "guesses", 0),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(asked, code, option, value):
    with refuses(code, option=option, value=value):
        CheckpointRequest(**asked)


def test_a_curve_that_nobody_knows_is_refused():
    with pytest.raises(BadInput, match="'bell'"):
        CheckpointRequest(curve="bell")


def test_all_canaries_count_whether_guessed_or_not():
    assert [bound.guesses.canaries for bound in judged(2).bounds] == [N, N]
