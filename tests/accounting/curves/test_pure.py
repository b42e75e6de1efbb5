import math

import pytest
from refusals import refuses

from dpaudit.accounting.curves import PureFamily


def test_pure_epsilon_is_its_parameter_and_less_at_a_larger_delta():
    curves = PureFamily(0.01)
    assert curves.epsilon(2.0, 0.01) == 2.0
    e = curves.epsilon(2.0, 0.1)
    # The (e, 0.1) line touches the curve at its corner.
    corner = 0.99 / (1 + math.exp(2))
    assert math.exp(e) * corner + corner == pytest.approx(0.9)
    assert curves.epsilon(2.0, 0.9) == 0
    with refuses("out-of-range", "delta", 0.001):
        curves.epsilon(2.0, 0.001)
