"""A defence is found by its name, and what a third party's does wrong is told in one sentence."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from refusals import refuses

from dpaudit import registry
from dpaudit.defences import NamedDefence, NoDefence, Quantize, make, named_defence
from dpaudit.errors import BadInput
from dpaudit.protocols import Defence

SEEN = {"mean": np.full((4, 3), 0.25), "std": np.zeros((4, 3))}


class Plain(Defence):
    """Takes no number."""

    def protect(self, seen):
        return seen


class Optional(Plain):
    """Takes a number, if one is given."""

    def __init__(self, k: float = 3.0) -> None:
        self.k = k


class Unmade(Plain):
    """Cannot be made of any number."""

    def __init__(self, k: float) -> None:
        raise ArithmeticError("two\nlines")


class NotADefence:
    """Protects nothing."""


@pytest.fixture
def third_parties(monkeypatch):
    classes = {"plain": Plain, "optional": Optional, "unmade": Unmade, "no-defence": NotADefence}
    entries = {
        name: EntryPoint(name, f"{__name__}:{c.__name__}", "dpaudit.defences")
        for name, c in classes.items()
    }
    quantize = registry._entries("defences")["quantize"]
    monkeypatch.setattr(registry, "_entries", lambda kind: {**entries, "quantize": quantize})


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("quantize", ("needs-number", "defence", "quantize")),
        ("quantize:", ("not-a-number", "defence", "")),
        ("quantize:abc", ("not-a-number", "defence", "abc")),
        ("quantize:0.01:2", ("not-a-number", "defence", "0.01:2")),
        ("quantize:0", ("out-of-range", None, 0.0)),
        ("quantize:-1", ("out-of-range", None, -1.0)),
        ("quantize:nan", ("out-of-range",)),
        ("quantize:2", ("out-of-range", None, 2.0)),
        ("plain +", ("malformed", "defence", "plain +")),
        ("+ plain", ("malformed", "defence", "+ plain")),
        ("plain + + plain", ("malformed", "defence", "plain + + plain")),
        ("+", ("malformed", "defence", "+")),
        ("plain:1", ("takes-no-number", "defence", "plain:1")),
        ("no-defence", ("not-a-plug-in", "defences", "no-defence")),
    ],
)
def test_a_text_that_makes_no_defence_is_refused(third_parties, text, refusal):
    with refuses(*refusal):
        make(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quantise:0.01", r"'quantise' .*'quantize'"),
        ("", r"no '' among .*plain.*quantize"),
        ("unmade:1", r"'unmade:1' .*: ArithmeticError: two lines"),
    ],
)
def test_what_is_unknown_or_fails_when_it_is_made_is_named(third_parties, text, told):
    with pytest.raises(BadInput, match=told):
        make(text)


def test_a_text_makes_the_defence_of_that_name(third_parties):
    assert make("quantize:0.01") == NamedDefence("quantize:0.01", Quantize(0.01))
    assert isinstance(make("none").defence, NoDefence)
    assert isinstance(make("plain").defence, Plain)
    assert [make(text).defence.k for text in ("optional", "optional:5")] == [3.0, 5.0]


def test_a_defence_that_is_made_already_goes_by_its_text():
    assert named_defence(Quantize(0.05)) == NamedDefence("quantize:0.05", Quantize(0.05))
    assert named_defence(named_defence("quantize:0.05")) == named_defence("quantize:0.05")
    assert named_defence(NoDefence()).name == "none"
    assert str(named_defence("quantize:0.05")) == "quantize:0.05"


@pytest.mark.parametrize("given", [None, 0.01, NotADefence(), object])
def test_what_is_no_defence_is_refused(given):
    with refuses("not-a-defence", "defence", type(given).__name__):
        named_defence(given)


def behaving(protect):
    defence = Plain()
    defence.protect = protect
    return NamedDefence("theirs:1", defence)


def mutates(seen):
    seen["mean"][:] = 0
    return seen


def raises(seen):
    raise KeyError("mc")


@pytest.mark.parametrize(
    ("protect", "said"),
    [
        (raises, "KeyError: 'mc'"),
        (mutates, "ValueError: assignment destination is read-only"),
        (lambda seen: None, "NoneType"),
        (lambda seen: [seen["mean"]], " list"),
        (lambda seen: {"mean": seen["mean"][:3]}, "'mean' must be 4 rows"),
        (lambda seen: {"mean": seen["mean"][0]}, "not float64 of shape (3,)"),
        (lambda seen: {"mean": seen["mean"][:, 0]}, "not float64 of shape (4,)"),
        (lambda seen: {"mean": None}, "not object of shape ()"),
        (lambda seen: {"mean": 0.5}, "not float64 of shape ()"),
        (lambda seen: {"label": 0.5}, "on 1 axes"),
        (lambda seen: {"label": ["a", "b", "c", "d"]}, "not <U1 of shape (4,)"),
        (lambda seen: {"label": [[1], [1, 2], [1], [1]]}, "ValueError"),
    ],
)
def test_what_a_defence_does_wrong_is_told_in_one_sentence(protect, said):
    with pytest.raises(BadInput) as caught:
        behaving(protect).protect(SEEN)
    assert str(caught.value).startswith("the defence theirs:1 ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (SEEN["mean"] == 0.25).all()


def test_its_own_sentence_is_kept():
    def refuse(seen):
        raise BadInput("top-k needs probabilities")

    with pytest.raises(BadInput, match=r"^top-k needs probabilities$"):
        behaving(refuse).protect(SEEN)


def test_a_defence_may_drop_add_and_shorten():
    """Fewer passes, a label in place of probabilities: rows are all that has to stay."""
    seen = {**SEEN, "mc": np.zeros((4, 10, 3))}
    kept = behaving(lambda s: {"mc": s["mc"][:, :2], "label": [0, 1, 2, 0]}).protect(seen)
    assert {name: array.shape for name, array in kept.items()} == {"mc": (4, 2, 3), "label": (4,)}
