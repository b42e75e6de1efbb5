"""Who attacks: what comes along with each adversary, and what is refused."""

import pytest
from refusals import refuses

from dpaudit.config import Config, plugin_defaults
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER

STRONG = [name for name in ADVERSARIES if name != OBSERVER.name]


def test_an_observer_brings_nothing_and_is_not_even_written_down():
    assert plugin_defaults({}) == plugin_defaults({"adversary": "observer"}) == {}
    assert "adversary" not in Config().to_dict()
    assert Config.from_dict({"adversary": "observer"}) == Config()


@pytest.mark.parametrize("name", STRONG)
def test_a_configuration_has_what_its_adversary_brings_unless_something_else_is_given(name):
    sets = ADVERSARIES[name].default_settings
    config = Config.from_dict({"adversary": name})
    assert config.flat() | sets == config.flat()
    other = Config.from_dict(
        {"adversary": name, "canary": "random", "lr": 1.5, "attacks": ["mean"]}
    )
    assert (other.planting.canary, other.training.lr) == ("random", 1.5)
    assert other.judging.attacks == ("mean",)
    assert (other.training.steps, other.training.dropout) == (sets.get("steps"), 0.0)
    longer = Config.from_dict({"adversary": name, "epochs": 3})
    assert (longer.training.epochs, longer.training.steps) == (3, None)


@pytest.mark.parametrize("name", STRONG)
def test_a_configuration_survives_its_file(name, tmp_path):
    config = Config.from_dict({"adversary": name, "lr": 0.25, "epsilon": 10.0})
    (tmp_path / "config.toml").write_text(config.to_toml())
    again = Config.from_toml(tmp_path / "config.toml")
    assert again.digest() == config.digest()
    assert again == config


def test_steps_take_the_place_of_epochs():
    config = Config.of(steps=10)
    assert "epochs" not in config.to_dict()
    assert config.digest() == Config.of(steps=10, epochs=3).digest()
    with refuses("too-small", option="steps", value=0):
        Config.of(steps=0)


def test_an_unknown_adversary_is_refused():
    with refuses("unknown-choice", option="adversary", value="nobody"):
        Config.from_dict({"adversary": "nobody"})


@pytest.mark.parametrize("adversary", ADVERSARIES.values(), ids=ADVERSARIES)
def test_every_adversary_says_what_it_controls_what_it_sees_and_what_follows(adversary):
    told = adversary.describe(0)
    assert told.startswith(f"{adversary.name}: chose ")
    assert told.endswith(f"; sees {adversary.sees}")
    assert adversary.follows
    assert adversary.short
    assert "(20" in adversary.paper


@pytest.mark.parametrize("name", STRONG)
def test_only_of_a_gradient_it_is_said_that_one_was_put_in(name):
    record, one, many = map(ADVERSARIES[name].describe, (0, 1, 1000))
    assert "gradient" not in record
    assert "a gradient" in one
    assert ("every step" in one) == (name == "per-step")
    assert "gradients" in many
    assert "fair coin" in many
    assert "fair coin" not in one
