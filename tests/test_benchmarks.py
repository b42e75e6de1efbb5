"""That benchmarks run and leave nothing out; how fast and how tight it is, is for them to say."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpaudit import registry

ROOT = Path(__file__).parents[1]


@pytest.fixture
def estimators(benchmark):
    return benchmark("estimators")


def test_every_estimator_is_timed(estimators):
    timed = {name.partition(",")[0] for name in estimators.contenders(1_000)}
    assert timed == {"point", *registry.names("estimators")}


def test_a_bar_is_held_against_the_first_run(estimators):
    Timed = estimators.Timed
    assert Timed(49.0, 60.0, 1.0, bar=50).verdict == "50 met"
    assert Timed(51.0, 1.0, 1.0, bar=50).verdict == "50 MISSED"
    assert Timed(51.0, 1.0, 1.0, bar=None).verdict == "-"
    bars = {name: one.bar for name, one in estimators.contenders(10_000).items()}
    assert (bars["joint-beta"], bars["exact-scan"], bars["e-process"]) == (50, 20_000, None)


def test_the_table_has_a_line_for_each(estimators, tmp_path):
    words = ["--only", "paired-auc", "--rounds", "1", "--trials", "40", "--json", tmp_path / "a"]
    done = CliRunner().invoke(estimators.main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "a").read_text())["40"]["dpaudit"]
    assert len(found) == 5
    assert all(name in done.output for name in found)
