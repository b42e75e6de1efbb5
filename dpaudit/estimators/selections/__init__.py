"""Selection strategies: how a rule is fixed so that what is printed of it stays a bound."""

from dpaudit.estimators.selections.guess_numbers import GuessNumbers
from dpaudit.estimators.selections.hold_out import (
    Description,
    Fixed,
    HoldOut,
    InSample,
    Maker,
    chooses,
    criterion,
)
from dpaudit.estimators.selections.promised import known_curve, promises, refuse_other_curve

__all__ = [
    "Description",
    "Fixed",
    "GuessNumbers",
    "HoldOut",
    "InSample",
    "Maker",
    "chooses",
    "criterion",
    "known_curve",
    "promises",
    "refuse_other_curve",
]
