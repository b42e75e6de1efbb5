"""What a reader of a verdict can do next."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.estimators.power import LIMITED, models_needed
from dpaudit.judging.facts import Settled
from dpaudit.results import Bound
from dpaudit.types import Claim

BREAKS = (
    "Look for what breaks the claim: per-sample clipping, the noise's scale, the sampling "
    "that the accountant assumes, the number of steps."
)

GRADIENT_BREAKS = (
    "Look for what breaks the claim: the noise's scale, the sampling that the accountant assumes, "
    "the number of steps. A gradient that is put in passes by the clipping of records."
)

STEP_BREAKS = (
    "Look for what breaks the claim in a step: the noise's scale, or noise that is used again. A "
    "gradient that is put in passes by the clipping of records; the sampling and the number of "
    "steps were taken as claimed."
)

RAW_BREAKS = (
    "See what rounded scores show (dpaudit report RUN --no-raw-scores): what only raw ones do is "
    "leaked by floating-point noise. Round what is released, or draw the noise on a grid."
)

OTHER_CANARY = (
    "Take a canary that changes what is released: another --canary, another --seed, or a record of "
    "your own (dpaudit.testing.assert_private in Python)."
)


def next_steps(
    settled: Settled,
    bound: Bound,
    reach: float,
    attacks: Collection[str] | None,
    others: Sequence[str] = (),
    breaks: str = "",
    goes_on: bool = False,
    untested: bool = False,
) -> list[str]:
    """What a reader can do now; `attacks` are those that had a part in the judgement.

    None where no other may judge the same models; `others` are those that could. What `breaks` a
    claim is said here, by the mechanism, or else it is that of DP-SGD, where the canary is a record
    or, if not, a gradient, which nothing clips. Of a run that `goes_on` more models are told
    elsewhere. A canary that changed nothing left the claim `untested`.
    """
    steps, claim, attacker = [], settled.claim, settled.attacker
    null = settled.canary.name == "none"
    refuted = bound.epsilon > claim.epsilon
    if refuted or not claim.guarantees:
        of_training = GRADIENT_BREAKS if settled.canary.label is None else BREAKS
        steps.append(breaks or settled.breaks or (STEP_BREAKS if claim.by_step else of_training))
    elif untested:
        return [OTHER_CANARY]
    else:
        if null:
            steps.append("Nothing was planted here: plant a canary (--canary) to test the claim.")
        elif not goes_on:
            steps.append(_short(claim, bound, reach) if reach < claim.epsilon else _more(claim))
        stronger = ADVERSARIES[attacker].stronger if attacker in ADVERSARIES else ()
        if stronger:
            named = " or ".join(stronger)
            steps.append(f"An adversary who may do or see more shows more: --adversary {named}.")
    if claim.by_step:
        return steps
    # A run that stops once decided makes nothing of selection, which a null would show.
    if not null and not (refuted and attacks is None):
        steps.append("See what is found where nothing is planted: the same line, --canary none.")
    if attacks and (again := _again(attacks, others)):
        steps.append(
            f"Judge again without training: dpaudit report RUN --attack {again}. Another attack "
            "that decides is another look, held to a higher confidence."
        )
    return steps


def _more(claim: Claim) -> str:
    """Where nothing was refuted that could have been."""
    if claim.by_step:
        return (
            "Score more steps (--steps) before you rely on it; with another --seed, else the noise "
            "is the same again."
        )
    return (
        "Try another canary or more models (--canary, --models) before you rely on it; with "
        "another --seed, else the models are the same ones again."
    )


def _short(claim: Claim, bound: Bound, reach: float) -> str:
    """Where nothing could have been refuted."""
    if claim.by_step:
        return (
            f"These steps could not have decided above {reach:.2f}; a ceiling above "
            f"{claim.epsilon:.2f} takes more (--steps)."
        )
    takes = "more (--models)"
    if bound.estimator in LIMITED and reach == bound.ceiling:
        needed = models_needed(claim, bound)
        takes = "more than can be trained"
        if needed is not None:
            takes = f"about {about(needed):,} (--models)"
    return (
        f"These models could not have decided above {reach:.2f}; a ceiling above "
        f"{claim.epsilon:.2f} takes {takes}. dpaudit plan tells what others would take."
    )


def _again(attacks: Collection[str], others: Sequence[str]) -> str:
    """An attack that has not judged yet, as the command line names it; empty: there is none."""
    if "mean+std" in attacks:
        return "'mean & inv_std'"
    return next((name for name in others if name not in attacks), "")


def after_one_run(claim: Claim, bound: Bound) -> list[str]:
    """The same of one training with many canaries, whose guesses may be judged in one way only."""
    many = (
        "Train many models with one canary (leave --canaries out): that shows more, and takes "
        "longer."
    )
    if bound.epsilon > claim.epsilon:
        return [GRADIENT_BREAKS]
    if bound.ceiling < claim.epsilon:
        return [
            f"So many guesses could not have decided above {bound.ceiling:.2f}, the claim is "
            f"{claim.epsilon:.2f}: more canaries may (--canaries), or more guesses on them "
            "(--guesses). dpaudit plan --canaries tells how many.",
            many,
        ]
    return [
        "Try more canaries before you rely on it (--canaries); with another --seed, else the coins "
        "and the noise are the same ones again.",
        many,
    ]


def after_checkpoint(
    claim: Claim, bounds: Sequence[Bound], canaries: int, needed: int | None
) -> list[str]:
    """The same of a user's own model, whose canaries were put in by its own trainer.

    `needed` are the canaries that could decide on the claim; None: no number of them could.
    """
    if not claim.guarantees:
        return ["State what the training claims (--claim EPS,DELTA) to have it judged."]
    if not bounds:
        return ["Train with a kit (dpaudit canaries make): its coins are fair."]
    decisive = bounds[0]
    if decisive.epsilon > claim.epsilon:
        return [BREAKS]
    if decisive.ceiling < claim.epsilon:
        reached = (
            f"{canaries:,} canaries could not have decided above {decisive.ceiling:.2f}, the claim "
            f"is {claim.epsilon:.2f}: "
        )
        if needed is None:
            reached += (
                "no kit is large enough for that without a curve. If the training claims one, "
                "state it beforehand (--curve gaussian, or dpsgd:RATE,STEPS)."
            )
        else:
            reached += (
                f"train with a kit of {needed:,} at least (dpaudit canaries make --count), and see "
                "dpaudit plan --canaries for what it would typically show."
            )
        return [
            reached,
            "Or train many models with one canary (dpaudit run --mechanism MODULE:FUNCTION), which "
            "shows more.",
        ]
    return [
        "Before you rely on it, train again with a kit of another kind or of more canaries "
        "(dpaudit canaries make), and settle beforehand on the score that suits it (--score)."
    ]


def about(number: int) -> int:
    """A number to two digits, rounded up."""
    tens: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // tens) * tens
