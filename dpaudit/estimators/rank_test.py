"""Scores in their order: the input of tests that choose no threshold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpaudit import checks
from dpaudit.accounting.curves import Family, family, last_refuted
from dpaudit.errors import BadInput
from dpaudit.estimators.inputs import TOSSES, CurveEstimator, level, reached
from dpaudit.estimators.sentences import NOTHING_TO_CHOOSE, SCORE, confident, of_curve, sentence
from dpaudit.estimators.simulation import Draws, enough, last_rejected
from dpaudit.rates import round_scores
from dpaudit.results import Bound, Outcome, Scores
from dpaudit.seeds import derive, generator
from dpaudit.types import Adjacency, Array, Curve

AT_ONCE = 2**18
"""Numbers that are tossed at a time: they stay in a processor's cache."""


def ranks(outcome: Outcome, who: str) -> tuple[Array, Array]:
    """Return the rank of each out- and each in-trial: the number of trials that score lower.

    Equal scores have equal ranks. Scores are rounded first (see `rates.round_scores`), unless they
    are to be raw.
    """
    if not isinstance(outcome, Scores):
        raise BadInput(
            f"{who} needs a score for each trial, not counts or guesses",
            "wrong-outcome",
            value=(type(outcome).__name__, "Scores"),
        )
    out, inn = _usable(outcome.out, "out"), _usable(outcome.inn, "in")
    both = np.concatenate([out, inn])
    scores = both if outcome.raw else round_scores(both)
    rank = np.searchsorted(np.sort(scores), scores).astype(np.int64)
    return rank[: len(out)], rank[len(out) :]


def pairs_won(out: Array, inn: Array, seed: int) -> tuple[int, bool]:
    """Return how many pairs of trials the in-trial wins, and whether the worlds are tied.

    A tie is won or lost by a toss; the number is one that `ties.SURE` of all tosses reach.
    """
    certain = int(np.searchsorted(np.sort(out), inn).sum())
    equal = np.intersect1d(out, inn)
    if not len(equal):
        return certain, False
    tied_out, tied_inn = out[np.isin(out, equal)], inn[np.isin(inn, equal)]
    within = int(np.searchsorted(np.sort(tied_out), tied_inn).sum())
    tosses = np.concatenate([*_tossed(tied_out, tied_inn, own_seed(seed, inn))])
    return certain - within + reached(tosses), True


def _tossed(out: Array, inn: Array, seed: int) -> Iterator[Array]:
    """Yield the number of pairs won in each of `TOSSES` tosses, some tosses at a time."""
    draw = generator(seed, "ties")
    rows = max(1, AT_ONCE // (len(out) + len(inn)))
    for start in range(0, TOSSES, rows):
        number = min(rows, TOSSES - start)
        lower = np.sort(out + draw.random((number, len(out))), axis=1)
        higher = inn + draw.random((number, len(inn)))
        won = [o.searchsorted(i).sum() for o, i in zip(lower, higher, strict=True)]
        yield np.array(won)


def own_seed(seed: int, inn: Array) -> int:
    """Return the seed of the simulation for in-trials of these ranks.

    It depends on the order of the trials, too: with draws of the seed alone, draws that happen to
    be small would be so in every audit with that seed and size.
    """
    order = hashlib.sha256(np.sort(inn).astype("<i8").tobytes()).hexdigest()
    return derive(seed, "order", order)


def refuse_empty(out: int, inn: int) -> None:
    """Refuse to say what no trials at all could give."""
    # A search for enough trials goes far beyond what anybody runs.
    most = 2**53
    checks.refuse(
        [checks.whole("out-trials", out, 1, most), checks.whole("in-trials", inn, 1, most)]
    )


def _usable(scores: Array, world: str) -> Array:
    try:
        values = np.asarray(scores, dtype=float)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"the scores of the {world}-trials are no numbers",
            "not-a-number",
            option=f"{world}-trials",
        ) from error
    if values.ndim != 1 or not len(values):
        raise BadInput(
            f"the {world}-trials need one score each, at least one, not an array of shape "
            f"{values.shape}",
            "shape-mismatch",
            option=f"{world}-trials",
            value=values.shape,
        )
    if np.isnan(values).any():
        count = int(np.isnan(values).sum())
        raise BadInput(
            f"{count} of {len(values)} scores of the {world}-trials are NaN",
            "not-finite",
            option=f"{world}-trials",
            value=count,
        )
    return values


