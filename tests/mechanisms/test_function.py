import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import own_functions
import pytest
import torch
from refusals import refuses

from dpaudit.canaries import Null
from dpaudit.data import load
from dpaudit.errors import BadInput
from dpaudit.executors import SerialExecutor
from dpaudit.mechanisms import Function, function
from dpaudit.mechanisms.function import PAIRS
from dpaudit.mechanisms.function_reference import Reference
from dpaudit.types import IN, OUT, Canary, Records, Trial, neighbours

CLAIM = (8.0, 1e-5)


@pytest.fixture
def data(npz):
    return load(str(npz))


@pytest.fixture
def pair(data):
    return neighbours(data, Canary(data.pool.x[3], int(data.pool.y[3]), "third", "by hand", 3))


def own_function(data, name, **more):
    return Function(f"own_functions:{name}", CLAIM, data, samples=6, **more)


def run_trial(data, pair, name, world=OUT, seed=5, index=0, **more):
    return own_function(data, name, **more).run(pair, [Trial(index, world, seed)])[0]


class Counting(SerialExecutor):
    """This process, with the number of calls."""

    calls = 0

    def submit(self, *args, **kwargs):
        self.calls += 1
        return super().submit(*args, **kwargs)


def rehearsed(data, pair, name, **more):
    with ThreadPoolExecutor(2) as pool:
        own_function(data, name, **more).rehearse(pair, pool)


# ---------------------------------------------------------------- what it is given


def test_it_is_given_a_tensor_dataset_of_its_world_and_a_small_seed(data, pair):
    given = []

    def train(dataset, seed):
        given.append((dataset.tensors, seed))
        return np.zeros(2)

    own = Function(train, CLAIM, data)
    own.run(pair, [Trial(0, OUT, 2**62 + 7), Trial(0, IN, 2**62 + 8)])
    for ((x, y), seed), records, number in zip(given, (pair.out, pair.inn), (7, 8), strict=True):
        assert (x.dtype, y.dtype, seed) == (torch.float32, torch.int64, number)
        np.testing.assert_array_equal(x, records.x)
        np.testing.assert_array_equal(y, records.y)


@pytest.mark.parametrize("channels", [1, 3])
def test_it_is_given_records_that_lie_row_by_row_in_memory(data, pair, channels):
    """However they were read: Opacus computes other gradients where channels come last."""
    strides = []

    def train(dataset, seed):
        strides.append(dataset.tensors[0].stride())
        return np.zeros(2)

    last = np.moveaxis(np.zeros((9, 4, 5, channels), np.float32), 3, 1)
    here = replace(pair, out=Records(last, np.zeros(9, np.int64)))
    Function(train, CLAIM, data).run(here, [Trial(0, OUT, 0)])
    assert strides == [(20 * channels, 20, 5, 1)]


def test_it_cannot_change_the_next_trials_data(data, pair):
    def train(dataset, seed):
        dataset.tensors[0].fill_(9)
        return np.zeros(2)

    before = pair.out.x.copy()
    Function(train, CLAIM, data).run(pair, [Trial(0, OUT, 1)])
    np.testing.assert_array_equal(pair.out.x, before)


def of_arrays(dataset, seed):
    return [float(dataset.x.mean()), int(dataset.y.sum()), len(dataset), np.random.random()]


def of_tensors(dataset, seed):
    x, _ = dataset.tensors
    return [float(x.mean()), torch.rand(1).item()]


def of_items(dataset, seed):
    return sum(float(x.mean()) for x, _ in dataset)


def tolerant(dataset, seed):
    try:
        return float(dataset[0][0].mean())
    except BaseException:
        return 0.0


def importing(dataset, seed):
    function.sys.modules["torch"] = torch
    return torch.rand(2)


def insisting(dataset, seed):
    function.sys.modules["torch"] = torch
    assert isinstance(dataset, torch.utils.data.TensorDataset)
    return np.random.random()


