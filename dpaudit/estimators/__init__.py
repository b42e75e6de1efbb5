"""Estimators: error counts, scores or guesses to a lower bound on epsilon."""

from dpaudit.estimators.counts import GDP, PLD, ClopperPearson, Jeffreys, JointBeta
from dpaudit.estimators.e_process import EProcess
from dpaudit.estimators.exact_tests import ExactScan, RankTest
from dpaudit.estimators.one_run import OneRun, OneRunFDP
from dpaudit.estimators.paired_auc import PairedAUC
from dpaudit.results import Counts, Decisions, Guesses, Scores

FREE: dict[type, str] = {
    Counts: "clopper-pearson",
    Scores: "exact-scan",
    Guesses: "one-run",
    Decisions: "e-process",
}
"""The estimator without assumption for each kind of outcome; it stands beside all others."""

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
    "RankTest",
]
