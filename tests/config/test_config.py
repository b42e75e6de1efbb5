import re

import numpy as np
import pytest
from refusals import refuses

from dpaudit import checks
from dpaudit.config import TRAINING, Config, differences
from dpaudit.config.settings import Schedule
from dpaudit.errors import BadInput

OTHER = {
    "until_decided": True,
    "data": "/elsewhere/own.npz",
    "data_root": "/elsewhere",
    "size": 500,
    "label": "class",
    "bounds": ("age=0:100",),
    "ignore": ("name",),
    "fingerprint": "5f3a",
    "canary": "random",
    "clip_canary": True,
    "mechanism": "someone-elses",
    "set": ("matrix=grr:2", "reports=4"),
    "code": "5f3a",
    "outputs": "probabilities",
    "network": "mlp",
    "epsilon": 2.5,
    "noise_multiplier": 1.25,
    "delta": 1e-6,
    "accountant": "rdp",
    "epochs": 3,
    "steps": 7,
    "batch": "full",
    "lr": 0.25,
    "clip": 0.5,
    "dropout": 0.1,
    "init": "fixed",
    "samples": 7,
    "models": 400,
    "canaries": 100,
    "guesses": 20,
    "attacks": ("loss", "mean & inv_std"),
    "primary": "loss",
    "defence": "quantize:0.01",
    "estimator": "point",
    "raw_scores": True,
    "claim": (4.0, 1e-7),
    "confidence": 0.99,
    "seed": 2**40,
    "backend": "opacus",
    "adversary": "worst-case",
}
"""Of every setting a value that is not its default."""

SETTINGS = pytest.mark.parametrize("name", list(Config().flat()))


NEEDS = {
    "noise_multiplier": {"epsilon": None},
    "primary": {"attacks": OTHER["attacks"]},
    "guesses": {"canaries": 100, "adversary": "white-box"},
    "canaries": {"adversary": "white-box"},
}
"""What else must be said with a setting."""


def changed(name):
    """The default configuration with one setting changed, and what that needs."""
    return Config.of(**{name: OTHER[name]}, **NEEDS.get(name, {}))


def refusal(call, *arguments):
    with pytest.raises(BadInput) as caught:
        call(*arguments)
    return caught.value


# ---------------------------------------------------------------- in and out of TOML


