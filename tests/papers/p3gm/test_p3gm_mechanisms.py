"""P3GM and its parts as they are played, and what audits make of what they promise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from settings import make_mechanism

from dpaudit.accounting import gaussian_epsilon
from dpaudit.canaries import Null
from dpaudit.estimators import ClopperPearson
from dpaudit.estimators.trials import Trials
from dpaudit.papers.p3gm import (
    P3GM,
    P3GMEM,
    P3GMPCA,
    Mixture,
    Nearest,
    Opposites,
    SecondMoment,
    pca,
)
from dpaudit.papers.p3gm.accounting import Phases, replacing
from dpaudit.papers.p3gm.design import without_noise
from dpaudit.papers.p3gm.mechanism import THEOREM
from dpaudit.protocols import lacking
from dpaudit.seeds import trials
from dpaudit.types import Data, GaussianCurve, Records

SURE = 1 - 1e-5
"""Of bounds that a test holds against the truth: one in 100,000 seeds would be a false alarm."""


def pictures(n, seed):
    draw = np.random.default_rng(seed)
    x = draw.random((n, 1, 3, 3)) * np.linspace(0.1, 1, 9).reshape(1, 3, 3)
    return Records(x.astype(np.float32), np.arange(n) % 2)


@pytest.fixture(scope="module")
def data():
    return Data("made up", pictures(120, 0), pictures(60, 1), pictures(20, 2), classes=2)


def opposed(mechanism, data, seed=0):
    given = mechanism.craft(data, seed)
    return Opposites(**given).build(data, seed)


def counted_bound(mechanism, attack, data, n, confidence=0.95, pair=None):
    """The errors of a fixed rule in n trials of each world, and the bound that they give."""
    wanted = trials(0, 2 * n)
    seen = mechanism.run(pair or opposed(mechanism, data), wanted)
    stacked = {name: np.stack([o[name] for o in seen]) for name in seen[0]}
    assert stacked.keys() == mechanism.example().keys()
    worlds = np.array([trial.world for trial in wanted])
    looked = Trials(attack.features(stacked, {}), worlds, repr(attack))
    counts = looked.count(looked.fit(attack, None))
    return counts, ClopperPearson(confidence).bound(counts, mechanism.claim.delta).epsilon


# ---------------------------------------------------------------- the canary


def test_opposites_are_neighbours_by_replacing_one_that_is_settled_with_the_canary(data):
    pair = Opposites().build(data, 3)
    assert pair.adjacency == "replace"
    assert len(pair.out) == len(pair.inn) == len(data.pool)
    assert (pair.out.x[:-1] == pair.inn.x[:-1]).all()
    assert (pair.out.y == pair.inn.y).all()
    assert (pair.out.x[-1] == 0).all()
    assert (pair.inn.x[-1] == pair.canary.x).all()
    dark = data.shadow.x.mean(axis=0)
    assert dark[pair.canary.x == 1].max() < dark[pair.canary.x == 0].min()
    with refuses("shape-mismatch", "opposites", (2,)):
        Opposites(np.zeros((2, 2))).build(data, 0)


def test_opposites_of_the_mechanism_s_own_choice_take_their_places(data):
    wishart, gaussian = (P3GMPCA(data, noise=noise) for noise in ("wishart", "gaussian"))
    for mechanism, norm in ((wishart, 0), (gaussian, 1)):
        pair = opposed(mechanism, data)
        u, v = pair.out.x[-1].ravel(), pair.inn.x[-1].ravel()
        assert np.linalg.norm(u) == norm
        assert np.linalg.norm(v) == 1
        assert u @ v == 0


# ---------------------------------------------------------------- DP-PCA


def test_wishart_noise_is_refuted_by_the_smallest_eigenvalue(data):
    """At 1 some 28 % of releases cannot have held the canary, and none that held it is so."""
    mechanism = P3GMPCA(data, epsilon_pca=1.0)
    assert (mechanism.claim.epsilon, mechanism.claim.delta) == (1, 0)
    assert mechanism.claim.curve is None
    counts, epsilon = counted_bound(mechanism, SecondMoment(), data, 500)
    assert counts.fn == 0
    p = pca.escape(1.0)
    assert abs(1 - counts.fp / 500 - p) < 5 * math.sqrt(p * (1 - p) / 500)
    assert epsilon > 3
    _, sure = counted_bound(mechanism, SecondMoment(), data, 500, SURE)
    assert sure > mechanism.claim.epsilon


def test_gaussian_noise_is_not_and_its_claim_is_that_of_its_curve(data):
    """The likelihood ratio of two records at right angles has the claimed law exactly."""
    mechanism = P3GMPCA(data, noise="gaussian", epsilon_pca=3.0)
    claim = mechanism.claim
    assert isinstance(claim.curve, GaussianCurve)
    assert claim.epsilon == pytest.approx(3.0, abs=1e-6)
    assert claim.epsilon == gaussian_epsilon(claim.curve.mu, 1e-5)
    seen = mechanism.run(opposed(mechanism, data), wanted := trials(0, 4000))
    ratio = np.array([o["moment_ratio"] for o in seen])
    inn = np.array([t.world for t in wanted]) == 1
    mu = claim.curve.mu
    for scores, mean in ((ratio[inn], mu**2 / 2), (ratio[~inn], -(mu**2) / 2)):
        # Normal of variance mu^2: four figures, none 5 deviations off but once in 400,000 seeds.
        assert abs(scores.mean() - mean) < 5 * mu / math.sqrt(2000)
        assert abs(scores.var() / mu**2 - 1) < 5 * math.sqrt(2 / 2000)
    _, sure = counted_bound(mechanism, SecondMoment(), data, 500, SURE)
    assert sure <= claim.epsilon


# ---------------------------------------------------------------- DP-EM


def test_published_em_is_refuted_by_the_size_of_its_noise_and_safe_sums_are_not(data):
    given = {"latent": 3, "iterations": 5, "em_noise": 50.0}
    published = make_mechanism(P3GMEM, data, **given)
    assert published.claim.curve.mu == pytest.approx(math.sqrt(5 * 7) / 50)
    _, sure = counted_bound(published, Mixture(), data, 200, SURE)
    assert sure > published.claim.epsilon
    far = Mixture().features({"mixture_ratio": np.array([-1e17, -1.0, 0.0, 2.0])}, {})[:, 0]
    assert (np.diff(far) > 0).all()
    assert far[2] == 0
    assert np.abs(far).max() < 50
    safe = P3GMEM(data, variant="safe", **given)
    assert safe.claim.curve.mu == pytest.approx(math.sqrt(5 * 3) / 50)
    _, sure = counted_bound(safe, Mixture(), data, 200, SURE)
    assert sure <= safe.claim.epsilon


def test_safe_em_leaks_no_more_than_its_curve_at_little_noise(data):
    """The mean log-likelihood ratio in D' is at most mu^2/2; 5 deviations of 1,000 trials."""
    safe = P3GMEM(data, variant="safe", latent=3, iterations=4, em_noise=3.0)
    mu = safe.claim.curve.mu
    seen = safe.run(opposed(safe, data), trials(0, 2000))
    ratio = np.array([o["mixture_ratio"] for o in seen])[1::2]
    assert 0.05 * mu**2 < ratio.mean() < mu**2 / 2 + 5 * mu / math.sqrt(1000)


