"""Canaries: the record that makes two datasets neighbours. Installed as `dpaudit.canaries`."""

if __name__ != "dpaudit.canaries":
    raise ImportError("import dpaudit.canaries, not canaries")

from dpaudit.canaries.crafted import AdvMaxLoss, AdvRandom, Blank, MaxLoss
from dpaudit.canaries.gradients import Dirac, RandomDirection
from dpaudit.canaries.records import Mislabelled, Null, Random, Replaced, Static

__all__ = ["AdvMaxLoss", "AdvRandom", "Blank", "Dirac", "MaxLoss", "Mislabelled", "Null", "Random"]
__all__ += ["RandomDirection", "Replaced", "Static"]
