"""Attacks on a classifier's outputs by thresholds: the loss, and statistics of MC dropout.

The adversary sees T probabilities of the canary's true class, or their mean and deviation alone
(`dpaudit.outputs`). A model that was trained on the canary gives it a higher probability (mean,
min, max) and is surer of it (1/std): Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy
Risk of Differentially Private Bayesian Neural Network. Groups of statistics are searched with
type 1 (ALL) and type 2 (ANY), as in its Fig. 5. The more statistics and kinds a search may choose
from, the more it finds where there is nothing to find: the in-sample estimate of such an attack
means something only beside its permutation null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, reduce
from operator import and_, or_

import numpy as np
from scipy.special import log_softmax

from dpaudit.attacks.rules import StatisticsAttack, ThresholdAttack
from dpaudit.attacks.statistics import Operand, Statistic, true_class
from dpaudit.errors import BadInput
from dpaudit.types import Array, Known, Observations

SAMPLES = frozenset({"mc"})


def _log_probability(seen: Observations, known: Known) -> Array:
    """ln p(y' | x') from logits (trials, classes), the negative cross-entropy."""
    logits = np.asarray(seen["logits"], dtype=np.float64)
    return np.asarray(log_softmax(logits, axis=-1)[:, true_class(known, logits.shape[-1])])


minus_loss = Statistic("-loss", frozenset({"logits"}), _log_probability)
"""The canary's negative loss; the paper's 'loss < tau' is '-loss > -tau' here."""


class Loss(StatisticsAttack):
    """Guess D' if the loss on the canary is below a threshold.

    A model fits its training records, so a small loss on the canary is evidence for D'. The
    adversary sees one forward pass without dropout. This is the weakest attack and the baseline of
    all others.

    Yeom et al., Privacy Risk in Machine Learning (2018); Algorithm 1 of Shibahara, Miura, Kii and
    Ichikawa, Privacy Risk of Differentially Private Bayesian Neural Network.
    """

    form = minus_loss


def _of_class(name: str, seen: Observations, known: Known) -> Array:
    """The released array of the canary's true class, in double precision."""
    array = np.asarray(seen[name])
    return array[..., true_class(known, array.shape[-1])].astype(np.float64)


def _inverse_deviation(seen: Observations, known: Known) -> Array:
    """1/std, and +inf where std = 0: always at T = 1, often after quantisation."""
    std = _of_class("std", seen, known)
    return np.divide(1.0, std, out=np.full_like(std, np.inf), where=std != 0)


def _reduced(reduce: Callable[..., Array], seen: Observations, known: Known) -> Array:
    return reduce(_of_class("mc", seen, known), axis=1)


mean = Statistic("mean", frozenset({"mean"}), partial(_of_class, "mean"))
inv_std = Statistic("inv_std", frozenset({"std"}), _inverse_deviation)
min_ = Statistic("min", SAMPLES, partial(_reduced, np.min))
max_ = Statistic("max", SAMPLES, partial(_reduced, np.max))


class Mean(StatisticsAttack):
    """Guess D' if the mean MC-dropout probability of the canary's class is high.

    The mean over T forward passes is the prediction that a Bayesian network releases. It averages
    the dropout noise away, so it shows a little more than one deterministic pass.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    form = mean


class InvStd(StatisticsAttack):
    """Guess D' if MC dropout is sure of the canary: 1/std is high.

    The standard deviation over T forward passes is the uncertainty that a Bayesian network
    releases; it should be smaller for a training record. With one pass (T = 1) every trial has
    1/std = infinity, and the attack shows nothing.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    form = inv_std


class Min(StatisticsAttack):
    """Guess D' if the lowest MC-dropout probability of the canary's class is high.

    Needs all T samples, not only their mean and deviation.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    form = min_


class Max(StatisticsAttack):
    """Guess D' if the highest MC-dropout probability of the canary's class is high.

    Needs all T samples, not only their mean and deviation.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    form = max_


class MeanStd(StatisticsAttack):
    """Mean and 1/std of the MC-dropout probabilities, joined by ALL or by ANY.

    A Bayesian network usually releases these: the prediction and its uncertainty. Type 1 guesses D'
    if both are above their thresholds, type 2 if one of them is. An exact search chooses the type
    and the thresholds together.

    'Mean std' of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    form = (mean, inv_std)


class MinMax(StatisticsAttack):
    """Lowest and highest MC-dropout probability, joined by ALL or by ANY.

    For an adversary who sees all T samples. Type 1 guesses D' if both are above their thresholds,
    type 2 if one of them is. An exact search chooses the type and the thresholds together.

    'Min max' of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian
    Neural Network.
    """

    form = (min_, max_)


class AllFour(StatisticsAttack):
    """Mean, 1/std, min and max of the MC-dropout probabilities, joined by ALL or by ANY.

    The strongest attack of the paper. Four thresholds are too many to try all rules (100 trials
    give 100 million), so the best pairs are found exactly and improved one threshold at a time. The
    result is never worse than the best pair, but not always the best rule.

    'Min max mean std' of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    form = (mean, inv_std, min_, max_)


STATISTICS = {"loss": minus_loss} | {s.name: s for s in (minus_loss, mean, inv_std, min_, max_)}
"""The statistics that an attack may name as text: `mean & inv_std`, `min | max`, `loss`."""


def parse(text: str) -> ThresholdAttack:
    """The attack of an expression; `&` joins by ALL, `|` by ANY, never both."""
    if "&" in text and "|" in text:
        message = f"{text!r} mixes & and |; join the statistics all by & or all by |"
        raise BadInput(message, "mixed-operators", option="attack", value=text)
    words = [word.strip() for word in re.split("[&|]", text)]
    for word in words:
        if word not in STATISTICS:
            message = f"unknown statistic {word!r} in {text!r}; known are {', '.join(STATISTICS)}"
            raise BadInput(message, "unknown-name", option="attack", value=word)
    operands: list[Operand] = [STATISTICS[word] for word in words]
    return ThresholdAttack(reduce(or_ if "|" in text else and_, operands))
