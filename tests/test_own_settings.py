import pytest

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
    ("given", "said"),
    [
        ("rte=1", "no 'rte' among the settings of odd; did you mean 'rate'?"),
        ("rate=much", "rate of odd must be a number, not 'much'"),
        ("rate=nan", "rate of odd must be a number, not 'nan'"),
        ("rate=inf", "rate of odd must be a number, not 'inf'"),
        ("size_of_it=1.5", "size_of_it of odd must be a whole number, not '1.5'"),
        ("loud=yes", "loud of odd must be true or false, not 'yes'"),
        ("epsilon=2", "epsilon is no setting of odd alone; give it as --epsilon"),
        ("other=1", "other is no setting of odd alone"),
        (f"size_of_it={10**26}", "size_of_it must be at most 1,000,000,000, not 100,000,"),
        ("rate=1e308", "rate must be at most 1,000,000,000, not 1e+308"),
        ("rate", "'rate' sets nothing; write NAME=VALUE"),
        ("=1", "'=1' sets nothing; write NAME=VALUE"),
    ],
)
def test_what_cannot_be_set_is_refused_in_one_sentence(given, said):
    with pytest.raises(BadInput) as caught:
        own_settings.read("odd", [given])
    assert said in str(caught.value)


def test_a_mechanism_without_settings_of_its_own_says_so():
    for mechanism in ("dpsgd", "my_module:train"):
        with pytest.raises(BadInput, match="has no settings of its own; leave --set x out"):
            own_settings.read(mechanism, ["x=1"])


def test_a_setting_that_is_given_twice_is_refused():
    with pytest.raises(BadInput, match="rate is set twice, to 1 and to 2"):
        own_settings.read("odd", ["rate=1", "rate=2"])
