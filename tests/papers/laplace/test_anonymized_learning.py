"""The counterexample against a loop over its batches."""

import numpy as np
import pytest

from dpaudit.papers.laplace.anonymized_learning import play_counterexample


def naive(record, later, others, epsilon, draw):
    noise = draw.laplace(scale=2 / epsilon, size=(1 + later, 1 + others))
    one, *rest = (min(1, max(-1, record + n)) for n in noise[0])
    for batch in noise[1:]:
        side = np.sign(sum(rest))
        one += min(1, max(-1, side + batch[0]))
        rest = [r + min(1, max(-1, side + n)) for r, n in zip(rest, batch[1:], strict=True)]
    return one


@pytest.mark.parametrize("later", [0, 1, 7])
@pytest.mark.parametrize("record", [-1.0, 1.0])
def test_it_is_what_its_batches_add_up_to(later, record):
    for seed in range(20):
        asked = (record, later, 9, 1.5)
        found = play_counterexample(*asked, np.random.default_rng(seed))
        assert found == pytest.approx(naive(*asked, np.random.default_rng(seed)))


def test_a_hundred_batches_do_not_forget_the_record():
    """A mean of 37 on either side and a deviation of 9: each sign is wrong with 2e-5 at most."""
    for record in (-1.0, 1.0):
        draw = np.random.default_rng(3)
        signs = [np.sign(play_counterexample(record, 100, 100, 1.0, draw)) for _ in range(50)]
        assert signs == [record] * 50


def test_no_update_of_it_is_beyond_one():
    draw = np.random.default_rng(0)
    assert all(abs(play_counterexample(1.0, 3, 5, 1.0, draw)) <= 4 for _ in range(200))
