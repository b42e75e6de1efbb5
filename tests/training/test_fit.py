import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from refusals import refuses
from tiny import PARAMETERS, flat_loss, recipe, records, weights

from dpaudit.training.dpsgd import fit, fit_many
from dpaudit.training.job import GradientCanaries

NOISY = recipe(batch=3, epochs=2, noise_multiplier=1.0, dropout=0.5)


def start(seed, initial=None, **changes):
    """The weights before the first step: nothing moves them here."""
    fitted = fit(recipe(**changes), records(4), seed, loss=flat_loss, initial=initial)
    return weights(fitted.model)


def test_a_random_start_is_the_seeds_own():
    assert np.array_equal(start(seed=1), start(seed=1))
    assert (start(seed=1) != start(seed=2)).all()


def test_a_fixed_start_is_the_same_for_all_models_of_a_recipe():
    fixed = {"init": "fixed", "init_seed": 5}
    assert np.array_equal(start(seed=1, **fixed), start(seed=2, **fixed))
    assert (start(seed=1, **fixed) != start(seed=1, init="fixed", init_seed=6)).all()


def test_from_a_fixed_start_each_model_still_has_noise_of_its_own():
    how = recipe(init="fixed", noise_multiplier=1.0)
    one, other = (weights(fit(how, records(4), seed).model) for seed in (1, 2))
    assert (one != other).all()


@pytest.mark.parametrize("init", ["random", "fixed"])
def test_given_parameters_are_where_training_starts(init):
    given = np.linspace(-1, 1, PARAMETERS, dtype=np.float32)
    assert np.array_equal(start(seed=1, initial=given, init=init), given)


def test_given_parameters_and_records_are_left_as_they_were():
    given = np.linspace(-1, 1, PARAMETERS, dtype=np.float32)
    sample = records(9)
    before = pickle.dumps((given, sample))
    fitted = fit(NOISY, sample, seed=1, initial=given)
    assert (weights(fitted.model) != given).all()
    assert pickle.dumps((given, sample)) == before


def test_a_model_comes_back_ready_to_predict_and_to_be_sent():
    model = fit(NOISY, records(9), seed=1).model
    assert not any(module.training for module in model.modules())
    assert all(p.grad is None for p in model.parameters())
    assert np.array_equal(weights(pickle.loads(pickle.dumps(model))), weights(model))


def test_many_models_are_those_that_come_one_by_one():
    seeds, sample = [3, 1, 2, 5, 4, 9, 8, 7], records(9)
    singly = [weights(fit(NOISY, sample, seed).model) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        for executor in (None, pool):
            together = [weights(m) for m in fit_many(NOISY, sample, iter(seeds), executor)]
            assert np.array_equal(singly, together)


def canaries(directions, inserted=(True, False)):
    return {"gradient_canaries": GradientCanaries(np.array(directions), np.array(inserted))}


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"seed": -1}, ("too-small", "seed", -1)),
        ({"records": records(9, (1, 2, 3))}, ("shape-mismatch", "records", (1, 2, 3))),
        ({"records": records(9, classes=9)}, ("out-of-range", "labels")),
        ({"initial": np.zeros(16)}, ("shape-mismatch", "initial", 16)),
        (canaries(np.eye(2, 14)), ("shape-mismatch", "directions", 14)),
        (canaries(np.eye(15)[0]), ("shape-mismatch", "directions", (15,))),
        (canaries(np.eye(3, 15)), ("shape-mismatch", "inserted", ("bool", (2,)))),
        (
            canaries(np.diag([1, 3.0]) @ np.eye(2, 15)),
            ("not-unit-length", "directions", pytest.approx(3)),
        ),
        (
            canaries(np.full((2, 15), np.nan)),
            ("not-unit-length", "directions", pytest.approx(np.nan, nan_ok=True)),
        ),
        (canaries(np.eye(2, 15), (1, 2)), ("shape-mismatch", "inserted", ("int64", (2,)))),
    ],
)
def test_what_no_backend_could_make_sense_of_is_refused(given, refusal):
    with refuses(*refusal):
        fit(**{"recipe": NOISY, "records": records(9), "seed": 1, **given})
