"""Who attacks: what comes along with each adversary, and what is refused."""

import pytest

from dpaudit.adversaries import ADVERSARIES, OBSERVER
from dpaudit.config import Config, brought
from dpaudit.errors import BadInput

STRONG = [name for name in ADVERSARIES if name != OBSERVER.name]


def test_an_observer_brings_nothing_and_is_not_even_written_down():
    assert brought({}) == brought({"adversary": "observer"}) == {}
    assert "adversary" not in Config().to_dict()
    assert Config.from_dict({"adversary": "observer"}) == Config()


@pytest.mark.parametrize("name", STRONG)
def test_a_configuration_has_what_its_adversary_brings_unless_something_else_is_given(name):
    sets = ADVERSARIES[name].sets
    config = Config.from_dict({"adversary": name})
    assert {setting: getattr(config, setting) for setting in sets} == dict(sets)
    other = Config.from_dict(
        {"adversary": name, "canary": "random", "lr": 1.5, "attacks": ["mean"]}
    )
    assert (other.canary, other.lr, other.attacks) == ("random", 1.5, ("mean",))
    assert (other.steps, other.dropout) == (sets.get("steps"), 0.0)
    longer = Config.from_dict({"adversary": name, "epochs": 3})
    assert (longer.epochs, longer.steps) == (3, None)


@pytest.mark.parametrize("name", STRONG)
def test_a_configuration_survives_its_file(name, tmp_path):
    config = Config.from_dict({"adversary": name, "lr": 0.25, "epsilon": 10.0})
    (tmp_path / "config.toml").write_text(config.to_toml())
    again = Config.from_toml(tmp_path / "config.toml")
    assert again.digest() == config.digest()
    assert again.check() == config


def test_steps_take_the_place_of_epochs():
    config = Config(steps=10)
    assert "epochs" not in config.to_dict()
    assert config.digest() == Config(steps=10, epochs=3).digest()
    with pytest.raises(BadInput, match="steps must be a whole number"):
        Config(steps=0).check()


def test_an_unknown_adversary_is_refused():
    with pytest.raises(BadInput, match="adversary must be one of observer, worst-case, "):
        Config.from_dict({"adversary": "nobody"}).check()


def test_every_adversary_says_what_it_controls_what_it_sees_and_what_follows():
    for name, adversary in ADVERSARIES.items():
        assert str(adversary).startswith(f"{name}: chose ")
        assert "sees" in str(adversary)
        assert adversary.follows
