"""When a rate says that a bound is wrong: against sums over all that can be measured."""

import pytest
from scipy.stats import binom

from dpaudit.calibration import results
from dpaudit.calibration.results import (
    AGAIN,
    SURE,
    SURER,
    can_tell,
    detectable_rate,
    flagging_chance,
    interval,
)


def test_a_rate_has_the_interval_of_clopper_and_pearson():
    low, high = interval(20, 400)
    assert binom.sf(19, 400, low) == pytest.approx(0.025)
    assert binom.cdf(20, 400, high) == pytest.approx(0.025)
    assert interval(0, 400)[0] == 0
    wide = interval(20, 400, SURER)
    assert wide[0] < low < high < wide[1]


@pytest.mark.parametrize("n", [1, 2, 3, 12, 30])
@pytest.mark.parametrize(("rate", "level"), [(0.05, 0.05), (0.3, 0.05), (0.6, 0.3), (1.0, 0.05)])
def test_who_is_blamed_is_above_twice(n, rate, level):
    """The second measurement knows nothing of the first."""

    def above(n, sure):
        alarming = [k for k in range(n + 1) if interval(k, n, sure)[0] > level]
        return sum(binom.pmf(k, n, rate) for k in alarming)

    assert flagging_chance(rate, level, n) == pytest.approx(
        above(n, SURE) * above(AGAIN * n, SURER)
    )


@pytest.mark.parametrize("n", [20, 400, 1000])
def test_what_would_be_found_is_found_so_often(n):
    assert flagging_chance(detectable_rate(0.05, n), 0.05, n) == pytest.approx(results.POWER)


def test_an_uncorrected_choice_among_four_is_the_least_that_must_be_told():
    best_of_four = 1 - 0.95**4
    enough = next(n for n in range(1, 400) if can_tell(0.05, n))
    assert detectable_rate(0.05, enough) <= best_of_four < detectable_rate(0.05, enough - 1)
    assert can_tell(0.05, 400)
    assert not any(can_tell(0.05, n) for n in (1, 2, 3, 10, 20))
    assert detectable_rate(0.05, 1) == 1


def test_next_to_nobody_is_blamed_by_chance():
    assert 200 * flagging_chance(0.05, 0.05, 400) < 0.005
    assert detectable_rate(0.05, 400) < 0.09