# ---------------------------------------------------------------- the generator


SMALL = {"latent": 2, "hidden": 8, "iterations": 2, "batch": 30, "epochs": 2, "rows": 20}


def test_the_claim_of_the_whole_is_what_all_phases_spend_if_one_record_is_replaced(data):
    mechanism = make_mechanism(P3GM, data, epsilon=1.0, **SMALL)
    claim, d = mechanism.claim, mechanism.design
    assert 0.99 < claim.epsilon <= 1.0
    assert (claim.delta, claim.adjacency, claim.curve) == (1e-5, "replace", None)
    mu = math.hypot(1 / d.first.pca_noise, math.sqrt(2 * 3) / d.first.em_noise)
    assert gaussian_epsilon(1 / d.first.pca_noise, 1e-5) == pytest.approx(0.3, abs=1e-6)
    assert claim.epsilon == replacing(mu, 0.25, 8, d.steps.noise_multiplier, 1e-5)


def test_full_batches_have_a_gaussian_curve(data):
    whole = make_mechanism(
        P3GM, data, epsilon=None, noise_multiplier=20.0, **{**SMALL, "batch": "full"}
    )
    sgd = 2 * math.sqrt(2) / 20
    mu = math.hypot(math.hypot(1 / whole.design.first.pca_noise, math.sqrt(6) / 60), sgd)
    assert whole.claim.curve.mu == pytest.approx(mu)
    assert whole.claim.epsilon == pytest.approx(gaussian_epsilon(mu, 1e-5))


