"""What a report says where trials are single steps of a training, and the claim is about all."""

from __future__ import annotations

from dpaudit.types import Claim

GAME = (
    "Two trainings were watched step by step: at every step of one a gradient was planted, the "
    "canary, and at none of the other. Attacks then guess from a step whether it had the canary: "
    "the better they guess, the less noise there is in a step, and the more a training gives away "
    "about one record. Epsilon measures this leak: 0 is none, more is worse."
)

ASSUMES = "assumes that steps like those scored make up a training as claimed"

STANDS_ON = "if the sampling rate, the number of steps and their composition are as claimed"

ALONE = (
    "Nothing stands beside it that assumes nothing: such a bound would be on the leak of a single "
    "step, which says little or nothing of the training's."
)

ALLOWED = (
    "Each curve is one attack; each of its points is one place to cut its scores. They are of "
    "single steps, of which epsilon and delta say nothing. The curves are measured, not proved."
)


def unit(claim: Claim) -> str:
    """What a trial is."""
    return "steps" if claim.by_step else claim.trials