def reread(config, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    return Config.from_toml(path)


@SETTINGS
def test_every_setting_comes_back_from_toml(name, tmp_path):
    config = changed(name)
    again = reread(config, tmp_path)
    assert again == config
    assert again.digest() == config.digest()
    assert again.flat()[name] == OTHER[name]
    assert type(again.flat()[name]) is type(OTHER[name])


def test_a_whole_configuration_comes_back_from_toml(tmp_path):
    idle = {"epsilon": None, "epochs": Schedule.epochs, "canaries": 1, "guesses": None}
    alone = {"primary": "auto", "estimator": "auto", "raw_scores": False}
    config = Config.of(**{**OTHER, **idle, **alone})
    assert reread(config, tmp_path) == config
    assert reread(Config(), tmp_path) == Config()


def test_settings_of_our_training_are_none_of_a_users_function(tmp_path):
    own = Config.of(mechanism="my_module:train", claim=(8.0, 1e-5))
    assert not own.to_dict().keys() & TRAINING
    assert reread(own, tmp_path) == own
    unsaid = {"noise_multiplier", "steps", "adversary", "canaries", "guesses"}
    assert Config().to_dict().keys() | unsaid >= TRAINING


def test_a_file_says_only_what_differs_from_the_default(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('canary = "blank"\nbatch = 32\n')
    assert Config.from_toml(path) == Config.of(canary="blank", batch=32)


def test_noise_in_a_file_takes_the_place_of_the_default_epsilon():
    assert Config.from_dict({"noise_multiplier": 0.5}).privacy.epsilon is None


HOSTILE = [
    (b"attacks = " + b"[" * 10**5, "wrong-format"),
    (b"a = " + b"{a=" * 10**4, "wrong-format"),
    (b"models = " + b"9" * 5000, "wrong-format"),
    (b"models = [0x" + b"f" * 5000 + b"]", "wrong-type"),
    (b"data = 8 # " + b"x" * (1 << 20), "file-too-large"),
    (b"epsilon = '" + b"x" * 10**5 + b"'", "wrong-type"),
    (b"x" * 10**5 + b" = 1", "unknown-name"),
]
"""Configurations that are nested too deeply or too long to be shown, and the code of each."""


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"models = ", "wrong-format"),
        (b"\xff\xfe", "wrong-format"),
        (b"modles = 3", "unknown-name"),
        (b"epochs = 'many'", "wrong-type"),
        (b"#" * 10**7, "file-too-large"),
        *HOSTILE,
    ],
    ids=range(12),
)
def test_a_file_that_is_no_configuration_is_refused_by_name(content, code, tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    refused = refusal(Config.from_toml, path)
    assert refused.code == code
    assert str(refused).startswith(f"{path} ")
    assert len(str(refused)) < len(str(path)) + 200


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    path = tmp_path / "nowhere.toml"
    with refuses("file-missing", value=str(path)) as refused:
        Config.from_toml(path)
    assert str(refused.value).startswith(f"{path} ")
    assert "Errno" not in str(refused.value)
    with refuses("is-folder", value=str(tmp_path)):
        Config.from_toml(tmp_path)


# ---------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", 1),
        ("clip_canary", 1),
        ("clip_canary", "yes"),
        ("epsilon", "8"),
        ("epsilon", True),
        ("epsilon", float("nan")),
        ("epsilon", float("inf")),
        ("epsilon", 10**400),
        ("epochs", 3.0),
        ("epochs", True),
        ("batch", 2.5),
        ("attacks", "loss"),
        ("attacks", ["loss", 1]),
        ("claim", [8.0]),
        ("claim", [8.0, 1e-5, 1.0]),
        ("claim", ["8", 1e-5]),
        ("claim", 8.0),
        ("seed", "0"),
        ("models", [4]),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(name, value):
    with refuses("wrong-type", option=name) as refused:
        Config.from_dict({name: value})
    assert refused.value.value is value
    assert str(refused.value).endswith(f" {checks.format_value(value)}")


def test_unknown_and_ill_typed_settings_are_refused_in_one_message():
    values = {"modles": 80, "epochs": "many", "canary": "blank", "claim": [1]}
    refused = refusal(Config.from_dict, values)
    assert refused.code == "several-problems"
    assert [(one.code, one.option, one.value) for one in refused.problems] == [
        ("unknown-name", "modles", None),
        ("wrong-type", "epochs", "many"),
        ("wrong-type", "claim", [1]),
    ]
    assert str(refused).startswith("3 problems: ")


# ---------------------------------------------------------------- hash


@SETTINGS
def test_the_hash_changes_with_every_setting_but_where_the_data_lie(name):
    same = changed(name).digest() == Config().digest()
    assert same == (name in ("data", "data_root"))


def test_the_hash_is_short_and_of_the_values_alone():
    digest = Config().digest()
    assert digest == Config().digest()
    assert len(digest) == 12
    assert int(digest, 16) >= 0


@pytest.mark.parametrize(
    "make", [lambda **values: Config.of(**values), lambda **v: Config.from_dict(v)]
)
def test_whole_numbers_hash_like_the_same_fractions(make):
    whole, fraction = (
        make(epsilon=kind(4), lr=kind(2), clip=kind(3), claim=[kind(8), kind(0)])
        for kind in (int, float)
    )
    assert whole.digest() == fraction.digest()
    assert whole.digest() != make(epsilon=4.5, lr=2, clip=3, claim=[8, 0]).digest()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("asked", "played"), [(1, 4), (4, 4), (5, 8), (80, 80), (97, 100)])
def test_models_are_rounded_up_to_fours(asked, played):
    assert Config.of(models=asked).volume.models == played
    assert Config.from_dict({"models": asked}).volume.models == played


def test_either_epsilon_or_noise_is_given_and_never_both():
    with refuses("excluded-options", option="noise_multiplier", value="epsilon"):
        Config.of(epsilon=8.0, noise_multiplier=0.5)
    assert Config.of(epsilon=None, noise_multiplier=None) == Config.of(epsilon=8.0)
    assert Config.of(noise_multiplier=0.5).privacy.epsilon is None