def test_the_published_claim_is_theorem_3(data):
    given = {**SMALL, "variant": "published", "epsilon_pca": 0.1, "em_noise": 100.0}
    mechanism = make_mechanism(P3GM, data, epsilon=1.5, **given)
    d = mechanism.design
    assert (d.first.pca, d.first.pca_noise, d.first.em) == ("wishart", 0.1, "published")
    phases = Phases(0.1, 3, 2, 100.0, 0.25, 8, d.steps.noise_multiplier)
    assert mechanism.claim.epsilon == phases.composed_epsilon(1e-5)
    assert 1.49 < mechanism.claim.epsilon <= 1.5
    assert mechanism.claim.source == THEOREM


@pytest.mark.parametrize("model", ["p3gm", "ae", "vae"])
def test_a_trial_is_its_seed_s_alone_whatever_is_played_beside_it(data, model):
    mechanism = make_mechanism(P3GM, data, model=model, epsilon=None, noise_multiplier=3.0, **SMALL)
    pair, wanted = opposed(mechanism, data), trials(0, 4)
    together = mechanism.run(pair, wanted)
    (alone,) = mechanism.run(pair, wanted[2:3])
    assert together[2] == alone
    assert together[0] != alone
    assert alone.keys() == mechanism.example().keys()
    assert ("subspace" in alone) == (model != "vae")
    assert all(np.isfinite(x) and x.shape == () for x in alone.values())
    features = Nearest().features({"nearest": np.array([3.0, 1.0])}, {})
    assert features[1] > features[0]


def test_a_generator_without_noise_shows_the_canary(data):
    """Not by chance: the worst of its generators knows it better than the best of the others."""
    given = {**SMALL, "latent": 6, "hidden": 32, "epochs": 20, "lr": 0.03}
    mechanism = make_mechanism(P3GM, data, epsilon=None, noise_multiplier=3.0, **given)
    mechanism.design = without_noise(mechanism.design)
    seen = mechanism.run(opposed(mechanism, data), trials(0, 6))
    error = np.array([o["reconstruction"] for o in seen])
    assert error[1::2].max() < error[::2].min() - 0.3
    inside = np.array([o["subspace"] for o in seen])
    assert inside[1::2].min() > inside[::2].max() + 0.1


