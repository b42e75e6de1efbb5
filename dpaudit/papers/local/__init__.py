"""Local privacy: everybody randomises what they report. Finite values, exact by enumeration.

Read `matrices.py` for what a report is drawn from, `population.py` for users who chose different
parameters, `blending.py` for what is promised to them and what an observer can tell apart, and
`frequency.py` for what a collector makes of their reports.
"""

from __future__ import annotations

from dpaudit.papers.local.matrices import binary, generalised, local_dp, optimised_unary, unary
from dpaudit.papers.local.users import Population, composed, observed, strength

__all__ = [
    "Population",
    "binary",
    "composed",
    "generalised",
    "local_dp",
    "observed",
    "optimised_unary",
    "strength",
    "unary",
]
