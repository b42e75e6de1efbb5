"""Networks that are made private by Laplace noise on single numbers: data, weights or updates.

Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; the report that is
cited here is in Japanese). Read `clamped.py` for the noise and for what it leaks, `network.py` and
`ranges.py` for the networks and how far a record can move them, `learning.py` for training with and
without noise, `microaggregation.py` for noise on the data, `counterexample.py` for where the paper
goes wrong, and `printed.py` for formulas as the paper has them.
"""

from __future__ import annotations

from dpaudit.papers.laplace.noise import joint_epsilon, log_likelihood_ratio, release
from dpaudit.papers.laplace.network import Limits, Network

__all__ = ["Limits", "Network", "joint_epsilon", "log_likelihood_ratio", "release"]
