"""Local privacy: everybody randomises what they report. Finite values, exact by enumeration.

- `matrices`: what a report is drawn from
- `users`: users of different parameters, what hiding these promises and what it leaks
- `mechanism`: randomized response, its settings, and the attack `reported-value`
"""

from dpaudit.papers.local.mechanism import RandomizedResponse, ReportedValue, Users
from dpaudit.papers.local.users import Population

__all__ = ["Population", "RandomizedResponse", "ReportedValue", "Users"]
