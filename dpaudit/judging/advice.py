"""Next steps for the reader of a verdict: one short sentence each, the most useful ones first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.estimators.power.prospect import LIMITED, models_needed
from dpaudit.judging.facts import RunFacts
from dpaudit.results import Bound, Expectation
from dpaudit.types import Claim

LOOK = "Look for the cause"

BREAKS = (
    f"{LOOK}: per-sample clipping, the noise's scale, the sampling that the accountant assumes, "
    "the number of steps."
)
GRADIENT_BREAKS = (
    f"{LOOK}: the noise's scale, the sampling that the accountant assumes, the number of steps; "
    "not clipping."
)
STEP_BREAKS = f"{LOOK} in a step: the noise's scale, or noise that is used again; not clipping."
RAW_BREAKS = (
    "Judge rounded scores (dpaudit report RUN --no-raw-scores): a leak that only raw scores show "
    "comes from floating-point noise. Round the release, or draw the noise on a grid."
)
OTHER_CANARY = (
    "Take a canary that changes the release: another --canary, another --seed, or a record of "
    "your own (dpaudit.testing.assert_private in Python)."
)
PLANT = "Nothing was planted here: plant a canary (--canary) to test the claim."
NULL = "Run the null check: the same command with --canary none."


def next_steps(
    facts: RunFacts,
    bound: Bound,
    reach: float,
    attacks: Collection[str] | None,
    expected: Expectation | None = None,
    others: Sequence[str] = (),
    breaks: str = "",
    goes_on: bool = False,
    untested: bool = False,
) -> list[str]:
    """Return the next steps after a run; `attacks` took part, and `others` could.

    `attacks` is None if no other may judge the same models. `breaks` replaces the mechanism's text
    on what breaks the claim. Of a run that `goes_on`, more models are advised elsewhere.
    """
    steps, claim = [], facts.claim
    null = facts.canary.name == "none"
    refuted = bound.epsilon > claim.epsilon
    if refuted or not claim.guarantees:
        of_training = GRADIENT_BREAKS if facts.canary.label is None else BREAKS
        steps.append(breaks or facts.breaks or (STEP_BREAKS if claim.by_step else of_training))
    elif untested:
        return [OTHER_CANARY]
    else:
        adversary = ADVERSARIES.get(facts.attacker)
        stronger = adversary.stronger if adversary else ()
        if stronger:
            steps.append(_stronger(claim, stronger[-1], expected))
        if null:
            steps.insert(0, PLANT)
        elif not goes_on:
            more = _more(claim, bound, reach, None if stronger else expected)
            # Models that cannot decide are the first thing to change.
            steps.insert(0 if reach < claim.epsilon else len(steps), more)
    if claim.by_step:
        return steps
    # A run until decided has no selection, whose effect a null would show.
    if not null and not (refuted and attacks is None):
        steps.append(NULL)
    another = next((name for name in others if name not in (attacks or ())), "")
    if attacks and "mean+std" in attacks:
        another = "'mean & inv_std'"
    if attacks and another:
        steps.append(
            f"Judge again without training: dpaudit report RUN --attack {another}. Another attack "
            "that decides is another look, held to a higher confidence."
        )
    return steps


def _stronger(claim: Claim, adversary: str, expected: Expectation | None) -> str:
    """Advise on stronger adversaries, with what the strongest would typically certify."""
    if expected is None:
        return f"Try stronger attackers: dpaudit ladder, or --adversary {adversary}."
    return (
        f"Try stronger attackers: dpaudit ladder. With {expected.models:,} models the best attack "
        f"would typically certify {_of(expected, claim)}."
    )


def _more(claim: Claim, bound: Bound, reach: float, expected: Expectation | None) -> str:
    """Advise on more models, or steps; `reach` may be too low to refute the claim."""
    limit = f"these cannot certify more than {reach:.2g} of {claim.epsilon:.3g}"
    short, trials = reach < claim.epsilon, claim.trials
    if claim.by_step and short:
        return f"Score more steps (--steps): {limit}."
    if claim.by_step:
        return "Score more steps (--steps), with another --seed, before you rely on this."
    if not short and expected:
        return (
            f"Try another canary (--canary). A leak of the whole claim, with {expected.models:,} "
            f"{trials} (--models), would typically certify {_of(expected, claim)}."
        )
    if not short:
        return "Try another canary or more models (--canary, --models), with another --seed."
    if bound.estimator not in LIMITED or reach != bound.ceiling:
        return f"Train more models (--models), as many as dpaudit plan says: {limit}."
    needed = models_needed(claim, bound)
    if needed is None:
        sure = f"No number of {trials} certifies {claim.epsilon:.3g} without a curve"
        return f"{sure}: state the claim's, if it has one."
    return f"Train about {round_up(needed):,} models (--models): {limit}."


def _of(expected: Expectation, claim: Claim) -> str:
    return f"{expected.typical:.2g} of {claim.epsilon:.3g}"


def after_one_run(claim: Claim, bound: Bound, expected: Expectation | None = None) -> list[str]:
    """Return the next steps after one training with many canaries."""
    if bound.epsilon > claim.epsilon:
        return [GRADIENT_BREAKS]
    more = "Try more canaries (--canaries), with another --seed, before you rely on this."
    if bound.ceiling < claim.epsilon:
        more = (
            "Put in more canaries (--canaries), as many as dpaudit plan --canaries says: these "
            f"cannot certify more than {bound.ceiling:.2g} of {claim.epsilon:.3g}."
        )
    many = "Train many models with one canary (leave --canaries out): that shows more."
    if expected is not None:
        many = (
            f"Train {expected.models:,} models with one canary (--models, no --canaries): they "
            f"would typically certify {_of(expected, claim)}."
        )
    return [many, more]


def after_checkpoint(
    claim: Claim, bounds: Sequence[Bound], canaries: int, needed: int | None, fair: bool
) -> list[str]:
    """Return the next steps after the audit of a model that the user's own trainer made.

    It is `fair` if coins are known to have chosen the records. `needed` is the number of canaries
    that could decide on the claim; None if no number could.
    """
    if not claim.guarantees:
        return ["State what the training claims (--claim EPS[,DELTA]) to have it judged."]
    if not bounds or not fair:
        return ["Train with a kit (dpaudit canaries make): its coins are fair."]
    decisive = bounds[0]
    if decisive.epsilon > claim.epsilon:
        return [BREAKS]
    many = "Or train many models with one canary (dpaudit run --mechanism MODULE:FUNCTION)."
    if decisive.ceiling >= claim.epsilon:
        return ["Train again with a kit of more canaries, or of another kind.", many]
    limit = f"{canaries:,} cannot certify more than {decisive.ceiling:.2g} of {claim.epsilon:.3g}"
    if needed is None:
        return [f"State the claim's curve beforehand, if it has one (--curve): {limit}.", many]
    return [f"Train with a kit of {needed:,} canaries or more (--count): {limit}.", many]


def round_up(number: int) -> int:
    """Round a number up to two digits."""
    tens: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // tens) * tens
