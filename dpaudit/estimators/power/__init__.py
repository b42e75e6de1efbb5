"""What an audit can be expected to show before it is run, by estimator.

All of it is for the best attack that there can be: a score whose errors lie on the true
mechanism's trade-off curve, and a threshold that is best for it. A real attack shows less.
"""

from dpaudit.estimators.power.guessed import Guessed, Stopped
from dpaudit.estimators.power.scored import Counted, Paired, Ranked, Scanned
from dpaudit.estimators.power.truth import (
    LIMITED,
    MOST,
    Prospect,
    Truth,
    least,
    located,
    models_needed,
)

__all__ = [
    "LIMITED",
    "MOST",
    "Counted",
    "Guessed",
    "Paired",
    "Prospect",
    "Ranked",
    "Scanned",
    "Stopped",
    "Truth",
    "least",
    "located",
    "models_needed",
]
