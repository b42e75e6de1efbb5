"""`dpaudit calibrate`: table, file and figure of one calibration, and what is refused."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from dpaudit.calibration import calibrate as module
from dpaudit.calibration.calibrate import Calibrated, Calibration, Setting
from dpaudit.report import calibration, calibration_json, figure_calibration
from dpaudit.report.machine import load_schema

SMALL = ("calibrate", "--repetitions", 2, "--trials", 10, "--workers", 1)


def row(alarms, standing="bound", mechanism="no leak", mean=0.25):
    epsilon = 0.0 if mechanism == "no leak" else 1.0
    return Calibrated(mechanism, epsilon, "loss", "some way", standing, 400, alarms, mean)


def test_one_calibration_is_printed_written_and_drawn(cli):
    done = cli(*SMALL, "--json", "c.json", "--figure", "c.png")
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) < 80
    assert "2 audits, 10 trials a world each" in done.stdout
    assert "EVERY BOUND HELD" in done.stdout.rpartition("\n\n")[2]
    written = json.loads(Path("c.json").read_text())
    assert list(Draft202012Validator(load_schema("calibration")).iter_errors(written)) == []
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    for row in written["rows"]:
        assert f"{row['mechanism']}, epsilon {row['epsilon']:.2f}" in done.stdout
        assert f"{row['attack']:<8}  {row['judged']}" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("5/5 parts")


def test_what_did_not_hold_is_said_plainly():
    found = Calibration(Setting(), [row(90), row(10), row(390, "no bound")])
    printed = " ".join(calibration.render(found).split())
    assert "NOT EVERY BOUND HELD: 1 of 2 are above the truth more often than in 5 %" in printed
    assert "loss by some way on no leak, 22.5 %" in printed
    assert "EVERY BOUND HELD: none" not in printed
    written = calibration_json.to_dict(found)
    assert written["held"] is False
    assert [r["broken"] for r in written["rows"]] == [True, False, False]


def test_an_interval_above_the_level_by_chance_is_not_hidden():
    found = Calibration(Setting(), [row(30), *[row(20)] * 80])
    assert found.rows[0].interval[0] > 0.05
    printed = " ".join(calibration.render(found).split())
    assert "although 1 of the intervals lies above it, as some of so many do by chance" in printed


def test_what_is_infinite_or_without_a_truth_has_a_form():
    rows = [row(400, "no bound", "Laplace", float("inf")), row(0)]
    found = Calibration(Setting(), rows)
    written = calibration_json.to_dict(found)
    assert list(Draft202012Validator(load_schema("calibration")).iter_errors(written)) == []
    assert [r["mean"] for r in written["rows"]] == [None, 0.25]
    assert [r["share"] for r in written["rows"]] == [None, None]
    assert "infinity" in calibration.render(found)


def test_bounds_and_others_are_told_apart_in_the_figure():
    found = Calibration(Setting(), [row(10), row(20, "credible"), row(390, "no bound")])
    figure = figure_calibration.draw(found)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "what bounds state: 5 %",
        "bound",
        "credible under a prior",
        "no bound",
    ]
    colours = {line.get_color() for line in figure.axes[0].lines}
    assert len(colours) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--repetitions 0", "repetitions must be a whole number of at least 1, not 0"),
        ("--trials 5", "trials must be a whole number of at least 10, not 5"),
        ("--confidence 95", "confidence must be above 0.5 and at most 0.999, not 95.0"),
        ("--confidence 0.5", "confidence must be above 0.5 and at most 0.999, not 0.5"),
        ("--delta 0", "delta must be at least 1e-12 and at most 0.1, not 0.0"),
        ("--delta nan", "delta must be at least 1e-12 and at most 0.1, not nan"),
        ("--seed -1", "seed must be a whole number of at least 0, not -1"),
        ("--workers 0", "workers must be a whole number of at least 1, not 0"),
        ("--repetitions many", "'many' is not a valid integer"),
        ("--trials 5 --seed -1", "2 problems: (1) trials must be"),
    ],
)
def test_a_bad_choice_is_refused(refused, words, said):
    assert said in refused("calibrate", *words.split())


def test_ctrl_c_stops_it(cli, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_played", interrupted)
    done = cli(*SMALL)
    assert done.exit_code == 130
    assert "Stopped." in done.stderr
    assert done.stdout == ""
