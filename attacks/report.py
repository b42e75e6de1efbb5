"""What a user reported, as likely with one value as with the other."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.types import Array, Known, Observations


def _likelihood_ratio(seen: Observations, known: Known) -> Array:
    """ln Pr(reports | d') / Pr(reports | d), by the parameter or, if it is not seen, by all.

    Pr(reports | d) = sum over theta of Pr(theta) prod over reports o of P_theta[o, d].
    """
    reports = np.asarray(seen["report"], dtype=np.intp)
    shares, d = np.asarray(known["shares"], np.float64), np.asarray(known["told_apart"], np.intp)
    with np.errstate(divide="ignore"):
        log_p = np.log(np.asarray(known["matrices"], np.float64)[:, :, d])
        log_shares = np.log(shares)
    # (trials, parameters, d and d')
    each = log_p[:, reports].sum(axis=2).transpose(1, 0, 2)
    if "theta" in seen:
        of = each[np.arange(len(each)), np.asarray(seen["theta"], dtype=np.intp)]
    else:
        of = np.logaddexp.reduce(log_shares[:, None] + each, axis=1)
    ratio: Array = of[:, 1] - of[:, 0]
    return ratio


SCORE = Statistic("log likelihood ratio", frozenset({"report"}), _likelihood_ratio)


class Report(FixedAttack):
    """Says that a user has the value of D' if the reports are likelier with it.

    For randomized response: the log-likelihood ratio of what the user reported, the best score
    there is (Neyman and Pearson 1933), because the matrices and the shares of their parameters are
    public. An observer who knows by which parameter the user reports has it in the observations;
    who does not blends all of them. Nothing is chosen: score and rule are fixed before the first
    report, so that all of them judge.
    """

    def __init__(self) -> None:
        super().__init__("report", SCORE)
