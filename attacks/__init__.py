"""Attacks: observations to scores and a decision rule. Installed as `dpaudit.attacks`.

Read `statistics.py` for what is looked at, `search.py` for how thresholds are chosen and
`rules.py` for what comes out, `discriminant.py` for learned scores; each other file is one attack
or one family of them.
"""

if __name__ != "dpaudit.attacks":
    raise ImportError("import dpaudit.attacks, not attacks")

from dpaudit.attacks.classifier import (
    AllFour,
    InvStd,
    Loss,
    Max,
    Mean,
    MeanStd,
    Min,
    MinMax,
    inv_std,
    max_,
    mean,
    min_,
    minus_loss,
    parse,
)
from dpaudit.attacks.learned import Learned, Released
from dpaudit.attacks.rules import FixedAttack, ThresholdAttack, ThresholdRule
from dpaudit.attacks.statistics import Statistic
from dpaudit.attacks.white_box import Steps, Updates, Weights

__all__ = [
    "AllFour",
    "FixedAttack",
    "InvStd",
    "Learned",
    "Loss",
    "Max",
    "Mean",
    "MeanStd",
    "Min",
    "MinMax",
    "Released",
    "Statistic",
    "Steps",
    "ThresholdAttack",
    "ThresholdRule",
    "Updates",
    "Weights",
    "inv_std",
    "max_",
    "mean",
    "min_",
    "minus_loss",
    "parse",
]
