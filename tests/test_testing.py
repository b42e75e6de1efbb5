"""`assert_private`: what fails, what passes, what it costs, and that it leaves nothing behind."""

import math
import random
import re
import shlex
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from refusals import refuses
from scipy.stats import binom
from torch import nn

import dpaudit as dp
from dpaudit.accounting import gaussian_epsilon
from dpaudit.cli import main
from dpaudit.errors import BadInput
from dpaudit.judging.advice import BREAKS
from dpaudit.report import page
from dpaudit.report.wording import LABELS
from dpaudit.testing import MODELS, SIZE, NothingTested, PrivacyViolation, WeakTest, assert_private
from dpaudit.types import Canary, Claim, Data, GaussianCurve, Pair, Records, StepsCurve, neighbours

CLAIM = (1.0, 0.0)


def with_canary(dataset):
    return len(dataset) == SIZE  # D lacks one record


def counting(dataset, seed, scale=1.0):
    """How many records there are, with the noise of (1/scale, 0)-DP."""
    return len(dataset) + np.random.default_rng(seed).laplace(scale=scale)


def leaking(dataset, seed):
    """The same, with a tenth of the noise."""
    return counting(dataset, seed, scale=0.1)


def answering(dataset, seed, epsilon=1.0):
    """Randomized response, which leaks all that an epsilon allows."""
    return with_canary(dataset) != (
        np.random.default_rng(seed).random() < 1 / (1 + math.exp(epsilon))
    )


def gaussian(dataset, seed, mu=0.5):
    return mu * with_canary(dataset) + np.random.default_rng(seed).normal()


def remembering(dataset, seed):
    """A model that is sure of the canary's label, which is 4, if it has seen it."""
    logits = np.random.default_rng(seed).normal(size=10)
    logits[4] += 20 * with_canary(dataset)
    return lambda x: np.tile(logits, (len(x), 1))


class Counted:
    """A training function that knows how often it was called."""

    def __init__(self, train):
        self.train, self.calls = train, 0

    def __call__(self, dataset, seed):
        self.calls += 1
        return self.train(dataset, seed)


def refuted(train, claim=CLAIM, **more):
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(train, claim, **more)
    return caught.value


def trained(report):
    return report.models["in"] + report.models["out"]


# ---------------------------------------------------------------- what it costs


def test_a_gross_bug_is_caught_by_half_of_the_models():
    train = Counted(leaking)
    report = refuted(train).report
    assert report.verdict == "VIOLATION"
    assert report.bounds[0].epsilon > 1
    assert report.bounds[0].confidence == 1 - 1e-6
    assert trained(report) <= MODELS / 2
    assert train.calls == trained(report) + 5


def test_correct_code_costs_as_many_models_as_were_allowed():
    train = Counted(counting)
    report = assert_private(train, CLAIM, models=160)
    assert report.verdict == "NO_VIOLATION_FOUND"
    assert trained(report) == 160
    assert train.calls == 165


@pytest.mark.parametrize(
    ("claim", "models", "needed"),
    [
        ((1.0, 1e-5), 128, "132"),
        ((8.0, 1e-5), MODELS, "103,004"),
        (Claim(8.0, 1e-5, curve=GaussianCurve(1.6)), 100, "280"),
        ((29.0, 1e-5), MODELS, None),
    ],
)
def test_what_no_bug_could_ever_fail_is_refused_before_anything_is_trained(claim, models, needed):
    train = Counted(leaking)
    with refuses("cannot-refute", option="models", value=models) as caught:
        assert_private(train, claim, models=models)
    found = re.search(r"at least ([\d,]+) are needed", str(caught.value))
    assert (found and found[1]) == needed
    assert train.calls == 0


def test_the_default_number_can_refute_what_is_said_of_it():
    for claim in ((2.0, 1e-5), Claim(8.0, 1e-5, curve=GaussianCurve(1.6))):
        with refuses("code-failed", value="ZeroDivisionError"):
            assert_private(lambda dataset, seed: 1 / 0, claim)


# ---------------------------------------------------------------- how often it is wrong


def is_refuted(audit):
    try:
        audit()
    except PrivacyViolation:
        return True
    return False


AUDITS, ALARM = 40, 0.3
"""At so high a level that false alarms are seen."""

MOST = int(binom.isf(1e-5, AUDITS, ALARM))
"""More false alarms than that have a probability below 1e-5 if the level is kept."""


