import pickle
from dataclasses import replace

import numpy as np
import pytest
from compiled import EVERY, compiled
from refusals import refuses
from settings import make_mechanism

from dpaudit.accounting import NUMERICAL, epsilon, gaussian_epsilon
from dpaudit.canaries import Blank, Random
from dpaudit.data import load
from dpaudit.errors import BadInput
from dpaudit.executors import local_pool
from dpaudit.mechanisms import DPSGD
from dpaudit.mechanisms.dpsgd import EXACT
from dpaudit.mechanisms.warnings import NO_DROPOUT, ONE_SAMPLE
from dpaudit.outputs import softmax
from dpaudit.seeds import trials
from dpaudit.training import backends
from dpaudit.training.backends import BACKENDS, Implementation
from dpaudit.training.dpsgd import fit
from dpaudit.training.predict import logits
from dpaudit.types import IN, OUT, Canary, DPSGDCurve, GaussianCurve, Records, neighbours

UNFIT = BadInput("it is tired", "tired")

SMALL = {
    "network": "mlp",
    "noise_multiplier": 1.0,
    "epochs": 1,
    "batch": 10,
    "samples": 6,
    "dropout": 0.5,
}


@pytest.fixture(scope="module")
def small(data):
    """A mechanism of milliseconds, but for what is changed."""
    return lambda **changes: make_mechanism(DPSGD, data, **{**SMALL, **changes})


@pytest.fixture(scope="module")
def pair(data):
    return Random().build(data, seed=0)


@pytest.fixture(scope="module")
def late():
    """Trials after those that show the test set."""
    return trials(0, 50)[40:]


