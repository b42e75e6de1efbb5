"""Estimators: error counts or scores to a lower bound on epsilon."""

from dpaudit.estimators.clopper_pearson import ClopperPearson
from dpaudit.estimators.point import Point

__all__ = ["ClopperPearson", "Point"]
