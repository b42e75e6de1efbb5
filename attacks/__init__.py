"""Attacks: observations to scores and a decision rule. Installed as `dpaudit.attacks`.

`statistics` are the numbers that attacks look at, `search` chooses thresholds and `rules` holds
the result; `classifier`, `learned` and `white_box` have the built-in attacks.
"""

if __name__ != "dpaudit.attacks":
    raise ImportError("import dpaudit.attacks, not attacks")

from dpaudit.attacks.classifier import Loss, MeanStd
from dpaudit.attacks.learned import Learned, Released
from dpaudit.attacks.rules import ThresholdAttack, ThresholdRule
from dpaudit.attacks.statistics import Statistic

__all__ = [
    "Learned",
    "Loss",
    "MeanStd",
    "Released",
    "Statistic",
    "ThresholdAttack",
    "ThresholdRule",
]
