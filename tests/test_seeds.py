from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.seeds import derive, generator, stream, trial_seed, trials
from dpaudit.types import IN, OUT

ROOTS = st.integers(0, 2**70)


def test_a_seed_is_the_same_on_every_machine_and_in_every_version():
    assert derive(0, "trial", OUT, 0) == 0x6DDAE3DD697B3FD5
    assert derive(7, "canary", "random") == 0x6916A08F334E02E6
    assert trials(0, 4)[3].seed == 0x4F61D410980AFD13


@given(ROOTS)
def test_a_seed_is_a_number_that_torch_and_numpy_take(root):
    assert 0 <= derive(root, "anything") < 2**63


@given(ROOTS)
def test_another_purpose_or_another_root_is_another_seed(root):
    purposes = [(), ("init",), ("trial", 0, 1), ("trial", 1, 0), ("trial", 0, 11)]
    seeds = [derive(r, *purpose) for purpose in purposes for r in (root, root + 1)]
    assert len(set(seeds)) == len(seeds)


def test_a_generator_is_its_purposes_own():
    first, again, other = (generator(3, purpose).random(4) for purpose in ("a", "a", "b"))
    assert np.array_equal(first, again)
    assert (first != other).all()


@pytest.mark.parametrize("models", [4, 100, 1000])
def test_worlds_are_exactly_balanced_and_taken_in_turn(models):
    played = trials(0, models)
    assert [t.world for t in played] == [OUT, IN] * (models // 2)
    assert [t.index for t in played] == [i for i in range(models // 2) for _ in (OUT, IN)]


def test_no_two_trials_share_a_seed():
    counted = Counter(t.seed for root in range(5) for t in trials(root, 2000))
    assert len(counted) == 5 * 2000


@pytest.mark.parametrize("purpose", ["init", "descent"])
def test_no_two_trials_share_the_bits_that_torch_keeps(purpose):
    """Random bits would collide: 100,000 of them in 32 bits do so with near certainty."""
    kept = {stream(t.seed, purpose) % 2**32 for t in trials(3, 100_000)}
    assert len(kept) == 100_000


def test_a_trial_does_not_depend_on_how_many_others_there_are():
    assert trials(1, 100)[:40] == trials(1, 40)


def test_a_trials_seed_comes_from_root_world_and_index_alone():
    for t in trials(9, 20):
        assert t.seed == trial_seed(9, t.world, t.index)
