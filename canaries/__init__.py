"""Canaries: the record that makes two datasets neighbours. Installed as `dpaudit.canaries`."""

if __name__ != "dpaudit.canaries":
    raise ImportError("import dpaudit.canaries, not canaries")

from dpaudit.canaries.crafted import Blank
from dpaudit.canaries.gradients import Dirac, RandomDirection
from dpaudit.canaries.records import Null, Random, Replaced

__all__ = ["Blank", "Dirac", "Null", "Random", "RandomDirection", "Replaced"]
