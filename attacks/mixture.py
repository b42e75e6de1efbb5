"""Released parameters of a mixture: as likely in one world as in the other."""

from __future__ import annotations

from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import released


class Mixture(FixedAttack):
    """Says that the canary was in if the released parameters are likelier with it.

    For DP-EM, and whoever knows all records but does not know which of two was there: the
    log-likelihood ratio of all that every iteration released, the best score there is (Neyman and
    Pearson 1933). Nothing is chosen: all trials judge.
    """

    def __init__(self) -> None:
        super().__init__("mixture", released("log_ratio"))
