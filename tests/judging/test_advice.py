"""What a reader is told to do next, by verdict and by who attacks."""

import pytest
from playground import run_facts

from dpaudit.judging.advice import GRADIENT_BREAKS, STEP_BREAKS, after_one_run, next_steps
from dpaudit.judging.facts import CanaryFacts
from dpaudit.results import NOTHING_TO_CHOOSE, Bound, Expectation
from dpaudit.types import Claim, StepsCurve

CLAIM = Claim(1.0, 1e-5)
GRADIENT = CanaryFacts("gradient", "by hand")
STEPS = Claim(1.0, 1e-5, curve=StepsCurve(0.05, 40, 1.0))


def advice(
    claim=CLAIM, epsilon=0.5, reach=2.0, attacks=("loss",), attacker="", record=True, **more
):
    known = run_facts(claim, attacker=attacker, **({} if record else {"canary": GRADIENT}))
    return " ".join(next_steps(known, bound_of(epsilon), reach, attacks, **more))


def bound_of(epsilon):
    return Bound(epsilon, 1e-5, 0.95, "rank-test", "gaussian", NOTHING_TO_CHOOSE, ceiling=2.0)


@pytest.mark.parametrize("attacker", ["observer", "worst-case", "final-weights"])
def test_who_would_show_more_is_named_where_nothing_was_refuted(attacker):
    for reach in (2.0, 0.7):
        assert "dpaudit ladder, or --adversary white-box." in advice(attacker=attacker, reach=reach)
    assert "ladder" not in advice(attacker=attacker, epsilon=1.5)


EXPECTED = Expectation("white-box", 1000, 0.8123)


def test_the_first_two_steps_are_one_short_sentence_each():
    for attacker in ("observer", "white-box", ""):
        for claim, reach in ((CLAIM, 2.0), (CLAIM, 0.7), (STEPS, 2.0), (STEPS, 0.7)):
            for expected in (None, EXPECTED):
                known = run_facts(claim, attacker=attacker)
                steps = next_steps(known, bound_of(0.5), reach, ("loss",), expected)
                assert all(len(step) <= 150 for step in steps[:2])


def test_what_the_strongest_would_typically_certify_stands_first_unless_models_are_too_few():
    known = run_facts(CLAIM, attacker="observer")
    first, *_ = next_steps(known, bound_of(0.5), 2.0, ("loss",), EXPECTED)
    assert first.startswith("Try stronger attackers: dpaudit ladder. With 1,000 models")
    assert first.endswith("0.81 of 1.")
    first, *_ = next_steps(known, bound_of(0.5), 0.7, ("loss",), EXPECTED)
    assert "cannot certify more than 0.7 of 1" in first


@pytest.mark.parametrize("attacker", ["white-box", "per-step", ""])
def test_nobody_is_named_where_nobody_sees_more(attacker):
    assert "--adversary" not in advice(attacker=attacker)
    assert "ladder" not in advice(attacker=attacker)


def test_what_goes_on_is_not_told_to_be_begun_again():
    for reach in (2.0, 0.7):
        assert "--models" in advice(reach=reach, attacks=None)
        assert "--models" not in advice(reach=reach, attacks=None, goes_on=True)


def test_what_selection_alone_would_show_is_told_where_something_was_selected():
    assert "--canary none" in advice(epsilon=1.5)
    assert "--canary none" in advice(attacks=None)
    assert "--canary none" not in advice(epsilon=1.5, attacks=None)


def test_single_steps_are_not_told_of_models_or_of_what_they_cannot_have():
    for epsilon, reach in ((0.5, 2.0), (0.5, 0.7), (1.5, 2.0)):
        said = advice(STEPS, epsilon, reach, ("steps",), attacker="per-step", others=["steps"])
        assert "models" not in said
        assert "--canary" not in said
        assert "--attack" not in said
    assert "(--steps)" in advice(STEPS)
    assert STEP_BREAKS in advice(STEPS, epsilon=1.5)


def test_nobody_is_sent_to_look_at_clipping_by_a_gradient_that_was_put_in():
    """It is added to the sum as it is, so that clipping cannot have broken what it shows."""
    clipping = "per-sample clipping"
    assert clipping in advice(epsilon=1.5)
    (one_run,) = after_one_run(CLAIM, bound_of(1.5))
    for said in (advice(epsilon=1.5, record=False), advice(STEPS, epsilon=1.5), one_run):
        assert clipping not in said
        assert "noise" in said
        assert STEP_BREAKS in said or GRADIENT_BREAKS in said


def test_another_attack_is_named_only_where_one_fits():
    assert "--attack learned." in advice(others=["learned", "loss"])
    assert "--attack 'mean & inv_std'." in advice(attacks=("loss", "mean+std"))
    assert "--attack" not in advice(attacks=("updates",), others=["updates"])
    assert "--attack" not in advice(attacks=None, others=["learned"])
