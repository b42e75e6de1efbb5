"""What each adversary sees of a model in the making, against trainings done by hand."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from dpaudit.audit import play
from dpaudit.canaries import Blank, Dirac, RandomDirection
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.errors import BadInput, OtherConfiguration
from dpaudit.mechanisms import DPSGD
from dpaudit.seeds import trials
from dpaudit.training import gradients
from dpaudit.training.dpsgd import fit
from dpaudit.training.gradients import direction, network
from dpaudit.training.job import GradientCanaries
from dpaudit.training.predict import logits
from dpaudit.types import IN, OUT, GaussianCurve, StepsCurve

SMALL = {"network": "logreg", "noise_multiplier": 2.0, "batch": "full"}


@pytest.fixture(scope="module")
def facing(data):
    """A mechanism of milliseconds, but for what is changed."""
    return lambda name, **changes: DPSGD.facing(name, data, **{**SMALL, **changes})


@pytest.fixture(scope="module")
def given(facing, data):
    """What all that craft have chosen."""
    return facing("worst-case").craft(data, seed=0)


@pytest.fixture(scope="module")
def armed(data, given, facing):
    """The pair that a canary makes, with what comes along."""

    def armed(kind, **more):
        pair = kind(facing("white-box").recipe, **given, **more).build(data, seed=0)
        return replace(pair, given={**given, **pair.given})

    return armed


def of(world, count=60):
    return [trial for trial in trials(0, count) if trial.world == world]


# ---------------------------------------------------------------- what comes along


def test_an_adversary_brings_its_settings_unless_others_are_given(facing):
    recipe = facing("worst-case").recipe
    assert (recipe.training.steps, recipe.training.lr, recipe.training.dropout) == (10, 0.03, 0.0)
    assert facing("worst-case", lr=2.0).recipe.training.lr == 2.0
    assert facing("worst-case", epochs=3).recipe.training.steps is None


def test_an_observer_crafts_nothing(facing, data):
    assert facing("observer").craft(data, seed=0) == {}


def test_identity_tells_adversaries_apart_and_survives_the_way_to_a_worker(facing, armed):
    told = {repr(facing(name)) for name in ADVERSARIES}
    assert len(told) == len(ADVERSARIES)
    pair, some = armed(Dirac), trials(0, 4)
    for name in ("white-box", "final-weights"):
        mechanism = facing(name)
        sent = pickle.loads(pickle.dumps(mechanism))
        for here, there in zip(mechanism.run(pair, some), sent.run(pair, some), strict=True):
            assert {k: v.tolist() for k, v in here.items()} == {
                k: v.tolist() for k, v in there.items()
            }


# ---------------------------------------------------------------- what is seen


def test_worst_case_asks_models_that_start_from_the_crafted_parameters(facing, armed, given):
    mechanism, pair = facing("worst-case"), armed(Blank)
    (trial, *_) = of(IN)
    (seen,) = mechanism.run(pair, [trial])
    model = fit(
        mechanism.recipe, pair.inn, trial.seed, size=mechanism.records, initial=given["initial"]
    ).model
    assert np.array_equal(seen["logits"], logits(model, pair.canary.x[None])[0])
    assert "mc" not in seen


@pytest.mark.parametrize("kind", [Dirac, RandomDirection])
@pytest.mark.parametrize("batch", ["full", 10])
def test_white_box_sees_every_update_along_the_gradient_that_it_put_in(
    facing, armed, given, kind, batch
):
    mechanism, pair = facing("white-box", batch=batch), armed(kind)
    g = pair.given.get("directions")
    if g is None:
        g = np.eye(len(given["initial"]), dtype=np.float32)[pair.given["coordinates"]]
    for trial in (of(OUT)[0], of(IN)[0]):
        (seen,) = mechanism.run(pair, [trial])
        canaries = GradientCanaries(g, np.array([trial.world == IN]))
        by_hand = fit(
            *(mechanism.recipe, pair.out, trial.seed),
            size=mechanism.records,
            initial=given["initial"],
            gradient_canaries=canaries,
        )
        assert np.array_equal(seen["updates"], by_hand.products[:, 0])
        assert seen["updates"].shape == (10,)


@pytest.mark.parametrize("kind", [Dirac, Blank])
def test_final_weights_have_gone_as_far_as_all_updates_together(facing, armed, kind):
    """Of a record, along its gradient at the initial parameters."""
    pair, some = armed(kind), trials(0, 8)
    seen = zip(
        facing("final-weights").run(pair, some), facing("white-box").run(pair, some), strict=True
    )
    for moved, updates in seen:
        assert moved["moved"] == pytest.approx(updates["updates"].sum(), abs=2e-3)


def test_a_records_gradient_is_aimed_at_and_not_put_in_twice(facing, armed, given):
    mechanism, pair = facing("white-box", noise_multiplier=1e-6, epsilon=None), armed(Blank)
    g = direction(mechanism.recipe, given["initial"], pair.canary.x, pair.canary.y)
    out, inn = (mechanism.run(pair, of(world)[:1])[0]["updates"] for world in (OUT, IN))
    assert len(pair.inn) == len(pair.out) + 1
    assert inn[0] - out[0] == pytest.approx(1.0, abs=1e-3)
    assert np.linalg.norm(g) == pytest.approx(1.0, abs=1e-5)


def test_directions_are_made_once_however_many_trials_are_played(facing, armed, monkeypatch):
    made = []
    for kind, aimed in ((Blank, "direction"), (Dirac, "directions")):
        real = getattr(gradients, aimed)
        monkeypatch.setattr(gradients, aimed, lambda *a, f=real: (made.append(1), f(*a))[1])
        for name in ("final-weights", "white-box"):
            made.clear()
            facing(name).run(armed(kind), trials(0, 4))
            assert len(made) == 1
        monkeypatch.undo()


def test_scores_of_both_worlds_are_a_gaussian_mechanism_apart(facing, armed):
    """mu = sqrt(T)/s = 1.58; the mean of 400 pairs errs by .07, so that 5 of it are one in 1e6."""
    mechanism, pair = facing("white-box"), armed(Dirac)
    sums = [
        np.array([seen["updates"].sum() for seen in mechanism.run(pair, of(world, 800))])
        for world in (OUT, IN)
    ]
    deviation = 2.0 * np.sqrt(10)
    assert (sums[1].mean() - sums[0].mean()) / deviation == pytest.approx(10 / deviation, abs=0.36)
    assert mechanism.claim.curve == GaussianCurve(pytest.approx(10 / deviation))


# ---------------------------------------------------------------- single steps


def test_single_steps_are_noise_and_the_canary_and_nothing_of_the_records(facing, armed):
    mechanism, pair = facing("per-step", batch=10, epochs=200), armed(Dirac)
    steps = mechanism.recipe.steps(mechanism.records)
    assert mechanism.claim.curve == StepsCurve(10 / 30, steps, 2.0)
    assert mechanism.models == mechanism.trials_per_call == 2 * steps
    every = trials(0, mechanism.models)
    seen = {w: [] for w in (OUT, IN)}
    for trial, one in zip(every, mechanism.run(pair, every), strict=True):
        seen[trial.world].append(float(one["step"]))
    # 600 steps of deviation 2: a mean errs by .08, so that 5 of it are one in 1e6.
    assert np.mean(seen[OUT]) == pytest.approx(0.0, abs=0.41)
    assert np.mean(seen[IN]) == pytest.approx(1.0, abs=0.41)
    assert np.std(seen[IN]) == pytest.approx(2.0, rel=0.15)


def test_a_step_is_the_same_whichever_others_are_played(facing, armed):
    mechanism, pair = facing("per-step", batch=10, epochs=4), armed(Dirac)
    every = trials(0, mechanism.models)
    together = mechanism.run(pair, every)
    for i in (0, 3, 7):
        assert mechanism.run(pair, [every[i]])[0]["step"] == together[i]["step"]
    other = facing("per-step", batch=10, epochs=4, seed=1).run(pair, every)
    assert other[0]["step"] != together[0]["step"]


def test_of_an_odd_number_of_steps_the_last_is_left_out(facing):
    assert facing("per-step", steps=7).models == 12
    assert facing("worst-case").models is None


def test_a_pair_that_lacks_what_was_crafted_is_refused(facing, data, armed):
    for name in ("worst-case", "final-weights", "white-box"):
        with refuses("needs-parameters", "adversary", name):
            facing(name).run(Blank().build(data, seed=0), trials(0, 4))
    with refuses("needs-gradient-canary", "canary"):
        facing("per-step").run(armed(Blank), trials(0, 4))


def test_canaries_that_are_given_the_crafted_parameters_pass_them_on(facing, data, given):
    recipe = facing("white-box").recipe
    for kind in (Blank, Dirac, RandomDirection):
        pair = kind(recipe, **given).build(data, seed=0)
        assert np.array_equal(pair.given["initial"], given["initial"])


def test_another_gradient_or_start_is_another_run(facing, data, given, tmp_path):
    mechanism, recipe = facing("white-box"), facing("white-box").recipe
    call = {"mechanism": mechanism, "models": 4, "out": tmp_path / "run", "workers": 1}
    play(pair=Dirac(recipe, **given).build(data, 0), **call)
    other = replace(
        Dirac(recipe, **given).build(data, 0), given={**given, "coordinates": np.array([3])}
    )
    for pair in (RandomDirection(recipe, **given).build(data, 0), other):
        with pytest.raises(OtherConfiguration, match="pair: "):
            play(pair=pair, **call)
    with pytest.raises(BadInput, match="prepare"):
        play(facing("per-step"), other, out=tmp_path / "steps")


# ---------------------------------------------------------------- what is told of it


def test_what_is_told_follows_the_adversary_and_its_canary(facing, armed):
    for name in ADVERSARIES:
        for kind, planted in ((Blank, 0), (Dirac, 1)):
            told = facing(name).about(armed(kind))
            assert told.attacker == name
            assert told.adversary == ADVERSARIES[name].describe(planted)
            assert told.deployment == ADVERSARIES[name].follows


def test_the_training_is_told_with_where_it_starts(facing, armed):
    told = facing("white-box", batch=10).about(armed(Dirac)).training
    assert told == {
        "network": "logreg",
        "steps": 10,
        "batch": pytest.approx(10.0),
        "sample_rate": pytest.approx(10 / 30),
        "lr": 0.03,
        "clip": 1.0,
        "noise_multiplier": 2.0,
        "dropout": 0.0,
        "start": "crafted",
    }
    assert facing("observer", init="fixed").about(armed(Blank)).training["start"] == "fixed"


def test_a_record_whose_gradient_is_below_the_clip_norm_is_warned_of(facing, armed, data, given):
    pair = armed(Blank)
    recipe = facing("worst-case").recipe
    norm = np.linalg.norm(
        np.concatenate([g.ravel() for g in by_hand(recipe, given["initial"], pair.canary)])
    )

    def warned(name, clip, pair):
        return [w for w in facing(name, clip=clip).about(pair).warnings if "clip norm" in w]

    for name in ("worst-case", "final-weights", "white-box"):
        assert not warned(name, 0.9 * norm, pair)
        (warning,) = warned(name, 1.1 * norm, pair)
        assert f"norm of {norm:.3g}," in warning
        assert f"clip norm of {1.1 * norm:g}:" in warning
    for other in (armed(Dirac), replace(pair, canary=replace(pair.canary, kind="nothing"))):
        assert not warned("white-box", 1.1 * norm, other)
    assert not warned("observer", 1.1 * norm, Blank().build(data, 0))


def test_a_start_that_has_not_learned_the_records_is_warned_of(facing, armed):
    mechanism, pair = facing("white-box"), armed(Dirac)
    (warning,) = mechanism.about(pair).warnings  # labels here are drawn: nothing to learn
    assert " 5.06 " in warning
    assert "(1.1 " in warning
    z = logits(network(mechanism.recipe, pair.given["initial"]), pair.out.x)
    learned = replace(pair, out=replace(pair.out, y=z.argmax(axis=1)))
    assert mechanism.about(learned).warnings == []


def by_hand(recipe, theta, canary):
    """The gradient of a logistic regression's cross-entropy: (p - y) x, and p - y."""
    z = logits(network(recipe, theta), canary.x[None])[0]
    p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    missed = p - np.eye(len(p))[canary.y]
    return np.outer(missed, canary.x.ravel()), missed


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("name", ADVERSARIES)
def test_an_example_has_the_names_and_shapes_of_what_is_seen(facing, armed, name, dropout):
    mechanism = facing(name, dropout=dropout, samples=3)
    pair = armed(Blank if ADVERSARIES[name].asks else Dirac)
    (seen,) = mechanism.run(pair, of(IN)[-1:])
    assert {n: a.shape for n, a in mechanism.example().items()} == {
        n: a.shape for n, a in seen.items() if n != "accuracy"
    }
