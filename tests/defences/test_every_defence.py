"""What all built-in defences promise: named by their text, row by row, nothing else let out."""

import math

import numpy as np
import pytest
from networks import network, numbered, plain
from refusals import refuses

from dpaudit import registry
from dpaudit.defences import MeanStd, Quantize, make, named_defence
from dpaudit.defences.numbers import Noise
from dpaudit.defences.predictions import (
    ClipConfidence,
    FewerSamples,
    LabelOnly,
    MeanOnly,
    Temperature,
    TopK,
)

EVERY = {
    "mean-std": MeanStd(),
    "mean-only": MeanOnly(),
    "label-only": LabelOnly(),
    "top-k:2": TopK(2),
    "temperature:2.5": Temperature(2.5),
    "noise:0.05": Noise(0.05),
    "clip-confidence:0.8": ClipConfidence(0.8),
    "fewer-samples:3": FewerSamples(3),
    "quantize:0.01": Quantize(0.01),
}
every = pytest.mark.parametrize(("text", "defence"), EVERY.items(), ids=EVERY)

RELEASED = {
    "mean-std": {"mean", "std"},
    "mean-only": {"mean"},
    "label-only": {"mean", "probabilities", "logits"},
    "top-k:2": {"mean", "std", "probabilities", "logits"},
    "temperature:2.5": {"mc", "mean", "std", "probabilities", "logits"},
    "noise:0.05": {"mean", "std", "probabilities", "logits"},
    "clip-confidence:0.8": {"mc", "mean", "std", "probabilities", "logits"},
    "fewer-samples:3": {"mc", "mean", "std", "probabilities", "logits"},
    "quantize:0.01": {"mean", "std", "probabilities", "logits"},
}


def test_every_built_in_defence_is_here():
    built_in = {text.partition(":")[0] for text in EVERY}
    ours = {n for n, e in registry._entries("defences").items() if e.value.startswith("dpaudit.")}
    assert built_in == ours


@every
def test_its_text_makes_it_and_it_tells_its_text(text, defence):
    assert make(text).defence == defence
    assert named_defence(defence).name == str(defence) == text


@every
def test_it_explains_what_it_does_to_utility_and_posterior(text, defence):
    name = text.partition(":")[0]
    told = registry.description("defences", name)
    assert told.startswith(name)
    assert "Utility:" in told
    assert "posterior" in told
    assert len(registry.summary("defences", name)) <= 100


@every
def test_what_is_let_out_is_what_it_says(text, defence):
    assert named_defence(defence).protect(numbered(network())).keys() == RELEASED[text]


@every
def test_rows_are_defended_each_for_itself(text, defence):
    seen = numbered(network(rows=7))
    among = named_defence(defence).protect(seen)
    some = np.array([5, 0, 3])
    alone = named_defence(defence).protect({name: array[some] for name, array in seen.items()})
    for name, array in alone.items():
        np.testing.assert_array_equal(array, among[name][some])


@every
def test_mean_and_deviation_are_of_the_passes_that_are_released(text, defence):
    kept = named_defence(defence).protect(numbered(network()))
    if "mc" in kept:
        p = kept["mc"].astype(float)
        np.testing.assert_allclose(kept["mean"], p.mean(axis=1), rtol=1e-12)
        np.testing.assert_allclose(kept["std"], p.std(axis=1), rtol=1e-9, atol=1e-12)


@every
def test_logits_say_no_more_than_the_probabilities(text, defence):
    kept = named_defence(defence).protect(numbered(network()))
    if "logits" in kept:
        e = np.exp(kept["logits"].astype(float))
        p = kept["probabilities"].astype(float)
        np.testing.assert_allclose(
            e / e.sum(axis=1, keepdims=True), p / p.sum(axis=1, keepdims=True), rtol=1e-5
        )


@every
def test_a_plain_network_is_defended_or_the_lack_is_told(text, defence):
    seen = numbered(plain(network()))
    if text in ("mean-std", "mean-only", "fewer-samples:3"):
        lacks = {"mean-std": ("mean", "std"), "mean-only": ("mean",), "fewer-samples:3": ("mc",)}
        with refuses("missing-observations", value=lacks[text]) as caught:
            named_defence(defence).protect(seen)
        assert text in str(caught.value)
        assert "logits, probabilities" in str(caught.value)
    else:
        assert named_defence(defence).protect(seen).keys() == {"logits", "probabilities"}


@every
def test_logits_alone_are_defended_as_their_probabilities(text, defence):
    seen = network()
    if "logits" in RELEASED[text] and text != "fewer-samples:3":
        both, alone = (
            named_defence(defence).protect(numbered({name: seen[name] for name in names}))
            for names in (("logits", "probabilities"), ("logits",))
        )
        np.testing.assert_allclose(alone["logits"], both["logits"], rtol=1e-4, atol=1e-6)


@every
def test_a_diverged_model_is_no_failure(text, defence):
    seen = {name: array.copy() for name, array in network().items()}
    for array in seen.values():
        array[1] = np.nan
    whole, _ = (named_defence(defence).protect(numbered(s)) for s in (network(), seen))
    kept = named_defence(defence).protect(numbered(seen))
    for name, array in kept.items():
        np.testing.assert_array_equal(array[[0, 2, 3]], whole[name][[0, 2, 3]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text", ["temperature:1e-320", "temperature:1e9", "noise:1e9", "quantize:1e-320"]
)
def test_extreme_numbers_leave_probabilities(text):
    kept = make(text).protect(numbered(network()))
    for name in ("mean", "probabilities"):
        assert ((kept[name] >= 0) & (kept[name] <= 1)).all()


def test_a_temperature_near_zero_leaves_the_label():
    seen = network()
    kept = make("temperature:1e-320").protect(seen)["probabilities"]
    np.testing.assert_array_equal(kept, np.eye(4)[seen["probabilities"].argmax(axis=1)])


@pytest.mark.parametrize("text", ["label-only", "top-k:2", "temperature:2", "clip-confidence:0.9"])
def test_numbers_that_are_no_probabilities_are_refused(text):
    with refuses("missing-observations", value=("probabilities",)):
        make(text).protect({"values": np.ones((3, 2))})


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("top-k:0", ("too-small", None, 0)),
        ("top-k:2.5", ("too-small", None, 2.5)),
        ("fewer-samples:-1", ("too-small", None, -1)),
        ("fewer-samples:inf", ("too-small", None, math.inf)),
        ("temperature:0", ("not-positive", None, 0.0)),
        ("temperature:nan", ("not-positive",)),
        ("noise:0", ("not-positive", None, 0.0)),
        ("clip-confidence:0.5", ("out-of-range", None, 0.5)),
        ("clip-confidence:1.1", ("out-of-range", None, 1.1)),
        ("mean-std:1", ("takes-no-number", "defence", "mean-std:1")),
        ("label-only:1", ("takes-no-number", "defence", "label-only:1")),
        ("top-k", ("needs-number", "defence", "top-k")),
    ],
)
def test_a_number_that_cannot_be_is_refused(text, refusal):
    with refuses(*refusal):
        make(text)
