import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from dpaudit.data.split import FEWEST, SHARES, deal, sizes, split
from dpaudit.types import Records

COUNTS = st.lists(st.integers(FEWEST, 60), min_size=2, max_size=12)
SEEDS = st.integers(0, 2**70)


def records(counts):
    """Records that say in their only value which they are; the classes take turns."""
    y = np.repeat(np.arange(len(counts)), counts)
    turn = np.concatenate([np.arange(count) for count in counts])
    y = y[np.argsort(turn, kind="stable")]
    return Records(np.arange(len(y), dtype=np.float32).reshape(-1, 1, 1, 1), y)


def identities(part):
    return part.x.reshape(-1).astype(int)


@given(COUNTS, SEEDS)
def test_every_record_is_in_exactly_one_set_with_its_own_label(counts, seed):
    everything = records(counts)
    data = split("it", everything, len(counts), seed)
    parts = (data.pool, data.shadow, data.test)
    found = np.concatenate([identities(part) for part in parts])
    assert sorted(found) == list(range(len(everything)))
    for part in parts:
        assert np.array_equal(part.y, everything.y[identities(part)])


@given(COUNTS, SEEDS)
def test_every_class_has_its_fair_share_of_every_set(counts, seed):
    data = split("it", records(counts), len(counts), seed)
    for part in (data.pool, data.shadow, data.test):
        dealt = np.bincount(part.y, minlength=len(counts))
        fair = np.array(counts) * len(part) / sum(counts)
        assert dealt.min() >= 1
        assert np.abs(dealt - fair).max() < 2


@given(COUNTS, SEEDS)
def test_a_given_test_set_stays_and_the_rest_is_split_five_to_two(counts, seed):
    train, test = records(counts), records([1, 1])
    data = split("it", train, len(counts), seed, test=test)
    assert data.test is test
    assert len(data.pool) == len(train) * 5 // 7
    found = np.concatenate([identities(data.pool), identities(data.shadow)])
    assert sorted(found) == list(range(len(train)))
    for part in (data.pool, data.shadow):
        assert set(part.y) == set(range(len(counts)))


@pytest.mark.parametrize("shares", [SHARES, SHARES[:2]])
def test_the_smallest_class_reaches_every_set_wherever_its_turn_begins(shares):
    for n in [*range(2 * FEWEST, 300), 1797, 10_000]:
        dealt = deal(sizes(n, shares))
        windows = np.lib.stride_tricks.sliding_window_view(dealt, FEWEST)
        for part in range(len(shares)):
            assert (windows == part).any(axis=1).all(), (n, part)


def test_sizes_are_those_of_the_digits_and_lose_no_record():
    assert sizes(1797, SHARES) == [1000, 400, 397]
    assert sizes(700, SHARES[:2]) == [500, 200]
    assert all(sum(sizes(n, SHARES)) == n for n in range(100))


def test_the_same_seed_gives_the_same_split_and_another_another():
    everything = records([50] * 10)
    first, again, other = (split("it", everything, 10, seed) for seed in (1, 1, 2))
    for part in ("pool", "shadow", "test"):
        here = identities(getattr(first, part))
        assert np.array_equal(here, identities(getattr(again, part)))
        assert set(here) != set(identities(getattr(other, part)))


def test_the_split_is_the_same_on_every_machine_and_numpy():
    data = split("it", records([9, 9]), 2, seed=0)
    assert identities(data.pool).tolist() == [7, 2, 1, 3, 8, 5, 14, 16, 12, 17]


def test_a_set_is_not_sorted_by_class():
    data = split("it", records([50] * 10), 10, seed=0)
    assert set(data.pool.y[:60]) == set(range(10))


def test_a_class_that_is_too_small_is_refused():
    with refuses("too-few-records", value=[("1", 8)]) as caught:
        split("it", records([FEWEST, FEWEST - 1]), 2, seed=0)
    assert re.findall(r"\d+", str(caught.value)) == ["1", "8", "9"]


def test_of_many_small_classes_only_some_are_named():
    with refuses("too-few-records", value=[(str(c), 1) for c in range(5)]) as caught:
        split("it", records([1] * 8), 8, seed=0)
    assert "4: 1 and 3 more" in str(caught.value)
    assert "5: 1" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_a_seed_is_a_whole_number(seed):
    with refuses("too-small", option="seed", value=seed):
        split("it", records([9, 9]), 2, seed=seed)
