"""Rules that other tools print as lower bounds although they are not valid, for comparison.

Each rule is chosen on the same trials that judge it, without a correction for the choice. They are
written from their published descriptions, and only a calibration uses them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.special import ndtri

from dpaudit.calibration.methods import BoundSettings, Standing, attack_of
from dpaudit.calibration.simulated import SimulatedRun
from dpaudit.estimators import GDP, OneRun
from dpaudit.estimators.one_run import assign_guesses
from dpaudit.estimators.published import in_sample
from dpaudit.rates import log_ratio, upper_rates
from dpaudit.results import Guesses, Scores
from dpaudit.types import IN, Array

Rule = Callable[[Scores, float, float], float]
"""From scores, delta and confidence to a number."""

SHARES = np.linspace(0.1, 1.0, 10)
"""Shares of the canaries among which the best number of guesses is looked for."""


def best_clopper_pearson(scores: Scores, delta: float, confidence: float) -> float:
    """Return the largest Clopper-Pearson bound over all thresholds, each at full confidence.

    "We take the threshold that maximises the lower bound": Jagielski, Ullman and Oprea 2020 on
    other trials, tools since on the same ones.
    """
    u0, u1 = _upper_rates(scores, confidence)
    return max(0.0, float(log_ratio(u0, u1, delta).max()))


def best_gdp(scores: Scores, delta: float, confidence: float) -> float:
    """Return the largest bound under a Gaussian curve over all thresholds, each at full confidence.

    Nasr et al. 2023, "Tight auditing of differentially private machine learning", with the
    threshold chosen on the trials that are counted.
    """
    return GDP(confidence).best_of(*_upper_rates(scores, confidence), delta)


def best_katz(scores: Scores, delta: float, confidence: float) -> float:
    """Return the largest lower limit of a log ratio of rates over all thresholds, by Katz.

    ln((p - d)/q) - z sqrt((1-p)/(np) + (1-q)/(mq)) for the rates p and q of an event in both
    worlds: 'says in', and in the mirrored direction 'says out'. A normal approximation, which
    fails where an event is rare, and there the maximum is found; an event that never occurs in
    one world is skipped. Katz et al. 1978, "Obtaining confidence intervals for the risk ratio".
    """
    fp, fn = _errors(scores)
    n0, n1 = len(scores.out), len(scores.inn)
    z = float(ndtri(confidence))
    said_in = _katz(n1 - fn, n1, fp, n0, delta, z)
    said_out = _katz(n0 - fp, n0, fn, n1, delta, z)
    return max(0.0, float(said_in.max()), float(said_out.max()))


def _katz(k: Array, n: int, other: Array, m: int, delta: float, z: float) -> Array:
    p, q = k / n, other / m
    usable = (p > delta) & (q > 0)
    p, q = np.where(usable, p, 1.0), np.where(usable, q, 1.0)
    limit = np.log((p - delta) / q) - z * np.sqrt((1 - p) / (n * p) + (1 - q) / (m * q))
    return np.where(usable, limit, -np.inf)


def best_one_run(scores: Array, worlds: Array, delta: float, confidence: float) -> float:
    """Return the largest one-run bound over several numbers of guesses, each at full confidence.

    Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run", fix the
    number beforehand; with the best of several the stated confidence is lost.
    """
    m = len(scores)
    numbers = sorted({max(1, round(share * m)) for share in SHARES})
    coins = np.where(worlds == IN, 1, -1)
    right = [int((assign_guesses(scores, r) == coins).sum()) for r in numbers]
    tried = [Guesses(m, r, correct) for r, correct in zip(numbers, right, strict=True)]
    return max(_one_run(guesses, delta, confidence) for guesses in tried)


@lru_cache(maxsize=2**14)
def _one_run(guesses: Guesses, delta: float, confidence: float) -> float:
    return OneRun(confidence).bound(guesses, delta).epsilon


def _errors(scores: Scores) -> tuple[Array, Array]:
    """Return the false positives and false negatives of every rule 'score > threshold'."""
    thresholds = np.unique(np.concatenate([[-np.inf], scores.out, scores.inn]))
    fp = len(scores.out) - np.searchsorted(np.sort(scores.out), thresholds, side="right")
    fn = np.searchsorted(np.sort(scores.inn), thresholds, side="right")
    return fp, fn


def _upper_rates(scores: Scores, confidence: float) -> tuple[Array, Array]:
    """Return the upper bounds on both rates, of all thresholds."""
    fp, fn = _errors(scores)
    a = (1 - confidence) / 2
    return upper_rates(len(scores.out), a)[fp], upper_rates(len(scores.inn), a)[fn]


@dataclass(frozen=True)
class NoBound:
    """A number that is no bound: the published estimate, or what another tool's rule gives."""

    attack: str
    judged: str
    number: Callable[[SimulatedRun, BoundSettings], float]
    standing: Standing = "no bound"
    share: float = 1.0

    def epsilon(self, run: SimulatedRun, target: BoundSettings, seed: int) -> float:
        return self.number(run, target)


def in_sample_estimate(attack: str) -> NoBound:
    """Return the published estimate: a rule tuned on the very trials that it is scored on."""
    return NoBound(attack, "in-sample estimate", partial(_in_sample, attack))


def _in_sample(attack: str, run: SimulatedRun, target: BoundSettings) -> float:
    made = attack_of(attack)
    return in_sample(made, run.of(attack, made), target.delta)


def _of_loss(rule: Rule, run: SimulatedRun, target: BoundSettings) -> float:
    trials = run.of("loss", attack_of("loss"))
    return rule(trials.split(trials.features[:, 0]), target.delta, target.confidence)


def _of_one_training(run: SimulatedRun, target: BoundSettings) -> float:
    return best_one_run(*run.one_training, target.delta, target.confidence)


BEST_CUTS = [
    NoBound("loss", "clopper-pearson, best cut", partial(_of_loss, best_clopper_pearson)),
    NoBound("loss", "gdp, best cut", partial(_of_loss, best_gdp)),
    NoBound("loss", "katz ratio, best cut", partial(_of_loss, best_katz)),
]
"""Other tools' rules on the scores of the loss, all trials."""

BEST_COUNT = NoBound("released", "one-run, best count", _of_one_training)
"""Another tool's rule on one training with many canaries."""