@pytest.mark.parametrize(
    ("train", "claim"),
    [
        (answering, (1.0, 0.0)),
        (gaussian, Claim(gaussian_epsilon(0.5, 1e-5), 1e-5, curve=GaussianCurve(0.5))),
    ],
)
def test_what_leaks_exactly_its_claim_is_refuted_no_more_often_than_stated(train, claim):
    audit = partial(assert_private, train, claim, models=80, false_alarm=ALARM)
    assert sum(is_refuted(partial(audit, seed=seed)) for seed in range(AUDITS)) <= MOST


def test_by_default_it_is_never_refuted():
    """But for a probability of 3e-6."""
    for seed in range(3):
        assert_private(answering, (1.0, 0.0), models=160, seed=seed)


def test_a_claim_with_a_curve_is_refuted_by_fewer_models_than_a_bare_one():
    epsilon = gaussian_epsilon(0.268, 1e-5)
    train = partial(gaussian, mu=20.0)
    bare = refuted(train, (epsilon, 1e-5)).report
    curve = refuted(train, Claim(epsilon, 1e-5, curve=GaussianCurve(0.268))).report
    assert [b.estimator for b in bare.bounds] == ["e-process"]
    assert [b.estimator for b in curve.bounds] == ["auc-bet", "e-process"]
    assert trained(curve) < trained(bare)


def test_the_seed_decides_everything():
    first, again, other = (
        assert_private(counting, CLAIM, models=160, seed=seed) for seed in (1, 1, 2)
    )
    assert first.growth == again.growth
    assert first.growth != other.growth


# ---------------------------------------------------------------- what it takes and says


def test_the_message_says_all_that_a_reader_needs():
    found = refuted(leaking)
    said = " ".join(str(found).split())
    for needed in (
        "leaking ",
        "(99.9999 %",
        f" {found.report.bounds[0].epsilon:.2f} ",
        " 1.00",
        f"Models {trained(found.report)} ",
        f" {MODELS} models",
        "Canary static: ",
        "Attack released: ",
        " 1e-6",
        BREAKS,
        "(seed 0)",
    ):
        assert needed in said