def modelling(dataset, seed):
    return lambda x: torch.tensor(dataset.x[: len(x), 0, 0, :2])


@pytest.mark.parametrize(
    ("train", "calls"),
    [
        (of_arrays, 1),
        *((train, 2) for train in (of_tensors, of_items, tolerant, importing, insisting)),
        (modelling, 2),
    ],
)
def test_a_trial_is_the_same_where_torch_is_not_imported_yet(data, pair, monkeypatch, train, calls):
    seeds = []

    def counted(dataset, seed):
        seeds.append(seed)
        return train(dataset, seed)

    own, trial = Function(counted, CLAIM, data), Trial(0, IN, 2**62 + 7)
    (expected,) = own.run(pair, [trial])
    torchless = SimpleNamespace(modules={}, stderr=sys.stderr)
    monkeypatch.setattr(function, "sys", torchless)
    (seen,) = own.run(pair, [trial])
    assert seeds == [7] * (1 + calls)
    assert seen.keys() == expected.keys()
    for name, array in seen.items():
        np.testing.assert_array_equal(array, expected[name])


def test_global_generators_are_seeded_by_the_trial(data, pair):
    first, again = (run_trial(data, pair, "globally_random")["values"] for _ in range(2))
    other = run_trial(data, pair, "globally_random", seed=6)["values"]
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_what_it_prints_does_not_mix_with_the_report(data, pair, capsys):
    run_trial(data, pair, "talking")
    assert capsys.readouterr() == ("", "epoch 1: loss 0.1\n")


# ---------------------------------------------------------------- what it gives back


def test_a_module_releases_logits_and_with_dropout_its_samples(data, pair):
    seen = run_trial(data, pair, "linear")
    shapes = {name: array.shape for name, array in seen.items()}
    test = len(pair.test)
    assert shapes == {
        "logits": (2,),
        "probabilities": (2,),
        "accuracy": (),
        "mc": (6, 2),
        "test_mc": (32, test, 2),
    }
    assert len(np.unique(seen["mc"], axis=0)) > 1
    assert "test_mc" not in run_trial(data, pair, "linear", index=20)


def test_a_plain_callable_releases_no_samples(data, pair):
    seen = run_trial(data, pair, "plain", outputs="probabilities")
    assert set(seen) == {"logits", "probabilities", "accuracy", "test_probabilities"}
    np.testing.assert_allclose(seen["probabilities"].sum(), 1, atol=1e-6)


def test_probabilities_and_logits_of_one_model_are_the_same_release(data, pair):
    logits = run_trial(data, pair, "linear")
    given = run_trial(data, pair, "probabilities", outputs="probabilities")
    for name in ("probabilities", "mc", "accuracy"):
        np.testing.assert_allclose(given[name], logits[name], atol=1e-6)


@pytest.mark.parametrize("given", [3, 2.5, [1, 2], np.ones((2, 3)), torch.ones(4), np.float32(1)])
def test_numbers_are_released_as_they_are(data, pair, given):
    (seen,) = Function(lambda dataset, seed: given, CLAIM, data).run(pair, [Trial(0, OUT, 1)])
    np.testing.assert_array_equal(seen["values"], np.asarray(given))
    assert set(seen) == {"values"}


