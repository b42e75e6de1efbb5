"""By what the worlds are told apart: likelihood ratios of all that is seen of a training."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import logsumexp

from dpaudit.types import IN, OUT, Array, Observations
from reproductions.opacus.game import Game

Score = Callable[[Game, float, float, Observations], Array]
"""Of a game, its noise multiplier, the size of the canary's gradient and what was seen."""


def sampled(game: Game, noise: float, size: float, seen: Observations) -> Array:
    """Poisson: ln p'(u) - ln p(u) over all steps, where p' is a mixture that has the canary at q.

    The noise of either world is divided by its own expected batch size, and shows in all
    parameters, of which `rest` are those without any record.
    """
    how, u, rest = game.training, seen["along"][..., 0], seen["rest"]
    total = []
    for world in (OUT, IN):
        records = game.records + (world == IN)
        q, scale = 1 / how.batches(records), how.divisor(records)
        s = noise / scale
        free = -(u**2 + rest) / (2 * s**2) - game.parameters * np.log(s)
        if world == OUT:
            total.append(free)
            continue
        m = size / scale
        with np.errstate(divide="ignore"):  # ln 0, where every record is in every batch
            shifted = np.log(q) + (2 * u * m - m**2) / (2 * s**2)
            total.append(free + np.logaddexp(np.log1p(-q), shifted))
    out, inn = (np.sum(part, axis=1) for part in total)
    return np.asarray(inn - out)


def shuffled(game: Game, noise: float, size: float, seen: Observations) -> Array:
    """Shuffled: of each epoch, the canary is in one batch, and which one is at random.

    Batches are of fixed sizes, so that with it there is one of the others less in its batch and
    one more elsewhere: of opposed records, that is seen as well. A canary that is in a last batch
    which is dropped is in none.
    """
    how, n = game.training, game.records
    sign = -1.0 if game.others == "opposed" else 0.0
    without, within = (np.array(how.sizes(records), float) for records in (n, n + 1))
    scale, m = how.divisor(n), len(within)
    # In units of the clip; epoch by epoch.
    u = (seen["along"][..., 0] * scale).reshape(-1, how.epochs, m)
    chances = np.append(within, n + 1 - within.sum()) / (n + 1)
    means = np.concatenate([sign * within + (size - sign) * np.eye(m), (sign * within)[None]])
    possible = [
        np.log(chance) - ((u - mean) ** 2).sum(-1) / (2 * noise**2)
        for chance, mean in zip(chances, means, strict=True)
        if chance > 0
    ]
    out = -((u - sign * without) ** 2).sum(-1) / (2 * noise**2)
    return np.asarray((logsumexp(possible, axis=0) - out).sum(-1))


def steps(game: Game, noise: float, size: float, seen: Observations) -> Array:
    """How many updates there were."""
    return np.isfinite(seen["rest"]).sum(1).astype(float)


def others(game: Game, noise: float, size: float, seen: Observations) -> Array:
    """How little the other records put into some step: what a canary can do only by the scale."""
    return np.asarray(-seen["along"][..., 1].min(1))


SCORES: Mapping[str, Score] = {f.__name__: f for f in (sampled, shuffled, steps, others)}
