import pytest
from refusals import refuses

from dpaudit.attacks.classifier import parse


@pytest.mark.parametrize(
    "text", ["mean", "mean & inv_std", "min | max", "mean & inv_std & min & max"]
)
def test_parsed_attack_reads_back_as_its_text(text):
    assert repr(parse(text)) == text


def test_blanks_do_not_matter():
    assert repr(parse(" mean&inv_std ")) == "mean & inv_std"


def test_needs_are_those_of_all_its_statistics():
    assert parse("loss | mean").needs == {"logits", "mean"}


@pytest.mark.parametrize(
    ("text", "word"), [("mean & median", "median"), ("mean &", ""), ("", ""), ("std", "std")]
)
def test_unknown_word_is_named_with_the_known_ones(text, word):
    with refuses("unknown-name", option="attack", value=word) as caught:
        parse(text)
    assert "loss, -loss, mean, inv_std, min, max" in str(caught.value)


def test_mixture_is_refused():
    with refuses("mixed-operators", value="mean & min | max"):
        parse("mean & min | max")
