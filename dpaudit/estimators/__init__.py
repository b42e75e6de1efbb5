"""Estimators: error counts, scores or guesses to a lower bound on epsilon."""

from dpaudit.estimators.counts import ClopperPearson, Jeffreys, JointBeta
from dpaudit.estimators.counts_by_curve import GDP, PLD
from dpaudit.estimators.e_process import EProcess
from dpaudit.estimators.exact_scan import ExactScan
from dpaudit.estimators.one_run import OneRun, OneRunFDP
from dpaudit.estimators.paired_auc import PairedAUC
from dpaudit.estimators.published import Point
from dpaudit.estimators.rank_test import RankTest
from dpaudit.results import Counts, Decisions, Guesses, Scores

FREE: dict[type, str] = {
    Counts: "clopper-pearson",
    Scores: "exact-scan",
    Guesses: "one-run",
    Decisions: "e-process",
}
"""What assumes nothing, for each kind of outcome: it stands beside all that assume something."""

__all__ = [
    "FREE",
    "GDP",
    "PLD",
    "ClopperPearson",
    "EProcess",
    "ExactScan",
    "Jeffreys",
    "JointBeta",
    "OneRun",
    "OneRunFDP",
    "PairedAUC",
    "Point",
    "RankTest",
]
