import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from dpaudit import data
from dpaudit.data.split import split, subset
from dpaudit.errors import BadInput
from dpaudit.types import Records

PARTS = ("pool", "shadow", "test")


def records(counts, start=0):
    """Records that say in their only value which they are."""
    y = np.repeat(np.arange(len(counts)), counts)
    x = start + np.arange(len(y), dtype=np.float32).reshape(-1, 1, 1, 1)
    return Records(x, y)


def whole(counts=(100, 100), test=None):
    return split("it", records(counts), len(counts), seed=0, test=test)


def identities(part):
    return set(part.x.reshape(-1).astype(int))


def lengths(of):
    return [len(getattr(of, part)) for part in PARTS]


@given(st.lists(st.integers(30, 90), min_size=2, max_size=5), st.integers(0, 99), st.data())
def test_the_pool_has_exactly_size_records_and_each_class_its_fair_share(counts, seed, draw):
    all_of_it = whole(counts)
    size = draw.draw(st.integers(30, len(all_of_it.pool)))
    some = subset(all_of_it, size, seed)
    assert lengths(some) == [size, size * 400 // 1000, max(1, size * 397 // 1000)]
    for name in PARTS:
        part, full = getattr(some, name), getattr(all_of_it, name)
        assert identities(part) <= identities(full)
        assert len(identities(part)) == len(part)
        label = dict(zip(identities_in_order(full), full.y, strict=True))
        assert [label[i] for i in identities_in_order(part)] == part.y.tolist()
        fair = np.bincount(full.y, minlength=len(counts)) * len(part) / len(full)
        assert np.abs(np.bincount(part.y, minlength=len(counts)) - fair).max() < 2


def identities_in_order(part):
    return part.x.reshape(-1).astype(int).tolist()


def test_the_seed_alone_decides_which_records():
    first, again, other = (subset(whole(), 40, seed) for seed in (1, 1, 2))
    for part in PARTS:
        assert np.array_equal(getattr(first, part).x, getattr(again, part).x)
    assert identities(first.pool) != identities(other.pool)


def test_the_subset_is_the_same_on_every_machine_and_numpy():
    some = subset(split("it", records([9, 9]), 2, seed=0), 5, seed=0)
    assert identities_in_order(some.pool) == [7, 4, 15, 11, 3]


def test_all_of_the_pool_is_the_pool():
    all_of_it = data.load("digits")
    same = data.load("digits", size=1000)
    assert data.fingerprint(same) == data.fingerprint(all_of_it)


def test_more_than_the_pool_is_refused_with_the_largest_that_works():
    with refuses("too-large", option="size", value=1001) as caught:
        data.load("digits", size=1001)
    assert re.findall(r"\d+", str(caught.value)) == ["1000", "1001"]


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "10"])
def test_a_size_is_a_whole_number(size):
    with refuses("too-small", option="size", value=size):
        data.load("digits", size=size)


def test_a_test_set_that_is_smaller_than_asked_for_stays_whole():
    some = subset(whole((100, 100), test=records([2, 2])), 100, seed=0)
    assert lengths(some) == [100, 40, 4]


def test_a_small_subset_still_has_something_to_test_on():
    assert lengths(subset(whole((200, 200)), 10, seed=0)) == [10, 4, 3]
    assert len(subset(whole((2000, 2000), test=records([1])), 10, seed=0).test) == 1


@pytest.mark.parametrize("size", [1, 5, 10, 23])
def test_a_class_that_would_vanish_is_refused_with_a_size_that_is_enough(size):
    digits = data.load("digits")
    with refuses("classes-lost", option="size", value=size) as caught:
        subset(digits, size, seed=0)
    enough = int(re.findall(r"\d+", str(caught.value))[-1])
    some = subset(digits, enough, seed=0)
    assert set(some.pool.y) == set(some.shadow.y) == set(range(10))


@pytest.mark.parametrize("size", range(1, 560, 43))
def test_a_rare_class_is_kept_or_refused_never_lost(size):
    rare = whole((1000, 9))
    try:
        some = subset(rare, size, seed=0)
    except BadInput:
        assert size < 500
    else:
        assert set(some.pool.y) == set(some.shadow.y) == {0, 1}
