"""A defence is found by its name, and what a third party's does wrong is told in one sentence."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from dpaudit import registry
from dpaudit.defences import Named, Nothing, Quantize, make, named
from dpaudit.errors import BadInput

SEEN = {"mean": np.full((4, 3), 0.25), "std": np.zeros((4, 3))}


class Plain:
    """Takes no number."""

    def protect(self, seen):
        return seen


class Optional(Plain):
    """Takes a number, if one is given."""

    def __init__(self, k: float = 3.0) -> None:
        self.k = k


class Unmade:
    """Cannot be made of any number."""

    def __init__(self, k: float) -> None:
        raise ArithmeticError("two\nlines")


class NoDefence:
    """Protects nothing."""


@pytest.fixture
def third_parties(monkeypatch):
    classes = {"plain": Plain, "optional": Optional, "unmade": Unmade, "no-defence": NoDefence}
    entries = {
        name: EntryPoint(name, f"{__name__}:{c.__name__}", "dpaudit.defences")
        for name, c in classes.items()
    }
    quantize = registry._entries("defences")["quantize"]
    monkeypatch.setattr(registry, "_entries", lambda kind: {**entries, "quantize": quantize})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quantise:0.01", "no 'quantise' among the defences; did you mean 'quantize'?"),
        ("", "no '' among the defences; there are: "),
        ("quantize", "needs its unit, as quantize:UNIT; see dpaudit explain quantize"),
        ("quantize:", "'' in the defence 'quantize:' is not a number"),
        ("quantize:abc", "'abc' in the defence 'quantize:abc' is not a number"),
        ("quantize:0.01:2", "'0.01:2' in the defence 'quantize:0.01:2' is not a number"),
        ("quantize:0", "must be above 0 and at most 1, not 0.0"),
        ("quantize:-1", "must be above 0 and at most 1, not -1.0"),
        ("quantize:nan", "must be above 0 and at most 1, not nan"),
        ("quantize:2", "must be above 0 and at most 1, not 2.0"),
        ("plain +", "a plus in 'plain +' has no defence on one of its sides"),
        ("+ plain", "a plus in '+ plain' has no defence on one of its sides"),
        ("plain + + plain", "a plus in 'plain + + plain' has no defence on one of its sides"),
        ("+", "a plus in '+' has no defence on one of its sides"),
        ("plain:1", "the defence 'plain' takes no number; name it without ':1'"),
        ("unmade:1", "the defence 'unmade:1' cannot be made: ArithmeticError: two lines"),
        ("no-defence", "the plug-in 'no-defence' is no defence: it has no method protect"),
    ],
)
def test_a_text_that_makes_no_defence_is_refused(third_parties, text, said):
    with pytest.raises(BadInput) as caught:
        make(text)
    assert said in str(caught.value)


def test_a_text_makes_the_defence_of_that_name(third_parties):
    assert make("quantize:0.01") == Named("quantize:0.01", Quantize(0.01))
    assert isinstance(make("none").defence, Nothing)
    assert isinstance(make("plain").defence, Plain)
    assert [make(text).defence.k for text in ("optional", "optional:5")] == [3.0, 5.0]


def test_a_defence_that_is_made_already_goes_by_its_text():
    assert named(Quantize(0.05)) == Named("quantize:0.05", Quantize(0.05))
    assert named(named("quantize:0.05")) == named("quantize:0.05")
    assert named(Nothing()).name == "none"
    assert str(named("quantize:0.05")) == "quantize:0.05"


@pytest.mark.parametrize("given", [None, 0.01, NoDefence(), object])
def test_what_is_no_defence_is_refused(given):
    with pytest.raises(BadInput, match="is no defence: it has no method protect"):
        named(given)


def behaving(protect):
    defence = Plain()
    defence.protect = protect
    return Named("theirs:1", defence)


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
        (lambda seen: None, "it gave back NoneType, not named arrays"),
        (lambda seen: [seen["mean"]], "it gave back list, not named arrays"),
        (lambda seen: {"mean": seen["mean"][:3]}, "'mean' must be 4 rows of numbers on 2 axes"),
        (lambda seen: {"mean": seen["mean"][0]}, "not float64 of shape (3,)"),
        (lambda seen: {"mean": seen["mean"][:, 0]}, "not float64 of shape (4,)"),
        (lambda seen: {"mean": None}, "not object of shape ()"),
        (lambda seen: {"mean": 0.5}, "not float64 of shape ()"),
        (lambda seen: {"label": 0.5}, "'label' must be 4 rows of numbers on 1 axes"),
        (lambda seen: {"label": ["a", "b", "c", "d"]}, "not <U1 of shape (4,)"),
        (lambda seen: {"label": [[1], [1, 2], [1], [1]]}, "ValueError"),
    ],
)
def test_what_a_defence_does_wrong_is_told_in_one_sentence(protect, said):
    with pytest.raises(BadInput) as caught:
        behaving(protect).protect(SEEN)
    assert str(caught.value).startswith("the defence theirs:1 failed: ")
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
