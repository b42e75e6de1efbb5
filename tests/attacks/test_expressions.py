import pytest

from dpaudit.attacks import parse
from dpaudit.errors import BadInput


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
    with pytest.raises(BadInput, match=f"'{word}'.*known are loss, -loss, mean, inv_std, min, max"):
        parse(text)


def test_mixture_is_refused():
    with pytest.raises(BadInput, match=r"mixes & and \|"):
        parse("mean & min | max")
