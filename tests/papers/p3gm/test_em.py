"""DP-EM: its steps, its sensitivities, and what the published noise depends on."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from dpaudit.papers.p3gm import em, pca

ROOT = math.sqrt(2)


def points(n, d=3, seed=0):
    draw = np.random.default_rng(seed)
    return pca.within_unit_ball(draw.normal(size=(n, d)) * 0.5)


def mixture(k=3, d=3, seed=0):
    return em.start(k, d, np.random.default_rng(seed))


def likelihood(x, m):
    each = [
        w * multivariate_normal(mean, np.diag(s)).pdf(x)
        for w, mean, s in zip(m.weights, m.means, m.variances, strict=True)
    ]
    return np.stack(each, axis=1)


def test_responsibilities_are_bayes_rule():
    x, m = points(20), mixture()
    joint = likelihood(x, m)
    assert m.responsibilities(x) == pytest.approx(joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("variant", em.VARIANTS)
def test_without_noise_every_variant_is_em_and_the_likelihood_rises(variant):
    x, m = points(400), mixture()
    gamma = m.responsibilities(x)
    n_k = gamma.sum(axis=0)
    means = gamma.T @ x / n_k[:, None]
    squares = np.stack(
        [(g[:, None] * (x - mu) ** 2).sum(axis=0) for g, mu in zip(gamma.T, means, strict=True)]
    )
    once = em.fit(x, m, 1, 0.0, variant, np.random.default_rng(0))
    assert once.weights == pytest.approx(n_k / 400)
    assert once.means == pytest.approx(means)
    assert once.variances == pytest.approx(squares / n_k[:, None])
    steps = [em.fit(x, m, j, 0.0, variant, _draw()) for j in range(7)]
    risen = np.diff([np.log(likelihood(x, now).sum(axis=1)).mean() for now in steps])
    assert (risen > -1e-12).all()


def _draw():
    return np.random.default_rng(0)


def test_the_safe_sums_move_by_no_more_than_their_sensitivity():
    """By brute force over mixtures and replaced records, and reached by the worst of them."""
    draw, most = np.random.default_rng(0), np.zeros(3)
    for seed in range(300):
        m = mixture(seed=seed)._replace(variances=np.full((3, 3), 10 ** -draw.uniform(0.5, 3)))
        x, y = points(2, seed=seed), points(2, seed=seed + 1000)
        x[0], y[0] = (v[0] / np.linalg.norm(v[0]) for v in (x, y))
        y[1] = x[1]
        apart = (
            em.VARIANTS["safe"].exact(x, m, 1).values - em.VARIANTS["safe"].exact(y, m, 1).values
        )
        moved = [np.linalg.norm(part) for part in np.split(apart, [3, 12])]
        most = np.maximum(most, moved)
    assert (most <= np.array([ROOT, 2, ROOT]) + 1e-12).all()
    assert most[0] == pytest.approx(ROOT, rel=0.01)
    alone = mixture(k=1)
    v = np.array([[1.0, 0, 0]])
    exact = em.VARIANTS["safe"].exact
    assert np.linalg.norm(exact(v, alone, 1).values - exact(-v, alone, 1).values) == 2


def test_the_safe_noise_says_nothing_of_the_data_and_the_published_one_does():
    m = mixture()
    safe, published = (em.VARIANTS[name].exact for name in ("safe", "published"))
    x, y = points(50), points(50, seed=1)
    assert (safe(x, m, 7.0).deviations == safe(y, m, 7.0).deviations).all()
    assert safe(x, m, 7.0).deviations == pytest.approx(7 * np.repeat([ROOT, 2, ROOT], [3, 9, 9]))
    n_k = m.responsibilities(x).sum(axis=0)
    each = np.repeat(1 / n_k, 3)
    scales = np.concatenate([np.full(3, ROOT / 50), 2 * each, ROOT * each])
    assert published(x, m, 7.0).deviations == pytest.approx(7 * scales)


def test_releases_are_counted_as_the_accounting_counts_them():
    assert em.VARIANTS["published"].releases(3) == 7
    assert em.VARIANTS["safe"].releases(3) == 3


@pytest.mark.parametrize("variant", em.VARIANTS)
def test_noise_has_its_deviation(variant):
    """Some 20 variances over 4,000 draws, within 5 of their deviations: wrong 2 times in 1e5."""
    x, m, how = points(60), mixture(), em.VARIANTS[variant]
    exact, draw = how.exact(x, m, 3.0), np.random.default_rng(1)
    noisy = np.stack([exact.noisy(draw) for _ in range(4000)])
    found = ((noisy - exact.values) / exact.deviations).var(axis=0)
    assert (np.abs(found - 1) < 5 * math.sqrt(2 / 4000)).all()


@pytest.mark.parametrize("variant", em.VARIANTS)
def test_the_log_ratio_is_that_of_everything_that_was_released(variant):
    x, m = points(30), mixture()
    y = np.concatenate([x[:-1], -x[-1:]])
    naive, how, now, draw = 0.0, em.VARIANTS[variant], m, np.random.default_rng(2)
    for _ in range(4):
        noisy = how.exact(y, now, 5.0).noisy(draw)
        for sign, world in ((1, y), (-1, x)):
            values, deviations = how.exact(world, now, 5.0)
            naive += sign * norm.logpdf(noisy, values, deviations).sum()
        now = how.next(noisy, now, 30)
    found = em.log_ratio((x, y), 1, m, 4, 5.0, variant, np.random.default_rng(2))
    assert found == pytest.approx(naive)
    assert em.log_ratio((x, x), 0, m, 4, 5.0, variant, np.random.default_rng(2)) == 0
    last = em.fit(y, m, 4, 5.0, variant, np.random.default_rng(2))
    assert all((a == b).all() for a, b in zip(last, now, strict=True))


@pytest.mark.parametrize("variant", em.VARIANTS)
def test_whatever_the_noise_leaves_is_a_mixture_in_the_unit_ball(variant):
    m = em.fit(points(40), mixture(), 5, 100.0, variant, np.random.default_rng(3))
    assert m.weights.sum() == pytest.approx(1)
    assert (m.weights > 0).all()
    assert (np.linalg.norm(m.means, axis=1) <= 1 + 1e-12).all()
    assert (m.variances >= em.LEAST_VARIANCE).all()


def test_points_of_a_mixture_have_its_mean_and_variance():
    """Of 20,000 points, within 5 deviations."""
    m = em.GaussianMixture(
        np.array([0.3, 0.7]), np.array([[1.0], [-1.0]]), np.array([[0.1], [0.2]])
    )
    z = m.sample(20_000, np.random.default_rng(4))[:, 0]
    variance = 0.3 * 1.1 + 0.7 * 1.2 - 0.16
    assert abs(z.mean() + 0.4) < 5 * math.sqrt(variance / 20_000)
    assert abs((z > 0).mean() - 0.3) < 0.03
