"""Noise that is the same whenever a run is judged, and each trial's own."""

import numpy as np
import pytest
from networks import network, numbered
from refusals import refuses

from dpaudit.defences import Noise, make
from dpaudit.seeds import row_seeds
from dpaudit.types import OWN


def constant(rows, columns=4, value=0.5):
    return {"mean": np.full((rows, columns), value)}


def noise_of(defence, rows=4000, columns=4, root=0):
    return make(defence).protect(numbered(constant(rows, columns), root))["mean"] - 0.5


def test_the_same_trials_have_the_same_noise_and_other_runs_another():
    a, b, other = (noise_of("noise:0.05", 20, root=root) for root in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.isin(a, other).any()


def test_trials_that_release_the_same_have_noise_of_their_own():
    """2,000 rows of 4 equal numbers: were noise taken from what is released, all were equal."""
    noise = noise_of("noise:0.05", 2000)
    assert len(np.unique(noise)) == noise.size
    # Of 1,999 pairs of neighbours the correlation has deviation 1/sqrt(1999): 5 of them is 6e-7.
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 5 / np.sqrt(1999)


def test_noise_is_gaussian_of_the_deviation_asked_for():
    """16,000 draws: moments within five of their own deviations, which chance leaves in 6e-7."""
    z = noise_of("noise:0.05").ravel() / 0.05
    n = z.size
    assert abs(z.mean()) < 5 / np.sqrt(n)
    assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / n)
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / n)


def test_noise_has_nothing_to_do_with_what_is_released():
    a, b = (
        make("noise:0.05").protect(numbered(constant(50, value=value)))["mean"] - value
        for value in (0.4, 0.6)
    )
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_two_noises_in_a_row_are_two_draws():
    one, two = noise_of("noise:0.03", 2000), noise_of("noise:0.03 + noise:0.03", 2000)
    second = two - one
    assert np.std(second) == pytest.approx(0.03, rel=0.05)
    assert abs(np.corrcoef(one.ravel(), second.ravel())[0, 1]) < 5 / np.sqrt(one.size - 1)


def test_noise_after_rounding_is_new_in_every_trial():
    rounded = {"mean": np.full((500, 3), 0.31)}
    kept = make("quantize:0.1 + noise:0.01").protect(numbered(rounded))["mean"]
    assert len(np.unique(kept)) == kept.size
    assert np.abs(kept - 0.3).max() < 0.06


def test_what_is_released_of_probabilities_stays_between_0_and_1():
    kept = make("noise:0.5").protect(numbered(network(rows=50)))
    for name in ("mean", "std", "probabilities"):
        assert (kept[name] >= 0).all()
        assert (kept[name] <= 1).all()
    np.testing.assert_array_equal(np.isneginf(kept["logits"]), kept["probabilities"] == 0)


def test_other_released_numbers_are_not_cut_off():
    values = np.array([[1000.0, -3.0]] * 5)
    kept = make("noise:2").protect(numbered({"values": values}))["values"]
    assert 0 < np.abs(kept - values).max() < 14


def test_single_passes_are_not_released():
    assert "mc" not in make("noise:0.01").protect(numbered(network()))


def test_rows_without_a_number_of_their_own_are_refused():
    with refuses("missing-observations", value=("own",)):
        Noise(0.1).protect(constant(3))


def test_own_numbers_are_distinct_and_let_nobody_see_them():
    numbers = row_seeds(7, [(w, i) for w in (0, 1) for i in range(500)])
    assert len(set(numbers.tolist())) == 1000
    assert OWN not in make("noise:0.1").protect(numbered(network()))
    assert OWN not in make("mean-std + noise:0.1").protect(numbered(network()))
    assert OWN not in make("none").protect(numbered(network()))
