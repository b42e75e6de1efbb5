"""Canaries: the record that makes two datasets neighbours. Installed as `dpaudit.canaries`."""

if __name__ != "dpaudit.canaries":
    raise ImportError("import dpaudit.canaries, not canaries")

from dpaudit.canaries.adv_maxloss import AdvMaxLoss
from dpaudit.canaries.adv_random import AdvRandom
from dpaudit.canaries.blank import Blank
from dpaudit.canaries.corner import Corner
from dpaudit.canaries.dirac import Dirac
from dpaudit.canaries.maxloss import MaxLoss
from dpaudit.canaries.mislabelled import Mislabelled
from dpaudit.canaries.negative import Negative
from dpaudit.canaries.none import Null
from dpaudit.canaries.opposites import Opposites
from dpaudit.canaries.random import Random
from dpaudit.canaries.random_direction import RandomDirection
from dpaudit.canaries.replaced import Replaced
from dpaudit.canaries.static import Static

__all__ = [
    "AdvMaxLoss",
    "AdvRandom",
    "Blank",
    "Corner",
    "Dirac",
    "MaxLoss",
    "Mislabelled",
    "Negative",
    "Null",
    "Opposites",
    "Random",
    "RandomDirection",
    "Replaced",
    "Static",
]
