from dataclasses import fields, replace

import pytest

from dpaudit import checks
from dpaudit.config import TRAINING, Config, differences
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

SETTINGS = pytest.mark.parametrize("name", [f.name for f in fields(Config)])


def changed(name):
    """The default configuration with one setting changed."""
    return replace(Config(), **{name: OTHER[name]})


def refusal(call, *arguments):
    with pytest.raises(BadInput) as caught:
        call(*arguments)
    return str(caught.value)


# ---------------------------------------------------------------- in and out of TOML


def reread(config, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    return Config.from_toml(path)


@SETTINGS
def test_every_setting_comes_back_from_toml(name, tmp_path):
    config = changed(name)
    if name == "noise_multiplier":
        config = replace(config, epsilon=None)
    again = reread(config, tmp_path)
    assert again == config
    assert again.digest() == config.digest()
    assert getattr(again, name) == OTHER[name]
    assert type(getattr(again, name)) is type(OTHER[name])


def test_a_whole_configuration_comes_back_from_toml(tmp_path):
    idle = {"epsilon": None, "epochs": Config.epochs, "models": Config.models}
    config = Config(**{**OTHER, **idle})
    assert reread(config, tmp_path) == config
    assert reread(Config(), tmp_path) == Config()


def test_settings_of_our_training_are_none_of_a_users_function(tmp_path):
    own = Config(mechanism="my_module:train", claim=(8.0, 1e-5))
    assert not own.to_dict().keys() & TRAINING
    assert reread(own, tmp_path) == own
    unsaid = {"noise_multiplier", "steps", "adversary", "canaries", "guesses"}
    assert Config().to_dict().keys() | unsaid >= TRAINING


def test_a_file_says_only_what_differs_from_the_default(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('canary = "blank"\nbatch = 32\n')
    assert Config.from_toml(path) == Config(canary="blank", batch=32)


def test_noise_in_a_file_takes_the_place_of_the_default_epsilon():
    assert Config.from_dict({"noise_multiplier": 0.5}).epsilon is None
    assert Config.from_dict({"noise_multiplier": 0.5}).check()


HOSTILE = [
    b"attacks = " + b"[" * 10**5,
    b"a = " + b"{a=" * 10**4,
    b"models = " + b"9" * 5000,
    b"models = [0x" + b"f" * 5000 + b"]",
    b"data = 8 # " + b"x" * (1 << 20),
    b"epsilon = '" + b"x" * 10**5 + b"'",
    b"x" * 10**5 + b" = 1",
]
"""Configurations that are nested too deeply, or too long to be shown."""


@pytest.mark.parametrize(
    "content",
    [b"models = ", b"\xff\xfe", b"modles = 3", b"epochs = 'many'", *HOSTILE],
    ids=range(11),
)
def test_a_file_that_is_no_configuration_is_refused_by_name(content, tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    said = refusal(Config.from_toml, path)
    assert said.startswith(f"{path} is not a usable configuration: ")
    assert len(said) < len(str(path)) + 200


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    path = tmp_path / "nowhere.toml"
    assert refusal(Config.from_toml, path).startswith(f"{path} is not a usable configuration: ")


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
    assert refusal(Config.from_dict, {name: value}) == f"{name} cannot be {checks.shown(value)}"


def test_unknown_and_ill_typed_settings_are_refused_in_one_message():
    values = {"modles": 80, "epochs": "many", "canary": "blank", "claim": [1]}
    assert refusal(Config.from_dict, values) == (
        "3 problems: (1) there is no setting 'modles'; (2) epochs cannot be 'many'; "
        "(3) claim cannot be [1]"
    )


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
    "make", [lambda **values: Config(**values), lambda **v: Config.from_dict(v)]
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
    assert Config(models=asked).models == played
    assert Config.from_dict({"models": asked}).models == played


@pytest.mark.parametrize(("epsilon", "noise"), [(8.0, 0.5), (None, None)])
def test_either_epsilon_or_noise_is_given_and_never_both(epsilon, noise):
    config = Config(epsilon=epsilon, noise_multiplier=noise)
    assert refusal(config.check) == "give either epsilon or noise_multiplier"


def test_a_usable_configuration_is_given_back():
    for config in (
        Config(),
        Config(epsilon=None, noise_multiplier=0.5),
        Config(batch="full", dropout=0.0, claim=(1.0, 0.0)),
    ):
        assert config.check() is config


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("epsilon", 0.0, "epsilon must be a number above 0, not 0.0"),
        ("lr", -1.0, "lr must be a number above 0, not -1.0"),
        ("clip", 0.0, "clip must be a number above 0, not 0.0"),
        ("delta", 0.0, "delta must be above 0 and below 1, not 0.0"),
        ("delta", 1.0, "delta must be above 0 and below 1, not 1.0"),
        ("dropout", 1.0, "dropout must be at least 0 and below 1, not 1.0"),
        ("confidence", 0.5, "confidence must be above 0.5 and below 1, not 0.5"),
        ("epochs", 0, "epochs must be a whole number of at least 1, not 0"),
        ("samples", 0, "samples must be a whole number of at least 1, not 0"),
        ("models", 0, "models must be a whole number of at least 4, not 0"),
        ("models", -5, "models must be a whole number of at least 4, not -5"),
        ("seed", -1, "seed must be a whole number of at least 0, not -1"),
        ("batch", 0, "batch must be a whole number of at least 1, not 0"),
        ("batch", "fulll", "batch must be a whole number of at least 1, not 'fulll'"),
        ("accountant", "moments", "accountant must be one of pld, rdp, prv, not 'moments'"),
        ("init", "zero", "init must be one of random, fixed, not 'zero'"),
        ("claim", (0.0, 0.1), "the claimed epsilon must be a number above 0, not 0.0"),
        ("claim", (1.0, 1.0), "the claimed delta must be at least 0 and below 1, not 1.0"),
        ("attacks", (), "name at least one attack"),
        ("lr", 1e308, "lr must be at most 1,000,000, not 1e+308"),
        ("epsilon", 1e308, "epsilon must be at most 1,000,000,000, not 1e+308"),
        ("seed", 2**128, "seed must be at most 340,282,366,920,938,463,463,374,607,431,768,211"),
        *(
            (name, 10**26, f"{name} must be at most ")
            for name in ("models", "samples", "epochs", "steps", "batch", "size", "canaries")
        ),
    ],
)
def test_an_impossible_value_is_refused_with_what_it_must_be(name, value, said):
    found = refusal(replace(Config(), **{name: value}).check)
    assert found.startswith(said)
    assert len(found) < 140


def test_everything_that_is_wrong_is_said_at_once():
    said = refusal(Config(epsilon=-1.0, delta=0.0, epochs=0, init="zero", attacks=()).check)
    assert said.startswith("5 problems: ")
    for name in ("epsilon", "delta", "epochs", "init", "attack"):
        assert name in said


# ---------------------------------------------------------------- two runs


def test_differences_name_each_setting_that_differs_and_no_other():
    there, here = Config(models=80, seed=1), Config(models=100, seed=1, data="moved")
    assert differences(there.to_dict(), here.to_dict()) == ["models: 80 there, 100 here"]
    noisy = Config(epsilon=None, noise_multiplier=0.5)
    assert differences(Config().to_dict(), noisy.to_dict()) == [
        "epsilon: 8.0 there, none here",
        "noise_multiplier: none there, 0.5 here",
    ]
    assert differences(there.to_dict(), replace(there, epsilon=8).to_dict()) == []


def test_a_missing_file_is_named_in_plain_words(tmp_path):
    with pytest.raises(BadInput, match="is not a usable configuration: No such file") as refused:
        Config.from_toml(tmp_path / "missing.toml")
    assert "Errno" not in str(refused.value)