def test_the_command_in_the_message_audits_the_same(tmp_path, monkeypatch):
    found = refuted(leaking, models=200, seed=3)
    words = shlex.split(str(found).splitlines()[-1])
    assert words[:2] == ["dpaudit", "run"]
    monkeypatch.setattr("signal.signal", lambda *_: None)
    done = CliRunner().invoke(main, [*words[1:], "--workers", "1", "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert dp.Run(tmp_path / "run").judge().growth == found.report.growth


def test_what_a_command_could_not_name_is_not_named():
    for train in (lambda *given: leaking(*given), partial(counting, scale=0.1)):
        assert "dpaudit run" not in str(refuted(train))
    assert "dpaudit run" not in str(refuted(leaking, Claim(1, 1e-5, curve=GaussianCurve(0.3))))


@pytest.mark.parametrize(
    "train",
    [
        lambda dataset, seed: leaking(dataset, seed),
        partial(counting, scale=0.1),
        Counted(leaking),
        remembering,
    ],
    ids=["lambda", "partial", "object", "model"],
)
def test_any_callable_can_be_audited(train):
    refuted(train)


def test_data_and_canaries_of_one_s_own():
    data = dp.data.load("digits", size=60)
    canary = Canary(np.ones(data.shape, np.float32), 4, "white", "by hand", removed=3)
    pair = neighbours(data, canary)
    bare = Pair(pair.out, pair.inn, canary, pair.test)

    def train(dataset, seed):
        return float((dataset.tensors[0] == 1).all(dim=(1, 2, 3)).any()) + 0.1 * gaussian([], seed)

    for given in ({"data": data, "canary": canary}, {"canary": pair}, {"canary": bare}):
        report = refuted(train, **given).report
        assert report.canary["name"] == "white"
        assert (report.data["out"], report.data["in"]) == (59, 60)
    with pytest.raises(NothingTested) as caught:
        assert_private(train, CLAIM, data=data, canary=dp.canaries.Mislabelled(), models=160)
    assert caught.value.report.canary["name"] == "mislabelled"


def made(x, **more):
    """Data of two classes whose records are `x`, a pool of as many as D' has by default."""
    part = Records(x, np.arange(len(x)) % 2)
    return Data("own", part, part, part, 2, **more)


def inferring(dataset, seed):
    """A sum that claims (1, 0)-DP, of values clipped to bounds that it takes from the data."""
    x = dataset.tensors[0].numpy().mean(axis=1)
    low, high = x.min(), x.max()
    total = (np.clip(x, low, high) - low).sum()
    return total + np.random.default_rng(seed).laplace(scale=high - low)


def bounded(dataset, seed):
    """The same with bounds that are fixed."""
    x = dataset.tensors[0].numpy().mean(axis=1)
    return np.clip(x, 10, 20).sum() + np.random.default_rng(seed).laplace(scale=20)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_that_are_taken_from_the_data_are_found_out(seed):
    """By values outside the pool's; within it, both worlds would have the same bounds."""
    values = np.random.default_rng(seed).uniform(10, 20, (SIZE, 1)).astype(np.float32)
    data = made(values)
    assert refuted(inferring, data=data, seed=seed).report.canary["name"] == "static"
    assert_private(bounded, CLAIM, data=data, seed=seed, models=160)


def bright(dataset, seed):
    """How many records are bright in their first pixel, with a fifth of the noise of (1, 0)-DP."""
    first = dataset.tensors[0][:, 0, 0, 0]
    return float((first > 0.5).sum()) + np.random.default_rng(seed).laplace(scale=0.2)


def test_a_canary_that_changes_nothing_does_not_pass():
    """The first pixel of the canary is dark, and so counts nowhere."""
    data = dp.data.load("digits", size=SIZE)
    dark = Canary(np.zeros(data.shape, np.float32), 0, "dark", "by hand")
    with pytest.raises(NothingTested, match="WEAK TEST") as caught:
        assert_private(bright, CLAIM, data=data, canary=dark, models=160)
    report = caught.value.report
    assert report.verdict == "INCONCLUSIVE"
    for said in (report.untested, " 60 seeds ", "--canary"):
        assert said in str(caught.value)
    lit = Canary(np.ones(data.shape, np.float32), 0, "lit", "by hand")
    assert refuted(bright, data=data, canary=lit).report.untested == ""


def test_a_pair_of_equal_data_sets_does_not_pass():
    data = dp.data.load("digits", size=60)
    canary = Canary(data.pool.x[3], int(data.pool.y[3]), "itself", "by hand", 3)
    whole = neighbours(data, canary).inn
    for pair in (Pair(data.pool, whole, canary, data.test), Pair(whole, whole, canary, data.test)):
        with pytest.raises(NothingTested, match="same records") as caught:
            assert_private(counting, CLAIM, canary=pair, models=160)
        assert "D and D'" in caught.value.report.untested


def test_a_strong_test_can_be_asked_for():
    report = assert_private(answering, (1.0, 0.0), models=400, false_alarm=0.05, strong=True)
    assert report.strength == "strong"
    assert report.bounds[0].epsilon >= 0.5
    with pytest.raises(WeakTest, match=r"only 0\.00 of the claimed epsilon 1\.00") as caught:
        assert_private(counting, CLAIM, models=160, strong=True)
    weak = caught.value.report
    assert f"Give about {weak.expected.models:,} models." in str(caught.value)
    assert weak.expected.typical >= 0.5


def test_the_null_passes_as_it_should():
    report = assert_private(counting, CLAIM, canary="none", models=160)
    assert (report.verdict, report.untested) == ("NO_VIOLATION_FOUND", "")
    assert report.strength == "null-passed"
    with pytest.raises(WeakTest):
        assert_private(counting, CLAIM, canary="none", models=160, strong=True)


def embedding(dataset, seed):
    """A model of tokens, in which a float or an unknown token would fail."""
    x, y = dataset.tensors
    assert x.dtype == torch.int64
    torch.manual_seed(seed)
    layers = nn.Embedding(50, 2), nn.Flatten(), nn.Linear(2 * x.shape[1], 2)
    model = nn.Sequential(*layers)
    nn.functional.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= parameter.grad
    return model


@pytest.mark.parametrize("canary", ["static", "blank"])
def test_tokens_are_records(canary):
    data = made(np.random.default_rng(0).integers(0, 50, (SIZE, 6)))
    report = assert_private(embedding, CLAIM, data=data, canary=canary, models=160)
    assert report.canary["name"] == canary
    assert report.verdict == "NO_VIOLATION_FOUND"
    assert LABELS[report.strength] in page(report)


@pytest.mark.parametrize(
    ("change", "code", "option", "value"),
    [
        ({"claim": 1.0}, "wrong-type", "claim", "float"),
        ({"claim": (1.0,)}, "wrong-type", "claim", "tuple"),
        ({"claim": (0.0, 0.0)}, "not-positive", "claim", 0.0),
        ({"claim": ("1", 0.0)}, "not-positive", "claim", "1"),
        ({"claim": Claim(1.0, 2.0)}, "out-of-range", "claim", 2.0),
        (
            {"claim": Claim(1.0, 0.0, adjacency="replace")},
            "other-adjacency",
            "canary",
            "add-remove",
        ),
        (
            {"claim": Claim(1.0, 1e-5, curve=StepsCurve(0.1, 9, 1.0))},
            "single-steps",
            "claim",
            None,
        ),
        ({"false_alarm": 0.0}, "out-of-range", "false_alarm", 0.0),
        ({"false_alarm": 0.5}, "out-of-range", "false_alarm", 0.5),
        ({"models": 0}, "too-small", "models", 0),
        ({"seed": -1}, "too-small", "seed", -1),
        ({"samples": 0}, "too-small", "samples", 0),
        ({"outputs": "loss"}, "unknown-choice", "outputs", "loss"),
        ({"attacks": ()}, "missing-options", "attacks", None),
        ({"attacks": "lost"}, "unknown-name", "attacks", "lost"),
        ({"canary": "blnk"}, "unknown-name", "canaries", "blnk"),
        ({"canary": 7}, "wrong-type", "canary", "int"),
        ({"canary": Canary(np.zeros(3), 0, "small", "")}, "code-failed", "", "ValueError"),
        ({"data": 5}, "wrong-type", "data", "int"),
        ({"size": 10**6}, "too-large", "size", 10**6),
    ],
)
def test_wrong_input_is_refused_before_anything_is_trained(change, code, option, value):
    train = Counted(leaking)
    with refuses(code, option, value) as caught:
        assert_private(train, **{"claim": CLAIM, **change})
    assert "\n" not in str(caught.value)
    assert train.calls == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"train": 3}, "int "),
        ({"train": lambda dataset: 0}, "(dataset, seed)"),
        ({"canary": "dirac"}, "dirac"),
        ({"data": "digts"}, "digts"),
    ],
)
def test_what_others_refuse_is_refused_before_anything_is_trained_too(change, said):
    train = Counted(leaking)
    call = {"train": train, **change}
    with pytest.raises(BadInput) as caught:
        assert_private(call.pop("train"), CLAIM, **call)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert train.calls == 0


