"""Private learners of several organisations, and their aggregate. Exact where it can be.

- `unit_rows`: rows of a norm of at most 1, and their settings
- `logistic_regression`: the exact minimum, and the two perturbations
- `aggregation`: weights of learners, and their aggregate
- `canary`: the canary `corner`, and an organisation's rows in both worlds
- `mechanism`: `private-ensemble`, its settings, and the attack `learner`
"""

from dpaudit.papers.ensemble.aggregation import Weighting
from dpaudit.papers.ensemble.canary import Corner
from dpaudit.papers.ensemble.mechanism import Exchange, Learner, PrivateEnsemble
from dpaudit.papers.ensemble.unit_rows import Scaling

__all__ = ["Corner", "Exchange", "Learner", "PrivateEnsemble", "Scaling", "Weighting"]
