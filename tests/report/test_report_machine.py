from __future__ import annotations

import json
import math
import os
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from refusals import refuses
from report_examples import (
    bound,
    inconclusive,
    no_violation_found,
    objects,
    published,
    violation,
)

from dpaudit.errors import DiskFull
from dpaudit.report import dump, load_schema, to_dict
from dpaudit.types import Claim, GaussianCurve

REPORTS = [inconclusive(), no_violation_found(), violation()]


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    return Draft202012Validator(load_schema())


def through_json(report: Any) -> Any:
    return json.loads(json.dumps(to_dict(report), allow_nan=False))


def test_schema_is_a_valid_schema_and_names_no_host() -> None:
    schema = load_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith("urn:")
    assert schema["properties"]["version"] == {
        "const": 1,
        "description": schema["properties"]["version"]["description"],
    }


@pytest.mark.parametrize(
    "name", ["report", "comparison", "checkpoint", "plan", "estimates", "calibration", "ladder"]
)
def test_every_schema_is_whole_when_it_is_loaded(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(schema)))
    assert references == {f"#/$defs/{part}" for part in schema["$defs"]}


LATER = {"attacker", "expected", "heuristic", "strength", "training", "untested", "why"}
"""Fields that older reports do not have."""


def test_schema_describes_and_closes_every_field() -> None:
    found = list(objects(load_schema()))
    assert len(found) >= 9
    for part in found:
        assert part["additionalProperties"] is False
        later = {n for n, field in part["properties"].items() if n not in part["required"]}
        assert later <= {*LATER, "trials"}  # of a claim
        assert all("default" in part["properties"][name] for name in later)
        for name, field in part["properties"].items():
            assert field.get("description"), name


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.verdict)
def test_every_verdict_fulfils_the_schema(schema: Draft202012Validator, report: Any) -> None:
    assert list(schema.iter_errors(through_json(report))) == []


@pytest.mark.parametrize(
    "claim",
    [
        Claim(epsilon=math.inf, delta=0.0, beside={"rdp": math.inf}),
        Claim(epsilon=8.0, delta=1e-5, curve=GaussianCurve(mu=1.5), adjacency="replace"),
    ],
)
def test_every_claim_fulfils_the_schema(schema: Draft202012Validator, claim: Claim) -> None:
    verdict = "INCONCLUSIVE" if claim.guarantees else "NO_GUARANTEE_CLAIMED"
    written = through_json(inconclusive(claim=claim, verdict=verdict))
    assert list(schema.iter_errors(written)) == []
    assert written["claim"]["epsilon"] == (None if math.isinf(claim.epsilon) else 8.0)


def test_schema_refuses_a_missing_field_and_an_unknown_one(schema: Draft202012Validator) -> None:
    whole = through_json(inconclusive())
    for part in (whole, whole["claim"], whole["bounds"][0], whole["bounds"][0]["counts"]):
        for name in list(part):
            kept = part.pop(name)
            assert schema.is_valid(whole) == (name in LATER), f"without {name}"
            part[name] = kept
        part["surprise"] = 1
        assert not schema.is_valid(whole)
        del part["surprise"]
    assert schema.is_valid(whole)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 2),
        (("verdict",), "PRIVATE"),
        (("primary",), -1),
        (("bounds",), []),
        (("bounds", 0, "assumption"), "hope"),
        (("bounds", 0, "epsilon"), None),
        (("bounds", 0, "confidence"), 1.0),
        (("claim", "curve"), {"kind": "gaussian"}),
        (("models", "in"), 1.5),
    ],
)
def test_schema_refuses_a_wrong_value(
    schema: Draft202012Validator, path: tuple[Any, ...], value: Any
) -> None:
    whole = through_json(inconclusive())
    part = whole
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    assert not schema.is_valid(whole)


def test_values_survive_the_round_trip(tmp_path: Path) -> None:
    report = inconclusive()
    dump(report, tmp_path / "report.json")
    read = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert read["claim"]["epsilon"] == report.claim.epsilon
    assert read["claim"]["curve"] == {
        "kind": "dpsgd",
        "sample_rate": 0.064,
        "steps": 938,
        "noise_multiplier": 0.93,
    }
    assert read["claim"]["beside"] == {"pld": 7.41, "prv": 7.43}
    assert [b["epsilon"] for b in read["bounds"]] == [b.epsilon for b in report.bounds]
    assert read["bounds"][1]["counts"] == {"fp": 2, "out": 25, "fn": 9, "in": 25}
    assert read["bounds"][1]["ceiling"] == report.bounds[1].ceiling
    assert read["published"][0]["null_q95"] == 1.63
    assert read["verdict"] == "INCONCLUSIVE"
    assert read["primary"] == 1
    assert read["next_steps"] == list(report.next_steps)
    assert read["data"]["shape"] == [1, 8, 8]


def test_numpy_scalars_and_arrays_are_written_as_plain_numbers(
    schema: Draft202012Validator,
) -> None:
    report = inconclusive(
        bounds=[bound(ceiling=np.float64(1.875), epsilon=np.float32(0.5))],
        primary=np.int64(0),
        models={name: np.int64(50) for name in ("in", "out", "choosing", "judging")},
        data={"shape": np.array([1, 8, 8]), "balanced": np.bool_(True)},
    )
    written = through_json(report)
    assert schema.is_valid(written)
    assert written["bounds"][0]["ceiling"] == 1.875
    assert written["bounds"][0]["epsilon"] == 0.5
    assert written["data"] == {"shape": [1, 8, 8], "balanced": True}


