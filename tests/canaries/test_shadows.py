from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from torch.nn.utils import parameters_to_vector

from dpaudit.canaries import crafted
from dpaudit.seeds import derive
from dpaudit.training import dpsgd
from dpaudit.types import Records


def affine(models):
    """Weights (shadows, classes, pixels) and biases (shadows, classes) of logistic regressions."""
    w = np.array([m[-1].weight.detach().numpy() for m in models], dtype=float)
    b = np.array([m[-1].bias.detach().numpy() for m in models], dtype=float)
    return w, b


def probabilities(models, x):
    w, b = affine(models)
    e = np.exp(w @ x.reshape(-1).astype(float) + b)
    return e / e.sum(axis=1, keepdims=True)


def mean_loss(models, x, y):
    return float(np.mean(-np.log(probabilities(models, x)[:, y])))


def vectors(models):
    return np.array([parameters_to_vector(m.parameters()).detach().numpy() for m in models])


# ---------------------------------------------------------------- training


def test_shadows_are_ten_different_models_of_the_targets_own_recipe(models, recipe, data):
    assert len(models) == 10
    assert len(np.unique(vectors(models), axis=0)) == 10
    third = dpsgd.fit(recipe, data.shadow, derive(0, "shadow", 3)).model
    assert np.array_equal(vectors([third])[0], vectors(models)[3])


def test_shadows_never_see_the_pool_or_the_test_set(models, recipe, data):
    nothing = Records(data.pool.x[:1] * 0, data.pool.y[:1] * 0)
    blind = crafted.train_shadows(recipe, replace(data, pool=nothing, test=nothing), seed=0)
    assert np.array_equal(vectors(blind), vectors(models))


def test_another_seed_or_other_shadow_data_are_other_shadows(models, recipe, data):
    other_seed = crafted.train_shadows(recipe, data, seed=1)
    swapped = crafted.train_shadows(recipe, replace(data, shadow=data.pool), seed=0)
    for other in (other_seed, swapped):
        assert (vectors(other) != vectors(models)).any(axis=1).all()


def test_an_executor_changes_nothing(models, recipe, data):
    with ThreadPoolExecutor(1) as pool:
        assert np.array_equal(
            vectors(crafted.train_shadows(recipe, data, 0, pool)), vectors(models)
        )


# ---------------------------------------------------------------- the hardest record


def test_the_hardest_record_has_the_largest_mean_loss(models, data):
    losses = [mean_loss(models, x, y) for x, y in zip(data.pool.x, data.pool.y, strict=True)]
    assert crafted.hardest(models, data.pool) == int(np.argmax(losses))
    easier = data.pool.without(int(np.argmax(losses)))
    assert crafted.hardest(models, easier) == int(np.argmax(np.delete(losses, np.argmax(losses))))


# ---------------------------------------------------------------- adversarial noise


def perturb(models, x, y, clip):
    return crafted.perturb_many(models, x[None], np.array([y]), clip)[0]


def ascend(models, x, y, clip):
    """The paper's formula, with the gradient of logistic regression written out."""
    w, _ = affine(models)
    current = x.astype(float)
    for _ in range(40):
        slopes = probabilities(models, current) - np.eye(w.shape[1])[y]
        gradient = np.einsum("nc,ncp->p", slopes, w) / len(w)
        current = current + 0.01 * np.sign(gradient).reshape(x.shape)
        current = np.clip(current, 0, 1) if clip else current
    return current


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("index", [0, 7])
def test_noise_is_forty_sign_steps_up_the_mean_loss(models, data, index, clip):
    x, y = data.pool.x[index], int(data.pool.y[index])
    noisy = perturb(models, x, y, clip)
    np.testing.assert_allclose(noisy, ascend(models, x, y, clip), atol=1e-5)
    assert (noisy.dtype, noisy.shape) == (np.float32, x.shape)
    assert np.abs(noisy - x).max() <= 0.4 + 1e-5
    assert mean_loss(models, noisy, y) > mean_loss(models, x, y)


def test_only_clipping_keeps_the_pixels_in_their_range(models, data):
    x, y = data.pool.x[0], int(data.pool.y[0])
    clipped, free = (perturb(models, x, y, clip) for clip in (True, False))
    assert clipped.min() >= 0
    assert clipped.max() <= 1
    assert free.min() < 0 or free.max() > 1


def test_noise_leaves_the_record_and_the_models_as_they_were(models, data):
    x, before = data.pool.x[0].copy(), vectors(models)
    perturb(models, x, 0, clip=True)
    assert np.array_equal(x, data.pool.x[0])
    assert np.array_equal(vectors(models), before)
    assert all(p.grad is None for m in models for p in m.parameters())
