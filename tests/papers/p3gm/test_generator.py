"""The generator: its phases, its variants, and what it draws."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from refusals import refuses
from settings import change

from dpaudit.papers.p3gm import Architecture, variational
from dpaudit.papers.p3gm.design import (
    LIKELIHOODS,
    AdamRecipe,
    FirstReleases,
    GeneratorRecipe,
    without_noise,
)
from dpaudit.papers.p3gm.generator import fit, with_labels
from dpaudit.papers.p3gm.pca import fit_first_phase
from dpaudit.types import Records

STEPS = AdamRecipe(60, 0.2, 60, lr=0.02)
NETWORK, FIRST = Architecture("p3gm", latent=2, hidden=20), FirstReleases(2, iterations=8)
DESIGN = GeneratorRecipe(NETWORK, FIRST, STEPS, radius=2.0)


def stripes(n=300, classes=2, seed=0):
    """Two kinds of pictures, each with a label of its own; twice as many of the first."""
    draw = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    kinds = np.array([[0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.9]])
    x = np.clip(kinds[y] + draw.normal(0, 0.05, (n, 4)), 0, 1).astype(np.float32)
    return Records(x.reshape(n, 1, 2, 2), y)


@pytest.mark.parametrize("model", ["p3gm", "ae", "vae"])
def test_without_noise_pictures_come_with_their_labels(model):
    longer = AdamRecipe(300, 0.2, 60, lr=0.02)
    made = fit(change(DESIGN, model=model, steps=longer), stripes(), 2, seed=0)
    drawn = made.sample(200, seed=1, proportioned=True)
    assert np.bincount(drawn.y).tolist() == [133, 67]
    left = drawn.x[:, :2].mean(axis=1) > drawn.x[:, 2:].mean(axis=1)
    assert (left == (drawn.y == 0)).mean() > 0.9
    error, elbo = made.evaluate(with_labels(stripes(seed=2), 2))
    assert error.mean() < 0.3
    assert (elbo < 0).all()


def test_labels_without_proportions_are_what_the_model_says():
    made = fit(DESIGN, stripes(), 2, seed=0)
    drawn = made.sample(50, seed=1)
    assert drawn.x.shape == (50, 4)
    again = made.draw_scores(50, np.random.default_rng(0))
    assert again.shape == (50, 6)
    assert set(drawn.y.tolist()) <= {0, 1}


def test_a_label_that_the_model_hardly_says_has_its_share_all_the_same():
    rare = stripes(n=300)
    rare = Records(rare.x, (np.arange(300) < 5).astype(np.int64))
    drawn = fit(DESIGN, rare, 2, seed=0).sample(300, seed=1, proportioned=True)
    assert np.bincount(drawn.y).tolist() == [295, 5]
    assert len(np.unique(drawn.x, axis=0)) == 300


def test_exact_shares_of_labels_are_not_had_beside_noise():
    made = fit(change(DESIGN, pca_noise=3.0), stripes(), 2, seed=0)
    assert made.proportions is None
    with refuses("needs-label-noise", "label_noise"):
        made.sample(10, seed=0, proportioned=True)


def test_no_random_numbers_but_the_seed_s_are_taken():
    before = torch.random.get_rng_state()
    fit(DESIGN, stripes(), 2, seed=0)
    assert torch.equal(before, torch.random.get_rng_state())


def test_proportions_are_noisy_where_noise_is_asked_for():
    exact = fit(DESIGN, stripes(), 2, seed=0).proportions
    assert exact == pytest.approx([2 / 3, 1 / 3])
    noisy = fit(change(DESIGN, label_noise=20.0), stripes(), 2, seed=0).proportions
    assert noisy.sum() == pytest.approx(1)
    assert abs(noisy[0] - 2 / 3) > 1e-3


@pytest.mark.parametrize("noisy", [{"pca": "gaussian"}, {"pca": "wishart", "em": "published"}])
def test_the_phases_follow_from_the_seed_and_noise_changes_them(noisy):
    rows = with_labels(stripes(), 2)
    plain, _ = fit_first_phase(DESIGN, rows, 2, seed=0)
    design = change(DESIGN, **noisy, pca_noise=1.0, em_noise=2.0)
    first, again, other = (fit_first_phase(design, rows, 2, seed) for seed in (0, 0, 1))
    assert (first[0] == again[0]).all()
    assert all((a == b).all() for a, b in zip(first[1], again[1], strict=True))
    assert not (first[0] == other[0]).all()
    assert first[0].T @ first[0] == pytest.approx(np.eye(2))
    assert not (first[0] == plain).all()


def test_a_generator_without_noise_is_the_same_design_without_any():
    private = change(
        DESIGN,
        pca_noise=3.0,
        em_noise=4.0,
        label_noise=5.0,
        steps=AdamRecipe(5, 0.5, 9, 0.1, 1.0, 2),
    )
    plain = without_noise(private)
    assert (plain.first.pca_noise, plain.first.em_noise, plain.first.label_noise) == (0, 0, 0)
    assert (plain.steps.noise_multiplier, plain.steps.count) == (0, 5)
    assert plain.steps.clip == float("inf")


def test_what_is_released_before_the_steps_is_one_gaussian_mechanism():
    noisy = change(DESIGN, pca_noise=4.0, em_noise=10.0, label_noise=5.0)
    assert noisy.mu**2 == pytest.approx(1 / 16 + 3 * 8 / 100 + 1 / 25)
    assert change(noisy, model="vae").mu == pytest.approx(1 / 5)
    assert change(noisy, em_noise=0.0).mu == float("inf")


def test_trials_are_pure_functions_of_their_seed():
    design = change(
        DESIGN, pca_noise=3.0, em_noise=5.0, steps=replace(STEPS, clip=1.0, noise_multiplier=2.0)
    )
    a, b = (fit(design, stripes(), 2, seed=7).sample(20, seed=1) for _ in range(2))
    assert (a.x == b.x).all()
    other = fit(design, stripes(), 2, seed=8).sample(20, seed=1)
    assert not (a.x == other.x).all()


def test_the_generator_is_watched_from_before_its_first_step_to_the_last():
    seen = []

    def watch(made, step):
        seen.append((step, made.draw_scores(5, np.random.default_rng(0))))

    made = fit(
        change(DESIGN, steps=AdamRecipe(3, 0.2, 60, lr=0.02)), stripes(), 2, seed=0, watch=watch
    )
    assert [step for step, _ in seen] == [0, 1, 2, 3]
    assert (seen[-1][1] == made.draw_scores(5, np.random.default_rng(0))).all()
    assert not (seen[0][1] == seen[-1][1]).all()
    plain = fit(change(DESIGN, steps=AdamRecipe(3, 0.2, 60, lr=0.02)), stripes(), 2, seed=0)
    assert (plain.draw_scores(5, np.random.default_rng(0)) == seen[-1][1]).all()


@pytest.mark.parametrize("model", ["p3gm", "ae"])
def test_labels_with_directions_of_their_own_come_with_their_pictures(model):
    design = change(DESIGN, model=model, label_length=0.5, iterations=1, latent=3)
    drawn = fit(design, stripes(), 2, seed=0).sample(200, seed=1)
    left = drawn.x[:, :2].mean(axis=1) > drawn.x[:, 2:].mean(axis=1)
    assert (left == (drawn.y == 0)).mean() > 0.95
    assert 0.55 < np.mean(drawn.y == 0) < 0.78


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"model": "gan"}, ("unknown-choice", "model", "gan")),
        ({"likelihood": "poisson"}, ("unknown-choice", "likelihood", "poisson")),
        ({"pca": "laplace"}, ("unknown-choice", "pca", "laplace")),
        ({"em": "exact"}, ("unknown-choice", "em", "exact")),
        ({"radius": 0.0}, ("not-positive", "radius", 0.0)),
        ({"steps": replace(STEPS, noise_multiplier=2.0)}, ("needs-clip", "clip")),
    ],
)
def test_a_design_that_cannot_be_is_refused(given, refusal):
    with refuses(*refusal):
        change(DESIGN, **given)


def test_records_that_cannot_be_drawn_are_refused():
    good = stripes()
    for x, y, option in (
        (good.x * 3, good.y, "x"),
        (good.x * np.nan, good.y, "x"),
        (good.x, good.y + 1, "y"),
        (good.x, good.y / 2, "y"),
    ):
        with refuses("out-of-range", option):
            fit(DESIGN, Records(x, y), 2, seed=0)
    with refuses("several-problems") as caught:
        fit(DESIGN, Records(good.x[:0], good.y[:0]), 2, seed=0)
    assert [problem.option for problem in caught.value.problems] == ["x", "y"]


def test_every_likelihood_has_its_name():
    assert tuple(variational.LIKELIHOODS) == LIKELIHOODS
