import pytest
from refusals import refuses

from dpaudit import own_settings, registry
from dpaudit.errors import BadInput


class Odd:
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

    def play(self, pair, trials): ...


@pytest.fixture(autouse=True)
def odd(monkeypatch):
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda k, n: Odd if n == "odd" else load(k, n))


def test_only_what_no_run_has_by_itself_is_a_mechanism_s_own():
    assert list(own_settings.known("odd")) == ["size_of_it", "rate", "kind", "loud"]
    assert own_settings.known("dpsgd") == own_settings.known("own-function") == {}
    assert own_settings.known("my_module:train") == {}


def test_values_are_read_as_the_types_that_are_asked_for():
    given = ["rate=1", "loud=true", "size_of_it=3", "kind=a=b"]
    read = own_settings.read("odd", given)
    assert read == {"rate": 1.0, "loud": True, "size_of_it": 3, "kind": "a=b"}
    assert isinstance(read["rate"], float)
    defaults = {"rate": 0.5, "loud": False, "size_of_it": None, "kind": "plain"}
    assert own_settings.read("odd", []) == defaults


def test_what_is_written_is_complete_and_the_same_however_it_was_given():
    once = own_settings.written(own_settings.read("odd", ["rate=1", "loud=true"]))
    again = own_settings.written(own_settings.read("odd", ["loud=true", "rate=1.0"]))
    assert once == again == ("kind=plain", "loud=true", "rate=1.0")
    assert own_settings.written(own_settings.read("odd", once)) == once


def test_later_texts_take_the_place_of_earlier_ones():
    assert own_settings.merged(["a=1", "b=2"], ["b=3"]) == ("a=1", "b=3")


def test_every_setting_is_told_with_its_default():
    assert own_settings.told("odd") == [
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
        own_settings.read("odd", [given])


def test_a_refusal_names_what_was_meant():
    for given, meant in (("rte=1", "'rate'"), ("epsilon=2", "--epsilon")):
        with pytest.raises(BadInput, match=meant):
            own_settings.read("odd", [given])


def test_a_mechanism_without_settings_of_its_own_says_so():
    for mechanism in ("dpsgd", "my_module:train"):
        with refuses("no-settings", option="x", value=mechanism):
            own_settings.read(mechanism, ["x=1"])


def test_a_setting_that_is_given_twice_is_refused():
    with refuses("stated-twice", option="rate", value="2"):
        own_settings.read("odd", ["rate=1", "rate=2"])
