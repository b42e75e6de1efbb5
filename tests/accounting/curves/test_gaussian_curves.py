import pytest

from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import GaussianFamily

DELTA = 1e-5


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.021022])
def test_gaussian_epsilon_is_the_accountants(mu):
    assert GaussianFamily().epsilon(mu, DELTA) == gaussian_epsilon(mu, DELTA)
