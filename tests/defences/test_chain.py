"""Defences one after the other, on the command line and in Python."""

import numpy as np
import pytest
from networks import network, numbered
from refusals import refuses

from dpaudit.defences import MeanStd, Quantize, make, named_defence
from dpaudit.defences.chain import Chain
from dpaudit.defences.numbers import Noise
from dpaudit.defences.predictions import LabelOnly, TopK
from dpaudit.errors import BadInput
from dpaudit.protocols import Defence


def test_the_second_sees_what_the_first_lets_out():
    seen = numbered(network())
    both = make("mean-std + quantize:0.1").protect(seen)
    by_hand = Quantize(0.1).protect(MeanStd().protect(seen))
    assert both.keys() == by_hand.keys() == {"mean", "std"}
    for name, array in by_hand.items():
        np.testing.assert_array_equal(both[name], array)


def test_order_counts():
    seen = {"probabilities": np.array([[0.44, 0.36, 0.2]])}
    labels, ties = (
        make(text).protect(seen)["probabilities"].tolist()
        for text in ("label-only + quantize:0.2", "quantize:0.2 + label-only")
    )
    assert labels == [[1, 0, 0]]
    assert ties == [[0, 0, 0]], "0.44 and 0.36 are both 0.4"


@pytest.mark.parametrize(
    "text", ["mean-std+quantize:0.02", "mean-std + quantize:0.02", "mean-std  +quantize:0.02"]
)
def test_blanks_do_not_count(text):
    made = make(text)
    assert made.name == "mean-std + quantize:0.02"
    assert made.defence == MeanStd() + Quantize(0.02)


def test_the_plus_of_a_number_is_no_plus_between_defences():
    assert make("noise:1e+0").defence == Noise(1.0)
    assert make("noise:1e+0 + noise:1e+1").defence == Noise(1.0) + Noise(10.0)


def test_chains_read_as_code_and_as_text():
    chain = MeanStd() + Quantize(0.01) + LabelOnly()
    assert repr(chain) == "MeanStd() + Quantize(unit=0.01) + LabelOnly()"
    assert str(chain) == named_defence(chain).name == "mean-std + quantize:0.01 + label-only"
    assert chain == MeanStd() + (Quantize(0.01) + LabelOnly())
    assert make(str(chain)).defence == chain


class Theirs(Defence):
    """Of a third party, which knows nothing of chains."""

    def protect(self, seen):
        return {"mean": seen["mean"] / 2}

    def __str__(self):
        return "theirs"


def test_a_third_partys_defence_can_be_in_a_chain():
    seen = {"mean": np.array([[0.5, 0.25, 0.25]])}
    assert (TopK(1) + Theirs()).protect(seen)["mean"].tolist() == [[0.25, 0, 0]]
    assert Chain((Theirs(), TopK(1))).protect(seen)["mean"].tolist() == [[0.25, 0, 0]]


def test_the_part_that_fails_is_named():
    with pytest.raises(BadInput, match=r"theirs failed: KeyError: 'mean'$"):
        named_defence(LabelOnly() + Theirs()).protect({"probabilities": np.eye(2)})
    with refuses("missing-observations", value=("std",)):
        make("mean-only + mean-std").protect(network())


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("mean-std + none", ("no-effect", "defence", "mean-std + none")),
        ("mean-std + ", ("malformed", "defence", "mean-std +")),
        ("+ mean-std", ("malformed", "defence", "+ mean-std")),
        ("mean-only + quantize", ("needs-number", "defence", "quantize")),
        ("mean-only + quantize:0", ("out-of-range", None, 0.0)),
    ],
)
def test_a_chain_that_cannot_be_is_refused(text, refusal):
    with refuses(*refusal):
        make(text)


def test_an_unknown_part_is_refused_with_the_nearest_known():
    with pytest.raises(BadInput, match=r"'quantise' .*'quantize'"):
        make("mean-std + quantise:0.1")


def test_what_is_no_defence_cannot_be_added():
    with pytest.raises(TypeError):
        MeanStd() + 0.01
    with refuses("none-given", "parts"):
        Chain(())
