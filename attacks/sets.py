"""The sets of statistics that the paper combines, each with type 1 (ALL) and type 2 (ANY).

Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian Neural
Network, Algorithm 2 and Fig. 5. The more statistics and kinds a search may choose from, the
more it finds where there is nothing to find: the in-sample estimate of such an attack means
something only beside its permutation null.
"""

from __future__ import annotations

from dpaudit.attacks.mc_dropout import inv_std, max_, mean, min_
from dpaudit.attacks.rules import ThresholdAttack


class MeanStd(ThresholdAttack):
    """Mean and 1/std of the MC-dropout probabilities, joined by ALL or by ANY.

    What a Bayesian network usually releases: the prediction and its uncertainty. Type 1 says
    that the canary was in if both are above their thresholds, type 2 if one of them is; the
    better type is chosen with the thresholds, by an exact search.

    'Mean std' of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__((mean, inv_std))


class MinMax(ThresholdAttack):
    """Lowest and highest MC-dropout probability, joined by ALL or by ANY.

    For an adversary who sees all T samples. Type 1 says that the canary was in if both are
    above their thresholds, type 2 if one of them is; the better type is chosen with the
    thresholds, by an exact search.

    'Min max' of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__((min_, max_))


class AllFour(ThresholdAttack):
    """Mean, 1/std, min and max of the MC-dropout probabilities, joined by ALL or by ANY.

    The strongest attack of the paper. Four thresholds at once are too many to try them all
    (100 trials give 100 million rules), so the best pairs are found exactly and improved one
    threshold at a time: never worse than the best pair, not always the best rule.

    'Min max mean std' of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially
    Private Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__((mean, inv_std, min_, max_))
