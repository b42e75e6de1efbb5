"""Single steps of two trainings, each of which is a trial of its own."""

from __future__ import annotations

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import released

step = released("step")
"""<u_t, g*> without what the records had put in, in units of C: noise, and the canary."""


class Steps(ThresholdAttack):
    """Says that the canary was in a step if its noisy update points along its gradient.

    For an adversary that puts its gradient into every step of one training and into none of
    another: each step is a Gaussian mechanism of its own, so that two trainings are thousands of
    trials. What they show of one step is composed by the accountant.

    Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023).
    """

    def __init__(self) -> None:
        super().__init__(step)
