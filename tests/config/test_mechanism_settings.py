from dataclasses import dataclass, field

import pytest
from refusals import refuses

from dpaudit import checks, registry
from dpaudit.config import mechanism_settings, plugin_defaults
from dpaudit.errors import BadInput
from dpaudit.protocols import Mechanism


class Odd(Mechanism):
    """Asks for a run's settings and for some of its own."""

    claim = None

    def __init__(
        self,
        data,
        epsilon: float,
        seed: int = 0,
        size_of_it: int | None = None,
        rate: float = 0.5,
        kind: str = "plain",
        loud: bool = False,
        other: list | None = None,
    ) -> None: ...

    def run(self, pair, trials): ...


@pytest.fixture(autouse=True)
def odd(monkeypatch):
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda k, n: Odd if n == "odd" else load(k, n))


def test_only_what_no_run_has_by_itself_is_a_mechanism_s_own():
    assert list(mechanism_settings.named_settings("odd")) == ["size_of_it", "rate", "kind", "loud"]
    assert (
        mechanism_settings.named_settings("dpsgd")
        == mechanism_settings.named_settings("own-function")
        == {}
    )
    assert mechanism_settings.named_settings("my_module:train") == {}


def test_values_are_read_as_the_types_that_are_asked_for():
    given = ["rate=1", "loud=true", "size_of_it=3", "kind=a=b"]
    read = mechanism_settings.read("odd", given)
    assert read == {"rate": 1.0, "loud": True, "size_of_it": 3, "kind": "a=b"}
    assert isinstance(read["rate"], float)
    defaults = {"rate": 0.5, "loud": False, "size_of_it": None, "kind": "plain"}
    assert mechanism_settings.read("odd", []) == defaults


def test_what_is_written_is_complete_and_the_same_however_it_was_given():
    once = mechanism_settings.as_texts(mechanism_settings.read("odd", ["rate=1", "loud=true"]))
    again = mechanism_settings.as_texts(mechanism_settings.read("odd", ["loud=true", "rate=1.0"]))
    assert once == again == ("kind=plain", "loud=true", "rate=1.0")
    assert mechanism_settings.as_texts(mechanism_settings.read("odd", once)) == once


def test_later_texts_take_the_place_of_earlier_ones():
    assert mechanism_settings.merge_texts(["a=1", "b=2"], ["b=3"]) == ("a=1", "b=3")


def test_every_setting_is_told_with_its_default():
    assert mechanism_settings.describe("odd") == [
        "--set size_of_it=(left out)",
        "--set rate=0.5",
        "--set kind=plain",
        "--set loud=false",
    ]


@pytest.mark.parametrize(
    ("given", "code", "option", "value"),
    [
        ("rte=1", "unknown-name", "set", "rte"),
        ("rate=much", "wrong-type", "rate", "much"),
        ("rate=nan", "wrong-type", "rate", "nan"),
        ("rate=inf", "wrong-type", "rate", "inf"),
        ("size_of_it=1.5", "wrong-type", "size_of_it", "1.5"),
        ("loud=yes", "wrong-type", "loud", "yes"),
        ("epsilon=2", "not-its-own", "epsilon", "odd"),
        ("other=1", "not-its-own", "other", "odd"),
        (f"size_of_it={10**26}", "too-large", "size_of_it", 10**26),
        ("rate=1e308", "too-large", "rate", 1e308),
        ("rate", "not-a-setting", "set", "rate"),
        ("=1", "not-a-setting", "set", "=1"),
    ],
)
def test_what_cannot_be_set_is_refused(given, code, option, value):
    with refuses(code, option, value):
        mechanism_settings.read("odd", [given])


def test_a_refusal_names_what_was_meant():
    for given, meant in (("rte=1", "'rate'"), ("epsilon=2", "--epsilon")):
        with pytest.raises(BadInput, match=meant):
            mechanism_settings.read("odd", [given])


def test_a_mechanism_without_settings_of_its_own_says_so():
    for mechanism in ("dpsgd", "my_module:train"):
        with refuses("no-settings", option="x", value=mechanism):
            mechanism_settings.read(mechanism, ["x=1"])


def test_a_setting_that_is_given_twice_is_refused():
    with refuses("stated-twice", option="rate", value="2"):
        mechanism_settings.read("odd", ["rate=1", "rate=2"])


# ---------------------------------------------------------------- groups


@dataclass(frozen=True)
class Noise:
    scale: float = 1.0
    epochs: int = 7
    half: float = field(init=False, default=0.5)

    def __post_init__(self) -> None:
        checks.refuse([checks.positive("scale", self.scale)])


class Grouped(Odd):
    """Has a group of settings."""

    def __init__(self, data, noise: Noise = Noise(), rounds: int = 2) -> None:
        self.noise, self.rounds = noise, rounds


class Collides(Odd):
    """Has two settings with one name."""

    def __init__(self, data, noise: Noise = Noise(), scale: float = 2.0) -> None: ...


def test_fields_of_a_group_are_settings(monkeypatch):
    monkeypatch.setattr(registry, "load", lambda kind, name: Grouped)
    assert list(mechanism_settings.named_settings("odd")) == ["scale", "rounds"]
    values = mechanism_settings.read("odd", ["scale=0.5"])
    assert values == {"scale": 0.5, "rounds": 2}
    made = registry.make("mechanisms", "odd", data=0, epochs=3, lr=1.0, **values)
    assert (made.noise, made.rounds) == (Noise(0.5, epochs=3), 2)
    with refuses("not-positive", option="scale", value=-1.0):
        registry.make("mechanisms", "odd", data=0, scale=-1.0)


def test_defaults_of_a_group_are_those_of_a_run_with_its_mechanism(monkeypatch):
    monkeypatch.setattr(registry, "load", lambda kind, name: Grouped)
    monkeypatch.setattr(registry, "names", lambda kind: ["odd"])
    assert plugin_defaults({"mechanism": "odd"}) == {"epochs": 7}


def test_two_settings_with_one_name_are_refused():
    with refuses("plug-in-broken", option="scale"):
        registry.parameters(Collides)


class Unsaid(Odd):
    """Has defaults that say nothing."""

    def __init__(self, data=None, lr: float | None = None, epochs: int = 3) -> None: ...


def test_a_default_of_none_changes_no_setting_of_a_run(monkeypatch):
    monkeypatch.setattr(registry, "load", lambda kind, name: Unsaid)
    monkeypatch.setattr(registry, "names", lambda kind: ["odd"])
    assert plugin_defaults({"mechanism": "odd"}) == {"epochs": 3}