def alike(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


# ---------------------------------------------------------------- what is released


def test_a_trial_releases_what_attacks_are_promised(small, pair, late):
    (seen,) = small().run(pair, late[:1])
    found = {name: (array.shape, array.dtype) for name, array in seen.items()}
    assert found == {
        "logits": ((3,), np.float32),
        "probabilities": ((3,), np.float32),
        "mc": ((6, 3), np.float32),
        "accuracy": ((), np.float32),
    }
    np.testing.assert_allclose(seen["probabilities"], softmax(seen["logits"]))
    np.testing.assert_allclose(seen["mc"].sum(axis=1), 1, atol=1e-6)
    assert len(np.unique(seen["mc"], axis=0)) == 6


def test_the_first_twenty_trials_of_each_world_also_show_the_test_set(small, pair):
    played = [t for t in trials(0, 50) if t.index in (0, 19, 20)]
    for trial, seen in zip(played, small().run(pair, played), strict=True):
        assert ("test_mc" in seen) == (trial.index < 20)
        if "test_mc" in seen:
            assert seen["test_mc"].shape == (32, 500, 3)
            assert seen["test_mc"].dtype == np.float16
            np.testing.assert_allclose(seen["test_mc"].astype(float).sum(axis=2), 1, atol=2e-3)


def test_a_small_test_set_is_shown_whole(small, pair):
    few = replace(pair, test=type(pair.test)(pair.test.x[:7], pair.test.y[:7]))
    (seen,) = small().run(few, trials(0, 4)[:1])
    assert seen["test_mc"].shape == (32, 7, 3)


def test_what_is_seen_is_said_by_a_model_of_the_trials_own_world(small, pair, late):
    mechanism = small()
    for world, records in ((OUT, pair.out), (IN, pair.inn)):
        trial = next(t for t in late if t.world == world)
        model = fit(mechanism.recipe, records, trial.seed, size=30).model
        (seen,) = mechanism.run(pair, [trial])
        assert np.array_equal(seen["logits"], logits(model, pair.canary.x[None])[0])
        right = logits(model, pair.test.x).argmax(axis=1) == pair.test.y
        assert seen["accuracy"] == pytest.approx(right.mean(), abs=1e-6)


@pytest.mark.parametrize("backend", EVERY)
def test_a_trial_depends_on_the_pair_and_itself_alone(small, pair, late, backend):
    mechanism, some = small(backend=backend), late[:4]
    together = mechanism.run(pair, some)
    backwards = mechanism.run(pair, some[::-1])[::-1]
    alone = [small(backend=backend).run(pair, [trial])[0] for trial in some]
    for first, second, third in zip(together, backwards, alone, strict=True):
        assert alike(first, second)
        assert alike(first, third)


@pytest.mark.parametrize("backend", EVERY)
def test_world_0_is_trained_as_if_there_had_never_been_a_canary(small, data, late, backend):
    mechanism, canary = small(backend=backend), data.pool.x[7] + 1
    pair = neighbours(data, Canary(canary, 0, "seventh", "by hand", removed=7))
    never = Records(np.delete(data.pool.x, 7, axis=0), np.delete(data.pool.y, 7))
    trial = next(t for t in late if t.world == OUT)
    model = fit(mechanism.recipe, never, trial.seed, size=30).model
    (seen,) = mechanism.run(pair, [trial])
    assert np.array_equal(seen["logits"], logits(model, canary[None])[0])


@compiled
def test_worker_processes_play_the_same_trials_as_this_one(small, pair, late):
    mechanisms = [small(backend=backend) for backend in BACKENDS for _ in range(2)]
    jobs = (mechanisms, [pair] * len(mechanisms), [late[:2], late[1:3]] * len(BACKENDS))
    here = map(DPSGD.run, *jobs)
    with local_pool(2) as pool:
        for there, seen in zip(pool.map(DPSGD.run, *jobs), here, strict=True):
            assert all(map(alike, there, seen))


def test_every_trial_has_noise_of_its_own_though_all_start_alike(small, pair, late):
    seen = small(init="fixed").run(pair, late[:4])
    assert len({observation["logits"].tobytes() for observation in seen}) == 4


def test_every_trial_has_dropout_masks_of_its_own(small, pair, monkeypatch):
    """CanaryProducts on models that are all the same, because nothing trains them."""
    monkeypatch.setitem(BACKENDS, "opacus", Implementation(lambda job: None))
    seen = small(init="fixed", backend="opacus").run(pair, trials(0, 4))
    for name, different in (("logits", 1), ("mc", 4), ("test_mc", 4)):
        assert len({observation[name].tobytes() for observation in seen}) == different


@pytest.mark.parametrize("builder", [Random(), Blank()])
@pytest.mark.parametrize("batch", [10, "full"])
def test_both_worlds_are_trained_by_the_same_public_numbers(
    small, data, late, builder, batch, monkeypatch
):
    """Rate, steps and divisor come from the pool's size, never from that of D or D'."""
    jobs = []

    def train(job):
        jobs.append(job)

    monkeypatch.setitem(BACKENDS, "opacus", Implementation(train))
    mechanism = small(batch=batch, epochs=2, lr=0.5, backend="opacus")
    pair = builder.build(data, seed=0)
    mechanism.run(pair, late[:2])
    assert [len(job.y) for job in jobs] == [len(pair.out), len(pair.inn)]
    (public,) = {(job.sample_rate, job.steps, job.rate_per_sum) for job in jobs}
    expected = (1.0, 2, 0.5 / 30) if batch == "full" else (10 / 30, 6, 0.5 / 10)
    assert public == pytest.approx(expected, rel=1e-12)
    assert {(job.noise_multiplier, job.clip) for job in jobs} == {(1.0, 1.0)}


# ---------------------------------------------------------------- the claim


def test_the_claim_is_the_chosen_accountants_and_the_others_stand_beside(small):
    curve = DPSGDCurve(sample_rate=10 / 30, steps=3, noise_multiplier=5.0)
    spent = {name: epsilon(curve, 1e-4, name) for name in NUMERICAL}
    for accountant in NUMERICAL:
        claim = small(noise_multiplier=5.0, delta=1e-4, accountant=accountant).claim
        assert claim.curve == curve
        assert claim.delta == 1e-4
        assert claim.epsilon == spent[accountant]
        assert claim.source == f"{accountant} accountant"
        assert {**claim.beside, accountant: claim.epsilon} == spent
        assert accountant not in claim.beside
        assert (claim.unit, claim.adjacency) == ("whole model", "add-remove")


@pytest.mark.parametrize("batch", ["full", 30, 1000])
def test_full_batches_claim_the_exact_gaussian_epsilon(small, batch):
    claim = small(batch=batch, epochs=9, noise_multiplier=6.0, accountant="rdp").claim
    assert claim.curve == GaussianCurve(mu=0.5)
    assert claim.epsilon == gaussian_epsilon(0.5, 1e-5)
    assert claim.source == EXACT
    assert claim.beside == {}


def test_an_epsilon_that_is_asked_for_is_claimed_and_not_exceeded(small):
    for batch in (10, "full"):
        claim = small(noise_multiplier=None, epsilon=1.0, batch=batch).claim
        assert 0.99 <= claim.epsilon <= 1.0


# ---------------------------------------------------------------- identity


CHANGES = {
    "network": "logreg",
    "noise_multiplier": 2.0,
    "delta": 1e-6,
    "accountant": "rdp",
    "epochs": 2,
    "batch": "full",
    "lr": 0.5,
    "clip": 2.0,
    "dropout": 0.25,
    "init": "fixed",
    "samples": 7,
    "seed": 1,
    "backend": "opacus",
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_repr_tells_every_setting_that_changes_a_number(small, name):
    assert repr(small(**{name: CHANGES[name]})) != repr(small())
    assert repr(small()) == repr(small())


def test_the_repr_tells_the_data_that_the_rate_and_the_network_are_made_from(small, data):
    fewer = replace(data, pool=data.pool.without(0))
    assert repr(make_mechanism(DPSGD, fewer, **SMALL)) != repr(small())


def test_what_trains_is_built_when_asked_and_named_by_what_it_is_built_for(small, monkeypatch):
    monkeypatch.setitem(BACKENDS, "native", Implementation(lambda job: None, lambda *model: UNFIT))
    backends._first_use.cache_clear()
    mechanism = small()
    assert backends._first_use.cache_info().misses == 0
    built = mechanism.build_backend()
    assert (mechanism.recipe.training.backend, built.recipe.training.backend) == ("auto", "torch")
    assert (built.backend.name, built.backend.reason) == ("torch", "not native: it is tired")
    assert repr(built) == repr(small(backend="torch"))
    backends._first_use.cache_clear()


def test_a_mechanism_can_be_sent_to_another_process(small, pair, late):
    mechanism = small(batch="full")
    assert mechanism.claim.epsilon > 0
    sent = pickle.loads(pickle.dumps(mechanism))
    assert repr(sent) == repr(mechanism)
    assert sent.claim == mechanism.claim
    assert alike(sent.run(pair, late[:1])[0], mechanism.run(pair, late[:1])[0])


# ---------------------------------------------------------------- cautions and refusals


def test_what_may_be_a_mistake_is_cautioned_about(small, pair):
    assert small().about(pair).warnings == []
    (weak,) = small(delta=0.04).about(pair).warnings
    assert weak.startswith("delta 0.04 ")
    assert "1/30" in weak
    (certain,) = small(dropout=0.0, samples=1).about(pair).warnings
    assert certain == NO_DROPOUT
    (crowded,) = small(batch=31).about(pair).warnings
    assert "batch of 31" in crowded
    assert "30 records" in crowded
    (single,) = small(samples=1).about(pair).warnings
    assert single == ONE_SAMPLE


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"network": "cnn-small"}, ("too-small", "network", (1, 2, 2))),
        ({"network": "mpl"}, ("unknown-name", "network", "mpl")),
        ({"noise_multiplier": 0.0}, ("not-positive", "noise_multiplier", 0.0)),
        ({"epsilon": -1.0, "noise_multiplier": None}, ("not-positive", "epsilon", -1.0)),
        ({"delta": 0.0}, ("out-of-range", "delta", 0.0)),
        ({"accountant": "moments"}, ("unknown-choice", "accountant", "moments")),
        (
            {"backend": "opacuss"},
            ("unknown-choice", "backend", "opacuss"),
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is(small, changes, refusal):
    with refuses(*refusal):
        small(**changes)


def test_a_negative_seed_is_refused(small):
    with refuses("too-small", "seed", -1):
        small(seed=-1)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_records_of_another_type_than_float32_are_refused(data, dtype):
    other = replace(data, pool=replace(data.pool, x=data.pool.x.astype(dtype)))
    with refuses("wrong-type", "data", dtype.__name__):
        make_mechanism(DPSGD, other, **SMALL)


# ---------------------------------------------------------------- what a network could reach


def test_a_network_without_noise_is_measured_for_an_observer_only():
    digits = load("digits")
    pair = Random().build(digits, seed=0)
    noisy = make_mechanism(DPSGD, digits, **{**SMALL, "noise_multiplier": 20.0, "batch": 100})
    state = np.random.get_state()[1].copy()
    found = noisy.about(pair).utility["accuracy_without_noise"]
    assert found == noisy.about(pair).utility["accuracy_without_noise"]
    assert np.array_equal(state, np.random.get_state()[1])
    (seen,) = noisy.run(pair, trials(0, 2)[:1])
    assert found > seen["accuracy"] + 0.1
    white_box = make_mechanism(DPSGD, digits, **SMALL, adversary="white-box")
    assert white_box.about(replace(pair, given=white_box.craft(digits, 0))).utility == {}