def test_what_is_infinite_or_missing_is_null(schema: Draft202012Validator) -> None:
    report = no_violation_found(
        bounds=[bound(ceiling=math.inf, assumption="gaussian", counts=None)],
        primary=0,
        published=[
            published(epsilon_in_sample=math.inf, epsilon_in_sample_std=0.0, chunks=1),
            published("mean", null_mean=math.nan, null_q95=math.nan, permutations=0),
        ],
        utility={"accuracy": math.nan},
    )
    written = through_json(report)
    assert schema.is_valid(written)
    assert written["bounds"][0]["ceiling"] is None
    assert written["bounds"][0]["counts"] is None
    assert written["published"][0]["epsilon_in_sample"] is None
    assert written["published"][0]["epsilon_in_sample_std"] is None
    assert written["published"][1]["null_q95"] is None
    assert written["utility"]["accuracy"] is None


def test_no_nan_or_infinity_is_ever_written(tmp_path: Path) -> None:
    strange = {"a": math.nan, "b": [math.inf, {"c": -math.inf}], "d": np.array([np.nan, 1.0])}
    dump(inconclusive(data=strange, canary=strange), tmp_path / "report.json")
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    refused: list[str] = []
    read = json.loads(text, parse_constant=refused.append)
    assert refused == []
    assert read["data"] == {"a": None, "b": [None, {"c": None}], "d": [None, 1.0]}


@pytest.mark.parametrize(
    ("changes", "code", "option"),
    [
        ({"epsilon": math.nan}, "not-finite", "epsilon"),
        ({"epsilon": math.inf, "ceiling": math.inf}, "not-finite", "epsilon"),
        ({"epsilon": -0.1}, "not-finite", "epsilon"),
        ({"epsilon": 2.0, "ceiling": 1.0}, "above-ceiling", "epsilon"),
        ({"ceiling": math.nan}, "above-ceiling", "epsilon"),
        ({"delta": math.nan}, "out-of-range", "delta"),
        ({"confidence": 0.0}, "out-of-range", "confidence"),
    ],
)
def test_what_is_no_bound_is_never_written_as_one(
    changes: dict[str, Any], code: str, option: str
) -> None:
    with refuses(code, option=f"bound.{option}"):
        to_dict(inconclusive(bounds=[bound(**changes)], primary=0))


@pytest.mark.parametrize(
    ("verdict", "claimed", "epsilon", "ceiling"),
    [
        ("VIOLATION", 1.0, 1.0, 2.0),
        ("NO_VIOLATION_FOUND", 1.0, 1.1, 2.0),
        ("NO_VIOLATION_FOUND", 3.0, 1.0, 2.0),
        ("INCONCLUSIVE", 1.0, 1.1, 2.0),
        ("INCONCLUSIVE", math.inf, 1.1, 2.0),
        ("NO_GUARANTEE_CLAIMED", 1.0, 0.5, 2.0),
    ],
)
def test_a_verdict_against_its_numbers_is_refused(
    verdict: str, claimed: float, epsilon: float, ceiling: float
) -> None:
    report = inconclusive(
        verdict=verdict,
        claim=Claim(epsilon=claimed, delta=1e-5),
        bounds=[bound(epsilon=epsilon, ceiling=ceiling)],
        primary=0,
    )
    with refuses("contradiction", option="verdict", value=verdict):
        to_dict(report)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.verdict)
def test_a_strength_against_its_numbers_is_refused(report: Any) -> None:
    for strength in {"refuted", "strong", "weak", "null-passed", "not-claimed"} - {report.strength}:
        with refuses("contradiction", option="strength", value=strength):
            to_dict(replace(report, strength=strength))


@pytest.mark.parametrize("primary", [-1, 4])
def test_a_primary_without_a_bound_is_refused(primary: int) -> None:
    with refuses("out-of-range", option="primary", value=primary):
        to_dict(replace(inconclusive(), primary=primary))


def test_dump_writes_indented_utf8_with_a_newline_at_the_end(tmp_path: Path) -> None:
    dump(inconclusive(adversary="sieht große Verluste"), tmp_path / "report.json")
    raw = (tmp_path / "report.json").read_bytes()
    assert raw.endswith(b"}\n")
    assert raw.startswith(b'{\n  "version": 1')
    assert "große".encode() in raw
    assert os.listdir(tmp_path) == ["report.json"]


def test_dump_survives_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"data-\xff.npz")
    dump(inconclusive(data={"name": name}), tmp_path / "report.json")
    read = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert read["data"]["name"] == name


def test_dump_gives_the_file_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    dump(inconclusive(), tmp_path / "report.json")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "report.json")}
    assert len(modes) == 1


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    dump(inconclusive(seed=1), path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refuses("disk-full", kind=DiskFull):
        dump(inconclusive(seed=2), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_value_that_json_cannot_hold_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    dump(inconclusive(), path)
    before = path.read_bytes()
    with refuses("not-json", value="object"):
        dump(inconclusive(canary={"image": object()}), path)
    assert path.read_bytes() == before


def test_dump_into_a_missing_folder_or_onto_a_folder_says_so(tmp_path: Path) -> None:
    with refuses("file-unwritable", value=str(tmp_path / "gone" / "report.json")):
        dump(inconclusive(), tmp_path / "gone" / "report.json")
    with refuses("file-unwritable", value=str(tmp_path)):
        dump(inconclusive(), tmp_path)


def test_dump_to_a_link_writes_the_file_behind_it(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    dump(inconclusive(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["version"] == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_dump_to_a_device_writes_into_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        dump(inconclusive(), pipe)
        assert json.loads(os.read(reader, 1 << 20))["version"] == 1
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_defence_is_named_and_none_is_said_too(schema: Draft202012Validator) -> None:
    assert through_json(inconclusive())["defence"] == "none"
    defended = through_json(inconclusive(defence="quantize(step=0.01)"))
    assert schema.is_valid(defended)
    assert defended["defence"] == "quantize(step=0.01)"
