"""Attacks: observations to scores and a decision rule. Installed as `dpaudit.attacks`.

Read `statistics.py` for what is looked at, `search.py` for how thresholds are chosen and
`rules.py` for what comes out, `discriminant.py` for learned scores; each other file is one attack
or one family of them.
"""

if __name__ != "dpaudit.attacks":
    raise ImportError("import dpaudit.attacks, not attacks")

from dpaudit.attacks.expressions import parse
from dpaudit.attacks.generated import Elbo, Nearest, Reconstruction, Subspace
from dpaudit.attacks.laplace import Laplace
from dpaudit.attacks.learned import Learned
from dpaudit.attacks.learner import Learner
from dpaudit.attacks.loss import Loss, minus_loss
from dpaudit.attacks.mc_dropout import InvStd, Max, Mean, Min, inv_std, max_, mean, min_
from dpaudit.attacks.mixture import Mixture
from dpaudit.attacks.released import Released
from dpaudit.attacks.report import Report
from dpaudit.attacks.rules import FixedAttack, ThresholdAttack, ThresholdRule
from dpaudit.attacks.second_moment import SecondMoment
from dpaudit.attacks.sets import AllFour, MeanStd, MinMax
from dpaudit.attacks.statistics import Statistic
from dpaudit.attacks.steps import Steps
from dpaudit.attacks.updates import Updates
from dpaudit.attacks.weights import Weights

__all__ = [
    "AllFour",
    "Elbo",
    "FixedAttack",
    "InvStd",
    "Laplace",
    "Learned",
    "Learner",
    "Loss",
    "Max",
    "Mean",
    "MeanStd",
    "Min",
    "MinMax",
    "Mixture",
    "Nearest",
    "Reconstruction",
    "Released",
    "Report",
    "SecondMoment",
    "Statistic",
    "Steps",
    "Subspace",
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
