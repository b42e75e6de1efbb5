"""The trained parameters: how far they have gone along the canary's gradient."""

from __future__ import annotations

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import released

moved = released("moved")
"""<theta_0 - theta_T, g*>: descent goes against the gradient."""


class Weights(ThresholdAttack):
    """Says that the canary was in if the parameters have gone far against its gradient.

    For an adversary that has the trained parameters and knows where they started.

    Nasr et al., Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning
    (2021).
    """

    def __init__(self) -> None:
        super().__init__(moved)
