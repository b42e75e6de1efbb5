import pytest

from dpaudit.estimators.sentences import confident, percent


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (0.95, "95 %"),
        (0.975, "97.5 %"),
        (1 - 1e-6, "99.9999 %"),
        (1 - 1e-7, "99.99999 %"),
        (1 - 1e-9, "99.9999999 %"),
        (1.0, "100 %"),
    ],
)
def test_what_is_not_all_is_never_a_hundred_percent(share, said):
    assert percent(share) == said
    assert said in confident(share)