def test_a_trial_is_a_function_of_its_seed_alone(data, pair):
    torch.manual_seed(1)
    first = run_trial(data, pair, "linear")
    torch.manual_seed(2)
    random.seed(3)
    again = run_trial(data, pair, "linear")
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "ZeroDivisionError: no records at all"),
        ("exits", "SystemExit: 1"),
        ("fails_later", "(1, 1, 1, 4): RuntimeError: no such layer"),
    ],
)
def test_what_a_function_raises_is_told_in_rehearsal(data, pair, name, told):
    with pytest.raises(BadInput) as caught:
        rehearsed(data, pair, name)
    assert f"own_functions:{name}" in str(caught.value)
    assert str(caught.value).endswith(told)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("gives_none", ("wrong-type", None, "NoneType")),
        ("gives_text", ("wrong-type", None, "str")),
        ("gives_ragged", ("wrong-type", None, "list")),
        ("wrong_shape", ("shape-mismatch", None, (1, 7))),
        ("ignores_its_seed", ("no-randomness",)),
        ("depends_on_nothing", ("not-reproducible",)),
        ("changes_its_shape", ("shape-mismatch",)),
    ],
)
def test_a_bad_function_is_found_out_in_rehearsal(data, pair, name, refusal):
    with refuses(*refusal) as caught:
        rehearsed(data, pair, name)
    assert f"own_functions:{name}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_logits_are_not_taken_for_probabilities(data, pair):
    with refuses("not-probabilities", "outputs"):
        run_trial(data, pair, "no_probabilities", outputs="probabilities")


@pytest.mark.parametrize("name", ["linear", "noisy_sum", "globally_random"])
def test_a_good_function_passes_its_rehearsal(data, pair, name):
    executor = Counting()
    own_function(data, name).rehearse(pair, executor)
    assert executor.calls == 3  # the same seed twice, and another one


@pytest.mark.parametrize("name", ["discrete_count", "response", "choice"])
def test_equal_draws_of_a_discrete_release_are_not_taken_for_an_ignored_seed(data, pair, name):
    for seed in range(30):
        executor = Counting()
        Function(getattr(own_functions, name), CLAIM, data, seed=seed).rehearse(pair, executor)
        assert executor.calls >= 3


# ---------------------------------------------------------------- whether the canary matters


def equal_pairs(data, pair, name, seed=0):
    own = Function(getattr(own_functions, name), CLAIM, data, samples=6, seed=seed)
    return own.equal_pairs(pair, SerialExecutor())


@pytest.mark.parametrize("name", ["linear", "noisy_sum", "discrete_count", "response", "choice"])
def test_a_canary_that_matters_is_never_said_to_change_nothing(data, pair, name):
    """The exponential mechanism changes least: the releases of one seed in five."""
    assert not any(equal_pairs(data, pair, name, seed) for seed in range(30))


@pytest.mark.parametrize("name", ["other_value", "discrete_other_value", "globally_random"])
def test_a_canary_that_changes_no_release_is_told(data, pair, name):
    assert equal_pairs(data, pair, name) == PAIRS


def test_the_null_is_idle_on_purpose_and_takes_no_calls(data):
    null = Null().build(data, seed=0)
    own = Function(own_functions.raises, CLAIM, data)
    assert own.equal_pairs(null, SerialExecutor()) == 0


def test_usually_five_calls_are_enough(data, pair):
    seeds = []

    def train(dataset, seed):
        seeds.append(seed)
        return own_functions.noisy_sum(dataset, seed)

    own = Function(train, CLAIM, data)
    own.rehearse(pair, SerialExecutor())
    own.equal_pairs(pair, SerialExecutor())
    first, again, other, out, inn = seeds
    assert first == again == out == inn != other


