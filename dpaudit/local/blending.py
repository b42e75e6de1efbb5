"""Parameter Blending Privacy: what is promised to users who hide by which parameter they report.

Takagi, Cao and Yoshikawa, On hiding the parameter in local differential privacy (in Japanese).
A user's loss is measured against the most similar story that other users, with other parameters,
could tell:

    L_o((d, theta), (d', theta')) = |ln Pr(theta) Pr(o | d, theta) / Pr(theta') Pr(o | d', theta')|
    E'(theta) = max over d, d', o of the min over theta' of L_o((d, theta), (d', theta'))

That bounds no attacker. Who knows theta compares Pr(o | d, theta) with Pr(o | d', theta): local
differential privacy, which is at least E'. Who does not know it compares the sums over theta; with
two parameters of the paper's kind that is less than E', with three it can be more.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpaudit.local.matrices import local_dp, logarithms, widest
from dpaudit.local.population import Population
from dpaudit.types import Array


def strength(
    population: Population, theta: int, reports: int = 1, support_only: bool = False
) -> float:
    """E'(theta), exactly, of so many reports with the same parameter.

    A report that is impossible with d is compared all the same, and makes E' infinite where it is
    possible with d' by every parameter: so the definition says. `support_only` leaves it out. Where
    both are impossible there is no loss.
    """
    log_p = population.log_probabilities(reports)
    joint = logarithms(population.shares)[:, None, None] + log_p
    mine = joint[theta]
    least = np.full((*mine.shape, mine.shape[1]), np.inf)
    for theirs in joint:
        with np.errstate(invalid="ignore"):
            loss = np.abs(mine[:, :, None] - theirs[:, None, :])
        # Both impossible: -inf - -inf is no number, and there is nothing to tell apart.
        np.minimum(least, np.nan_to_num(loss, nan=0.0, posinf=np.inf), out=least)
    if support_only:
        least[mine == -np.inf] = 0.0
    return float(least.max())


def composed(matrices: Iterable[Array]) -> float:
    """A valid strength of several reports, one by each matrix: their local-DP values add up.

    E' values do not: two reports of the paper's example at a share of .5505 have 1.9945, and twice
    that of one is 1.7918.
    """
    return sum(map(local_dp, matrices))


def observed(population: Population, reports: int = 1) -> tuple[float, int, int]:
    """What who does not know theta can tell apart at most, and the values d and d' of it.

    The largest log-ratio of the blended reports. Of a population of one parameter it is that of
    who knows theta.
    """
    joint = logarithms(population.shares)[:, None, None] + population.log_probabilities(reports)
    return widest(np.logaddexp.reduce(joint, axis=0))
