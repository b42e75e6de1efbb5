"""Attacks written as text: `mean & inv_std`, `min | max`, `loss`."""

from __future__ import annotations

import re
from functools import reduce
from operator import and_, or_

from dpaudit.attacks.loss import minus_loss
from dpaudit.attacks.mc_dropout import inv_std, max_, mean, min_
from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Operand, Statistic
from dpaudit.errors import BadInput

KNOWN = {
    "loss": minus_loss,
    "-loss": minus_loss,
    "mean": mean,
    "inv_std": inv_std,
    "min": min_,
    "max": max_,
}


def parse(text: str) -> ThresholdAttack:
    """The attack that an expression describes; `&` joins by ALL, `|` by ANY, never both."""
    if "&" in text and "|" in text:
        raise BadInput(
            f"{text!r} mixes & and |; join the statistics all by & or all by |",
            "mixed-operators",
            option="attack",
            value=text,
        )
    words: list[Operand] = [_named(word.strip(), text) for word in re.split("[&|]", text)]
    return ThresholdAttack(reduce(or_ if "|" in text else and_, words))


def _named(word: str, text: str) -> Statistic:
    if word not in KNOWN:
        raise BadInput(
            f"unknown statistic {word!r} in {text!r}; known are {', '.join(KNOWN)}",
            "unknown-name",
            option="attack",
            value=word,
        )
    return KNOWN[word]
