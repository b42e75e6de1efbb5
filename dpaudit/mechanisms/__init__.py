"""Mechanisms for any data: DP-SGD, and a user's own function.

- `dpsgd`: DP-SGD; `views`: a classifier's outputs, and what each adversary sees of a training
- `function`: a user's function; `function_reference` finds it by name, `function_interface` has the
  records that it takes and the release of what it returns
- `warnings`: settings and pairs that make an audit weak
"""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function

__all__ = ["DPSGD", "Function"]