@pytest.mark.parametrize(
    ("name", "value", "code", "needed"),
    [
        ("epsilon", 0.0, "not-positive", "0"),
        ("lr", -1.0, "not-positive", "0"),
        ("clip", 0.0, "not-positive", "0"),
        ("delta", 0.0, "out-of-range", "above 0"),
        ("delta", 1.0, "out-of-range", "below 1"),
        ("dropout", 1.0, "out-of-range", "below 1"),
        ("confidence", 0.5, "out-of-range", "above 0.5"),
        ("epochs", 0, "too-small", "1"),
        ("samples", 0, "too-small", "1"),
        ("models", 0, "too-small", "4"),
        ("models", -5, "too-small", "4"),
        ("seed", -1, "too-small", "0"),
        ("batch", 0, "too-small", "1"),
        ("batch", "fulll", "too-small", "1"),
        ("accountant", "moments", "unknown-choice", "pld, rdp, prv"),
        ("init", "zero", "unknown-choice", "random, fixed"),
        ("lr", 1e308, "too-large", "1,000,000"),
        ("epsilon", 1e308, "too-large", "1,000,000,000"),
        ("seed", 2**128, "too-large", "340,282,366,920,938,463,463,374,607,431,768,211"),
        *(
            (name, 10**26, "too-large", "")
            for name in ("models", "samples", "epochs", "steps", "batch", "size", "canaries")
        ),
    ],
)
def test_an_impossible_value_is_refused_with_what_it_must_be(name, value, code, needed):
    found = refusal(lambda: Config.of(**{name: value}))
    assert (found.code, found.option, found.value) == (code, name, value)
    assert re.search(rf"\b{re.escape(needed)}\b", str(found))
    assert len(str(found)) < 140


@pytest.mark.parametrize(
    ("claim", "code", "word"),
    [((0.0, 0.1), "not-positive", "epsilon"), ((1.0, 1.0), "out-of-range", "delta")],
)
def test_an_impossible_claim_is_refused(claim, code, word):
    with refuses(code, option="claim") as caught:
        Config.of(claim=claim)
    assert word in str(caught.value)


def test_no_attack_at_all_is_refused():
    with refuses("missing-options", option="attacks"):
        Config.of(attacks=())


def test_everything_that_is_wrong_is_said_at_once():
    wrong = {"epsilon": -1.0, "delta": 0.0, "epochs": 0, "init": "zero", "attacks": ()}
    refused = refusal(lambda: Config.of(**wrong))
    assert str(refused).startswith("5 problems: ")
    assert {problem.option: problem.code for problem in refused.problems} == {
        "epsilon": "not-positive",
        "delta": "out-of-range",
        "epochs": "too-small",
        "init": "unknown-choice",
        "attacks": "missing-options",
    }
    assert all(str(problem) in str(refused) for problem in refused.problems)


# ---------------------------------------------------------------- two runs


def test_differences_name_each_setting_that_differs_and_no_other():
    there, here = Config.of(models=80, seed=1), Config.of(models=100, seed=1, data="moved")
    assert differences(there.to_dict(), here.to_dict()) == ["models: 80 there, 100 here"]
    noisy = Config.of(epsilon=None, noise_multiplier=0.5)
    assert differences(Config().to_dict(), noisy.to_dict()) == [
        "epsilon: 8.0 there, none here",
        "noise_multiplier: none there, 0.5 here",
    ]
    assert differences(there.to_dict(), there.changed(epsilon=8).to_dict()) == []


def test_noise_and_epsilon_take_the_place_of_each_other():
    noisy = Config().changed(noise_multiplier=0.5)
    assert (noisy.privacy.epsilon, noisy.privacy.noise_multiplier) == (None, 0.5)
    assert noisy.changed(epsilon=8.0) == Config()


def test_noise_takes_the_place_of_the_epsilon_that_a_mechanism_brings():
    noisy = Config.from_dict({"mechanism": "p3gm", "noise_multiplier": 2.0})
    assert (noisy.privacy.epsilon, noisy.privacy.noise_multiplier) == (None, 2.0)


def test_a_setting_that_does_not_exist_is_refused_however_it_is_given():
    for make in (Config.of, Config().changed, lambda **values: Config.from_dict(values)):
        with refuses("unknown-name", option="modles"):
            make(modles=3)


def test_a_value_of_another_type_has_no_hash():
    """Else all seeds of that type would share a folder."""
    with refuses("wrong-type", option="seed"):
        Config.of(seed=np.int64(3)).digest()
