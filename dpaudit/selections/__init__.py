"""Selection strategies: how a rule is fixed so that what is printed of it stays a bound."""

from dpaudit.selections.bonferroni import Bonferroni
from dpaudit.selections.dkw import DKW
from dpaudit.selections.fixed import Fixed, Maker, Selection, criterion
from dpaudit.selections.guess_numbers import GuessNumbers
from dpaudit.selections.hold_out import HoldOut, chooses
from dpaudit.selections.in_sample import Description, InSample
from dpaudit.selections.multi_split import MultiSplit
from dpaudit.selections.promised import known_curve, promises, refuse_other_curve
from dpaudit.selections.reversed_k_fold import ReversedKFold

__all__ = [
    "DKW",
    "Bonferroni",
    "Description",
    "Fixed",
    "GuessNumbers",
    "HoldOut",
    "InSample",
    "Maker",
    "MultiSplit",
    "ReversedKFold",
    "Selection",
    "chooses",
    "criterion",
    "known_curve",
    "promises",
    "refuse_other_curve",
]
