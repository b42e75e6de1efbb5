"""Estimators: error counts or scores to a lower bound on epsilon."""

from dpaudit.estimators.clopper_pearson import ClopperPearson
from dpaudit.estimators.exact_scan import ExactScan
from dpaudit.estimators.paired_auc import PairedAUC
from dpaudit.estimators.pld import PLD
from dpaudit.estimators.point import Point
from dpaudit.estimators.rank_test import RankTest

__all__ = ["PLD", "ClopperPearson", "ExactScan", "PairedAUC", "Point", "RankTest"]
