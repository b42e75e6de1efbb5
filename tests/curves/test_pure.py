import math

import pytest

from dpaudit.curves import Pure
from dpaudit.errors import BadInput


def test_pure_epsilon_is_its_parameter_and_less_at_a_larger_delta():
    curves = Pure(0.01)
    assert curves.epsilon(2.0, 0.01) == 2.0
    e = curves.epsilon(2.0, 0.1)
    # The (e, 0.1) line touches the curve at its corner.
    corner = 0.99 / (1 + math.exp(2))
    assert math.exp(e) * corner + corner == pytest.approx(0.9)
    assert curves.epsilon(2.0, 0.9) == 0
    with pytest.raises(BadInput, match=r"curves for delta 0\.01 say nothing of delta 0\.001"):
        curves.epsilon(2.0, 0.001)