# ----------------------------------------------------------------
# The exact rank test: the strongest bound on scores, for a known kind of curve.


NODES = 2**13
"""Of the quadrature over the lowest out-trial, for the ceiling."""


@dataclass(frozen=True)
class RankTest(CurveEstimator):
    """The Wilcoxon statistic over all pairs of trials; assumes a kind of trade-off curve.

    U counts the pairs in which the in-trial scores higher. Under a curve f it is largest, in
    law, if in-trials have the CDF 1 - f where out-trials are uniform; simulated so with `draws`
    draws, the p-value of a curve is (1 + #{U* >= U})/(draws + 1) and exact for any number of
    trials. The bound is the epsilon of the most leaking curve with p <= 1 - confidence. There
    is no threshold to choose; the score must be fixed without the trials that are judged, and
    trials must be independent. Ties between the worlds are judged as `ties.py` says, so that
    constant scores give 0. Wilcoxon 1945; for trade-off curves by domination, see
    `simulation.py`.

    `curve` is 'gaussian', 'pure' or a claim's curve, of which only the kind is taken: of
    DP-SGD the sampling rate and the steps, which are then trusted.
    """

    curve: str | Curve | Family = "gaussian"
    confidence: float = 0.95
    seed: int = 0
    draws: int = 2000
    adjacency: Adjacency = "add-remove"

    takes = Scores

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0, 1 - 1e-5, ends="(]"),
                checks.at_least("draws", self.draws, 1),
            ]
        )
        family(self.curve, 0.0, self.adjacency)  # refused here, if at all

    @property
    def _a(self) -> float:
        return 1 - self.confidence

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        out, inn = ranks(outcome, "the rank test")
        curves = self._family(delta)
        won, tied = pairs_won(out, inn, self.seed)
        a = level(self._a, tied)

        def exceeds(drawn: Array, uniform: Array, parameter: float) -> Array:
            return wins(drawn, curves.inn(parameter, uniform)) >= won

        seed = own_seed(self.seed, inn)
        draws = Draws(len(out), len(inn), enough(self.draws, a), seed)
        step = last_rejected(curves, exceeds, draws, a)
        ceiling = self.ceiling(len(out), len(inn), delta)
        epsilon = min(ceiling, curves.epsilon(curves.parameter(step), delta))
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="rank-test",
            assumption=self.assumption,
            selection=NOTHING_TO_CHOOSE,
            ceiling=ceiling,
            sentence=sentence(
                confident(self.confidence), epsilon, delta, f"{of_curve(curves)} {SCORE}"
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of worlds wholly apart."""
        refuse_empty(out, inn)
        curves = self._family(delta)
        return curves.epsilon(curves.parameter(most(curves, out, inn, self._a)), delta)

    def _family(self, delta: float) -> Family:
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        return family(self.curve, delta, self.adjacency)


@lru_cache(maxsize=64)
def most(curves: Family, out: int, inn: int, a: float) -> int:
    """The most leaking step under which worlds are wholly apart with probability <= a."""

    def unlikely(parameter: float) -> float:
        with np.errstate(divide="ignore"):
            # Twice the logarithm, which is a number where it is next to 0 and to 1.
            found = np.log(-np.log(apart(curves, parameter, out, inn)))
            return float(found - np.log(-np.log(a)))

    return last_refuted(curves, unlikely)


def apart(curves: Family, parameter: float, out: int, inn: int) -> float:
    """The probability that every in-trial comes before every out-trial under a curve."""
    middles = (np.arange(NODES) + 0.5) / NODES
    lowest = -np.expm1(np.log1p(-middles) / out)
    errors = curves.trade_off(parameter, lowest)
    with np.errstate(divide="ignore"):
        return float(np.exp(inn * np.log1p(-errors)).mean())


def wins(out: Array, inn: Array) -> Array:
    """In each row the pairs in which the in-trial is smaller; rows are in order."""
    lost = [o.searchsorted(i) for o, i in zip(out, inn, strict=True)]
    below = np.array(lost, dtype=np.intp).reshape(inn.shape).sum(axis=1)
    return np.asarray(out.shape[1] * inn.shape[1] - below)
