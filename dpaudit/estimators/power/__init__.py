"""What an audit can be expected to show before it is run, by estimator.

All of it is for the best attack that there can be: a score whose errors lie on the true
mechanism's trade-off curve, and a threshold that is best for it. A real attack shows less.
"""

from dpaudit.estimators.power.counted import Counted
from dpaudit.estimators.power.guessed import Guessed
from dpaudit.estimators.power.needed import LIMITED, MOST, least, models_needed
from dpaudit.estimators.power.paired import Paired
from dpaudit.estimators.power.ranked import Ranked
from dpaudit.estimators.power.scanned import Scanned
from dpaudit.estimators.power.stopped import Stopped
from dpaudit.estimators.power.truth import Prospect, Truth, located

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