def test_the_null_shows_nothing(data):
    mechanism = P3GMPCA(data, epsilon_pca=1.0)
    null = Null("replace").build(data, 0)
    assert counted_bound(mechanism, SecondMoment(), data, 200, SURE, null)[1] == 0


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("kind", "given", "refusal"),
    [
        (P3GMPCA, {"noise": "laplace"}, ("unknown-choice", "noise", "laplace")),
        (P3GMPCA, {"epsilon_pca": 0.0}, ("not-positive", "epsilon_pca", 0.0)),
        (P3GMEM, {"variant": "new", "latent": 2}, ("unknown-choice", "variant", "new")),
        (P3GMEM, {"latent": 10}, ("too-large", "latent", 10)),
        (P3GMEM, {"components": 0, "em_noise": -1.0, "latent": 2}, ("several-problems",)),
        (P3GM, {"model": "gan"}, ("unknown-choice", "model", "gan")),
        (P3GM, {"likelihood": "poisson"}, ("unknown-choice", "likelihood", "poisson")),
        (P3GM, {"rows": 0}, ("too-small", "rows", 0)),
        (P3GM, {"epsilon_pca": 2.0, **SMALL}, ("budget-spent", "epsilon", 1.0)),
        (
            P3GM,
            {"variant": "published", "epsilon_pca": 0.3, **SMALL},
            ("budget-spent", "epsilon", 1.0),
        ),
        (P3GM, {"em_noise": 0.001, "noise_multiplier": 2.0}, ("too-little-noise",)),
        (P3GM, {"em_noise": 1e-300}, ("too-little-noise",)),
        (P3GM, {"latent": 12}, ("too-large", "latent", 12)),
        (P3GM, {"latent": 10, "label_length": 0.5}, ("too-large", "latent", 10)),
        (
            P3GM,
            {"components": 1, "label_length": 0.5, "latent": 9},
            ("too-small", "components", 1),
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(data, kind, given, refusal):
    with refuses(*refusal) as caught:
        _ = make_mechanism(kind, data, **given).claim
    assert "\n" not in str(caught.value)


def test_a_model_without_phases_has_no_limits_of_theirs(data):
    mechanism = make_mechanism(P3GM, data, model="vae", latent=200, label_length=0.5, components=1)
    assert mechanism.design.network.latent == 200


def test_of_one_value_wishart_noise_is_refuted_and_gaussian_has_no_right_angles():
    thin = [Records(r.x[:, :, :1, :1], r.y) for r in (pictures(60, 0), pictures(60, 1))]
    data = Data("thin", *thin, thin[1], classes=2)
    wishart = P3GMPCA(data, epsilon_pca=1.0)
    assert counted_bound(wishart, SecondMoment(), data, 1000, SURE)[1] > wishart.claim.epsilon
    with refuses("too-small", "features", 1):
        P3GMPCA(data, noise="gaussian")


def test_a_claim_whose_parts_are_refuted_comes_with_a_caution(data):
    published, safe = (
        make_mechanism(P3GM, data, variant=variant) for variant in ("published", "safe")
    )
    pair = opposed(safe, data)
    assert published.claim.epsilon == pytest.approx(1, rel=1e-3)
    assert "p3gm-pca" in published.about(pair).warnings[-1]
    assert "p3gm-em" in published.about(pair).warnings[-1]
    assert safe.about(pair).warnings == []
    assert make_mechanism(P3GM, data, variant="published", model="vae").about(pair).warnings == []


def test_a_report_tells_of_all_phases(data):
    mechanism = make_mechanism(P3GM, data)
    told = mechanism.about(opposed(mechanism, data)).training
    assert "10 directions by DP-PCA (gaussian noise, epsilon 0.3)" in told["network"]
    assert "3 components by DP-EM (safe, 5 iterations, noise 60)" in told["network"]
    assert told["start"] == "taught"


def test_no_attack_of_another_part_is_offered(data):
    for mechanism, other in (
        (P3GMPCA(data, noise="gaussian"), Mixture()),
        (P3GMEM(data, latent=3), SecondMoment()),
    ):
        assert lacking(other, mechanism.example())


def test_values_beyond_what_a_decoder_draws_are_refused(data):
    far = replace(data, pool=Records(data.pool.x * 3, data.pool.y))
    with refuses("out-of-range", "data"):
        make_mechanism(P3GM, far, **SMALL)