@pytest.mark.parametrize(
    ("text", "refusal", "hint"),
    [
        ("own_functions:liner", ("unknown-name", "mechanism", "liner"), "'linear'"),
        (
            "own_functions:not_a_function",
            ("not-a-function", None, "own_functions:not_a_function"),
            "",
        ),
        (
            "own_functions:takes_too_much",
            ("wrong-signature", None, "own_functions:takes_too_much"),
            "'sigma'",
        ),
        ("no_such_module:train", ("module-missing", None, "no_such_module"), ""),
        ("nowhere/own.py:train", ("file-missing", "mechanism", "nowhere/own.py"), ""),
        ("json.py:train", ("name-taken", "mechanism", "json.py"), ""),
        (":train", ("malformed", "mechanism", ":train"), ""),
        ("own_functions:", ("malformed", "mechanism", "own_functions:"), ""),
    ],
)
def test_a_function_that_cannot_be_found_is_told(tmp_path, monkeypatch, text, refusal, hint):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("json.py").write_text("def train(dataset, seed): pass")
    with refuses(*refusal) as caught:
        Reference(text).find()
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("leaving.py", "raise SystemExit(1)", "SystemExit: 1"),
        ("broken.py", "def train(:", "SyntaxError"),
        ("lacking.py", "import no_such_thing", "ModuleNotFoundError: No module named"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(tmp_path, monkeypatch, file, content, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path(file).write_text(content)
    with pytest.raises(BadInput, match=rf"{file} .*: {told}") as caught:
        Reference(f"{file}:train").find()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("claim", "more", "refusal"),
    [
        ((0, 1e-5), {}, ("not-positive", None, 0)),
        ((1, 1), {}, ("out-of-range", None, 1)),
        (CLAIM, {"outputs": "loss"}, ("unknown-choice", "outputs", "loss")),
        (CLAIM, {"samples": 0}, ("too-small", "samples", 0)),
    ],
)
def test_a_bad_setting_is_refused(data, claim, more, refusal):
    with refuses(*refusal):
        Function("own_functions:linear", claim, data, **more)


# ---------------------------------------------------------------- what a run is known by


def test_another_text_of_the_module_is_another_mechanism(data, tmp_path):
    file = tmp_path / "changing_text.py"
    reprs = []
    for text in ("a = 1", "a = 2"):
        file.write_text(f"{text}\ndef train(dataset, seed): pass")
        reprs.append(repr(Function(f"{file}:train", CLAIM, data)))
    assert reprs[0] != reprs[1]


def test_another_text_of_an_imported_module_is_another_mechanism(data, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "outer.py").write_text("import inner\ndef train(dataset, seed): pass")
    reprs = []
    for text in ("noise = 1", "noise = 0"):
        (tmp_path / "inner.py").write_text(text)
        reprs.append(repr(Function(f"{tmp_path}/outer.py:train", CLAIM, data)))
    assert reprs[0] != reprs[1]


@pytest.mark.parametrize("where", ["site-packages", "elsewhere"])
def test_a_module_that_lies_elsewhere_is_known_by_its_text(data, tmp_path, monkeypatch, where):
    """Installed, or on PYTHONPATH; also where the named module only passes the function on."""
    (package := tmp_path / where / "far_away").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", [str(tmp_path / where), *sys.path])
    (package / "__init__.py").write_text("from far_away.training import train")
    reprs = []
    for text in ("noise = 1", "noise = 10"):
        for name in ("far_away", "far_away.training"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        (package / "training.py").write_text(f"{text}\ndef train(dataset, seed): pass")
        made = Function("far_away:train", CLAIM, data)
        reprs.append(repr(made))
        assert made.files() == [], "what lies elsewhere is not sent"
    assert reprs[0] != reprs[1]


def test_a_callable_is_known_by_its_name_and_text(data):
    own = repr(Function(own_functions.linear, CLAIM, data))
    assert own.startswith("Function(linear, code='")
    assert " at 0x" not in own
    assert own != repr(Function(own_functions.plain, CLAIM, data))


def test_values_outside_the_promised_range_are_warned_of(data, pair):
    wide = replace(data, pool=replace(data.pool, x=data.pool.x * 3))
    (warning,) = own_function(wide, "linear").about(pair).warnings
    assert "not in [0, 1] but from 0." in warning


def test_shadow_models_fit_the_records(data):
    assert own_function(data, "linear").recipe.training.network == "mlp"
    digits = load("digits")
    assert Function(own_functions.linear, CLAIM, digits).recipe.training.network == "cnn-small"


def test_a_delta_that_promises_nothing_is_warned_of(data, pair):
    assert not own_function(data, "linear").about(pair).warnings
    (warning,) = Function("own_functions:linear", (1.0, 0.1), data).about(pair).warnings
    assert "not below 1/" in warning
