import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import recipe

COUNTS = st.integers(1, 10_000)


def test_the_papers_training_has_11718_steps():
    papers = recipe(epochs=60, batch=256)
    assert papers.sample_rate(50_000) == 256 / 50_000
    assert papers.steps(50_000) == 11_718
    assert papers.expected_batch(50_000) == pytest.approx(256)


@given(epochs=COUNTS, batch=COUNTS, more=st.integers(0, 10_000))
def test_steps_are_the_whole_batches_that_the_epochs_hold(epochs, batch, more):
    size = batch + more
    assert recipe(epochs=epochs, batch=batch).steps(size) == epochs * size // batch


@pytest.mark.parametrize("batch", ["full", 100, 101, 10**9])
def test_a_full_batch_is_one_step_an_epoch_with_every_record(batch):
    full = recipe(epochs=7, batch=batch)
    assert full.sample_rate(100) == 1.0
    assert full.steps(100) == 7
    assert full.expected_batch(100) == 100


@pytest.mark.parametrize("batch", ["full", 5, 10**9])
def test_a_stated_number_of_steps_is_taken_whatever_the_epochs_and_the_batch(batch):
    stated = recipe(epochs=60, batch=batch, steps=10)
    assert [stated.steps(records) for records in (1, 100, 50_000)] == [10] * 3
    assert stated.sample_rate(100) == recipe(batch=batch).sample_rate(100)