def test_an_attack_that_does_not_fit_is_refused_at_the_first_model():
    train = Counted(leaking)
    with refuses("not-released", option="loss", value="logits"):
        assert_private(train, CLAIM, attacks=("loss",))
    assert train.calls <= 5 + 20


def test_a_training_that_fails_is_told_with_its_cause():
    def train(dataset, seed):
        raise ZeroDivisionError("no records")

    with refuses("code-failed", value="ZeroDivisionError") as caught:
        assert_private(train, CLAIM)
    assert "train " in str(caught.value)
    assert "no records" in str(caught.value)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_training_that_ignores_its_seed_is_refused():
    with pytest.raises(BadInput, match=" 50 "):
        assert_private(lambda dataset, seed: len(dataset), CLAIM)


@pytest.mark.parametrize("stops", [KeyboardInterrupt, pytest.skip.Exception])
def test_whoever_stops_the_suite_is_heard_at_once(stops):
    def train(dataset, seed):
        if counted.calls > 10:
            raise stops()
        return counting(dataset, seed)

    counted = Counted(train)
    with pytest.raises(stops):
        assert_private(counted, CLAIM)
    assert counted.calls == 11


def test_a_closure_cannot_be_sent_to_processes_but_any_executor_will_do():
    train = Counted(leaking)
    with refuses("not-picklable", option="mechanism"):
        assert_private(lambda dataset, seed: train(dataset, seed), CLAIM, workers=2)
    assert train.calls == 0
    with ThreadPoolExecutor(2) as pool:
        refuted(leaking, workers=pool)


# ---------------------------------------------------------------- what it leaves behind


def state():
    return (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
        torch.get_num_threads(),
        torch.random.initial_seed(),
    )


@pytest.mark.parametrize("train", [counting, leaking])
def test_no_file_and_no_changed_generator_is_left_behind(train, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    Path(tempfile.tempdir).mkdir()
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = state()
        if train is leaking:
            refuted(train)
        else:
            assert_private(train, CLAIM, models=160)
        assert state() == before
    finally:
        torch.set_num_threads(threads)
    assert list(tmp_path.rglob("*")) == [tmp_path / "temporary"]


def test_records_outside_a_pair_are_not_needed():
    """A pair brings its classes, or they are counted."""
    x = np.zeros((6, 1, 2, 2), np.float32)
    canary = Canary(np.ones((1, 2, 2), np.float32), 1, "one", "by hand")
    out = Records(x, np.zeros(6, np.int64))
    pair = Pair(out, out.plus(canary.x, canary.y), canary, out)
    report = refuted(
        lambda dataset, seed: len(dataset) + 0.1 * gaussian([], seed), CLAIM, canary=pair
    ).report
    assert report.data["in"] == 7
