"""Means of groups: how much one record can change them, all together."""

import numpy as np
import pytest
from refusals import refuses

from dpaudit.papers.laplace.anonymizing_first import Groups, order, records_of, rows_of


@pytest.mark.parametrize("seed", range(20))
def test_no_record_changes_all_means_by_more_than_the_sensitivity(seed):
    draw = np.random.default_rng(seed)
    n, k, m = 23, int(draw.integers(1, 12)), 3
    rows = draw.choice([draw.uniform(size=(n, m)), draw.integers(0, 2, (n, m))])
    groups, worst = Groups(n, k, width=m), 0.0
    before = groups.means(rows)
    for i in range(n):
        for record in (np.zeros(m), np.ones(m), draw.uniform(size=m)):
            other = rows.copy()
            other[i] = record
            worst = max(worst, float(np.abs(groups.means(other) - before).sum()))
    assert 0 < worst <= groups.sensitivity + 1e-12


def test_one_sorted_column_changes_by_its_range_over_k():
    """Telescoping: of a column alone the groups between share one range; .3331 of 1/3 is found."""
    n, k, worst = 300, 3, 0.0
    draw = np.random.default_rng(0)
    groups = Groups(n, k, width=1)
    for _ in range(50):
        rows = np.sort(draw.uniform(size=(n, 1)), axis=0)
        other = rows.copy()
        other[0] = 1.0
        worst = max(worst, float(np.abs(groups.means(other) - groups.means(rows)).sum()))
    assert worst <= 1 / k
    assert worst == pytest.approx(1 / 3, abs=0.004)
    assert groups.sensitivity > 30  # which any number of columns needs


def test_the_noise_is_that_of_the_joint_release():
    groups = Groups(45_222, 213, width=106)
    assert groups.number == 212
    assert groups.scale(2.0) == pytest.approx(45_222 * 106 / (213**2 * 2.0), rel=0.002)
    assert Groups(10, 5, 4).scale(0.5) == pytest.approx(2 * 4 / 5 / 0.5)


def test_the_order_is_total_and_no_data_decide_it():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    assert rows[order(rows)].tolist() == [[0, 0], [0, 1], [0, 1], [1, 0]]
    shuffled = rows[[3, 0, 2, 1]]
    np.testing.assert_array_equal(shuffled[order(shuffled)], rows[order(rows)])


def test_groups_hold_all_records_and_the_last_what_is_left():
    groups = Groups(11, 3, 1)
    assert groups.sizes().tolist() == [3, 3, 5]
    rows = np.arange(11.0)[:, None]
    assert groups.means(rows)[:, 0].tolist() == [1, 4, 8]


def test_means_become_records_of_their_likeliest_class():
    x, y = np.array([[[0.2, 2.0]], [[0.4, -1.0]]]), np.array([1, 0])
    rows = rows_of(x, y, classes=2)
    assert rows.tolist() == [[0.2, 1.0, 0, 1], [0.4, 0.0, 1, 0]]
    again, labels = records_of(rows + np.array([0, 3, 0, 0]), np.array([2, 1]), classes=2)
    assert again.tolist() == [[0.2, 1.0], [0.2, 1.0], [0.4, 1.0]]
    assert labels.tolist() == [1, 1, 0]


@pytest.mark.parametrize("k", [0, 12])
def test_groups_that_cannot_be_are_refused(k):
    with refuses("out-of-range", "k", k):
        Groups(11, k, 1)
