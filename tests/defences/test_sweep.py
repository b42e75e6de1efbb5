"""One defence with several numbers."""

import pytest

from dpaudit.defences import sweep
from dpaudit.errors import BadInput


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("quantize:0.001..0.1", ["0.001", "0.0032", "0.01", "0.032", "0.1"]),
        ("noise:0.01..0.16", ["0.01", "0.02", "0.04", "0.08", "0.16"]),
        ("fewer-samples:1..1000", ["1", "6", "32", "178", "1000"]),
        ("top-k:1..3", ["1", "2", "3"]),
        ("top-k:1,3,5", ["1", "3", "5"]),
        ("temperature: 5, 2", ["5", "2"]),
    ],
)
def test_a_range_has_equal_ratios_and_a_list_is_taken_as_it_is(text, numbers):
    name = text.partition(":")[0]
    assert sweep(text) == [f"{name}:{number}" for number in numbers]


def test_the_rest_of_a_chain_stays():
    assert sweep("mean-std + quantize:0.01,0.1 + label-only") == [
        "mean-std + quantize:0.01 + label-only",
        "mean-std + quantize:0.1 + label-only",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quantize:0.01", "'quantize:0.01' must have several numbers in one place"),
        ("quantize:0.1..0.2 + noise:1,2", "must have several numbers in one place"),
        ("quantize:0.1..", "'0.1..' in 'quantize:0.1..' is not LOW..HIGH, two numbers"),
        ("quantize:a..b", "is not LOW..HIGH"),
        ("quantize:0.1..0.2..0.3", "is not LOW..HIGH"),
        ("quantize:0.1..0.1", "must rise from a number above 0 to a larger one"),
        ("quantize:0..0.1", "must rise from a number above 0"),
        ("quantize:nan..1", "must rise from a number above 0"),
        ("quantize:0.1..2", "must be above 0 and at most 1"),
        ("quantize:0.1,", "'' in the defence 'quantize:' is not a number"),
        ("quantise:0.1..0.2", "did you mean 'quantize'?"),
        ("mean-std:1..2", "takes no number"),
        ("top-k:1.5..3", "must be a whole number"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(text, said):
    with pytest.raises(BadInput) as caught:
        sweep(text)
    assert said in str(caught.value)
