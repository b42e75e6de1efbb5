"""One defence with several numbers."""

import pytest
from refusals import refuses

from dpaudit.defences import sweep


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
    ("text", "refusal"),
    [
        ("quantize:0.01", ("not-a-sweep", "defence", "quantize:0.01")),
        (
            "quantize:0.1..0.2 + noise:1,2",
            ("not-a-sweep", "defence", "quantize:0.1..0.2 + noise:1,2"),
        ),
        ("quantize:0.1..", ("malformed", "defence", "0.1..")),
        ("quantize:a..b", ("malformed", "defence", "a..b")),
        ("quantize:0.1..0.2..0.3", ("malformed", "defence", "0.1..0.2..0.3")),
        ("quantize:0.1..0.1", ("out-of-range", "defence", "0.1..0.1")),
        ("quantize:0..0.1", ("out-of-range", "defence", "0..0.1")),
        ("quantize:nan..1", ("out-of-range", "defence", "nan..1")),
        ("quantize:0.1..2", ("out-of-range",)),
        ("quantize:0.1,", ("not-a-number", "defence", "")),
        ("mean-std:1..2", ("takes-no-number", "defence")),
        ("top-k:1.5..3", ("too-small", None, 1.5)),
        ("quantise:0.1..0.2", ("unknown-name", "defences", "quantise")),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(text, refusal):
    with refuses(*refusal):
        sweep(text)
