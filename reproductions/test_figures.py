"""Figures are drawn from the kept results, and the quick experiment repeats what is kept of it."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("script", "results"),
    [
        ("bayesian.figures", "bayesian/results/digits.json"),
        ("ensembles.figure", "ensembles/results/ensembles.json"),
        ("laplace.figure", "laplace/results/adult.json"),
    ],
)
def test_a_figure_is_drawn_from_the_kept_results(script, results, tmp_path):
    drawn = tmp_path / "drawn.png"
    main = import_module(f"reproductions.{script}").main
    done = CliRunner().invoke(main, [str(HERE / results), "--figure", str(drawn)])
    assert done.exit_code == 0, done.output
    assert drawn.read_bytes()[:4] == b"\x89PNG"
    assert drawn.stat().st_size > 10_000


def test_hidden_parameters_are_measured_as_kept(tmp_path):
    main = import_module("reproductions.local.run").main
    words = ["--json", str(tmp_path / "a.json"), "--figure", str(tmp_path / "a.png")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    kept = json.loads((HERE / "local/results/local.json").read_text())
    found = json.loads((tmp_path / "a.json").read_text())
    for figure in ("fig2", "fig3", "fig4"):
        for one, other in zip(found[figure], kept[figure], strict=True):
            assert one == pytest.approx(other)
    # By enumeration: E' of the weak parameter is ln 3 at one half.
    (half,) = [row for row in kept["fig2"] if row["share"] == 0.5]
    assert half == pytest.approx({"share": 0.5, "weak": 1.0986, "strong": 0.4055}, abs=1e-4)


def test_every_experiment_has_a_readme_results_and_a_figure():
    for folder in HERE.iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert (folder / "README.md").exists()
            assert list(folder.glob("*.png"))
            assert list(folder.glob("results/*.json"))
