"""Next steps for the reader of a verdict."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.estimators.power.prospect import LIMITED, models_needed
from dpaudit.judging.facts import RunFacts
from dpaudit.results import Bound
from dpaudit.types import Claim

LOOK = "Look for the cause"
UNCLIPPED = "A gradient canary is not clipped as records are"

BREAKS = (
    f"{LOOK}: per-sample clipping, the noise's scale, the sampling that the accountant assumes, "
    "the number of steps."
)
GRADIENT_BREAKS = (
    f"{LOOK}: the noise's scale, the sampling that the accountant assumes, the number of steps. "
    f"{UNCLIPPED}."
)
STEP_BREAKS = (
    f"{LOOK} in a step: the noise's scale, or noise that is used again. {UNCLIPPED}; the sampling "
    "and the number of steps were taken as claimed."
)
RAW_BREAKS = (
    "Judge rounded scores (dpaudit report RUN --no-raw-scores): a leak that only raw scores show "
    "comes from floating-point noise. Round the release, or draw the noise on a grid."
)
OTHER_CANARY = (
    "Take a canary that changes the release: another --canary, another --seed, or a record of "
    "your own (dpaudit.testing.assert_private in Python)."
)
MANY_MODELS = (
    "Train many models with one canary (leave --canaries out): that shows more, and takes longer."
)


def next_steps(
    facts: RunFacts,
    bound: Bound,
    reach: float,
    attacks: Collection[str] | None,
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
        if null:
            steps.append("Nothing was planted here: plant a canary (--canary) to test the claim.")
        elif not goes_on:
            steps.append(_more(claim, bound, reach))
        adversary = ADVERSARIES.get(facts.attacker)
        if adversary and adversary.stronger:
            named = " or ".join(adversary.stronger)
            steps.append(f"An adversary who may do or see more shows more: --adversary {named}.")
    if claim.by_step:
        return steps
    # A run until decided has no selection, whose effect a null would show.
    if not null and not (refuted and attacks is None):
        steps.append("Run the null check: the same command with --canary none.")
    another = next((name for name in others if name not in (attacks or ())), "")
    if attacks and "mean+std" in attacks:
        another = "'mean & inv_std'"
    if attacks and another:
        steps.append(
            f"Judge again without training: dpaudit report RUN --attack {another}. Another attack "
            "that decides is another look, held to a higher confidence."
        )
    return steps


def _more(claim: Claim, bound: Bound, reach: float) -> str:
    """Advise on more models, or steps; `reach` may be too low to refute the claim."""
    short = reach < claim.epsilon
    above = f"could not have decided above {reach:.2f}; a ceiling above {claim.epsilon:.2f} takes"
    if claim.by_step and short:
        return f"These steps {above} more (--steps)."
    if claim.by_step:
        return (
            "Score more steps (--steps) before you rely on it; with another --seed, "
            "because the same seed repeats the noise."
        )
    if not short:
        return (
            "Try another canary or more models (--canary, --models) before you rely on it; with "
            "another --seed, because the same seed repeats the models."
        )
    takes = "more (--models)"
    if bound.estimator in LIMITED and reach == bound.ceiling:
        needed = models_needed(claim, bound)
        takes = "more than can be trained"
        if needed is not None:
            takes = f"about {round_up(needed):,} (--models)"
    return f"These models {above} {takes}. See dpaudit plan."


def after_one_run(claim: Claim, bound: Bound) -> list[str]:
    """Return the next steps after one training with many canaries."""
    if bound.epsilon > claim.epsilon:
        return [GRADIENT_BREAKS]
    if bound.ceiling < claim.epsilon:
        more = (
            f"This number of guesses could not have decided above {bound.ceiling:.2f}, the claim "
            f"is {claim.epsilon:.2f}: more canaries may (--canaries), or more guesses on them "
            "(--guesses). dpaudit plan --canaries says how many."
        )
    else:
        more = (
            "Try more canaries before you rely on it (--canaries); with another --seed, "
            "because the same seed repeats the coins and the noise."
        )
    return [more, MANY_MODELS]


def after_checkpoint(
    claim: Claim, bounds: Sequence[Bound], canaries: int, needed: int | None
) -> list[str]:
    """Return the next steps after the audit of a model that the user's own trainer made.

    `needed` is the number of canaries that could decide on the claim; None if no number could.
    """
    if not claim.guarantees:
        return ["State what the training claims (--claim EPS,DELTA) to have it judged."]
    if not bounds:
        return ["Train with a kit (dpaudit canaries make): its coins are fair."]
    decisive = bounds[0]
    if decisive.epsilon > claim.epsilon:
        return [BREAKS]
    if decisive.ceiling < claim.epsilon:
        remedy = (
            "no kit is large enough for that without a curve. If the training claims one, state it "
            "beforehand (--curve gaussian, or dpsgd:RATE,STEPS)."
        )
        if needed is not None:
            remedy = (
                f"train with a kit of {needed:,} at least (dpaudit canaries make --count), and see "
                "dpaudit plan --canaries for what it would typically show."
            )
        return [
            f"{canaries:,} canaries could not have decided above {decisive.ceiling:.2f}, the claim "
            f"is {claim.epsilon:.2f}: {remedy}",
            "Or train many models with one canary (dpaudit run --mechanism MODULE:FUNCTION), which "
            "shows more.",
        ]
    return [
        "Before you rely on it, train again with a kit of another kind or of more canaries "
        "(dpaudit canaries make), and choose the score beforehand (--score)."
    ]


def round_up(number: int) -> int:
    """Round a number up to two digits."""
    tens: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // tens) * tens
