"""That the paper's questions are asked of all that it asks, and answered by what is valid."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dpaudit.results import Scores

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
CANARIES = {"random", "adv-random", "maxloss", "adv-maxloss"}


@pytest.fixture
def delong(benchmark):
    return benchmark("delong")


@pytest.fixture
def questions(benchmark):
    return benchmark("questions")


def drawn(rng, shift, n=60):
    return Scores(out=rng.normal(size=n), inn=rng.normal(shift, size=n))


@pytest.mark.parametrize("rounding", [8, 0])
def test_an_auc_is_the_share_of_pairs_in_order(delong, rounding):
    scores = drawn(np.random.default_rng(0), 0.4)
    out, inn = scores.out.round(rounding), scores.inn.round(rounding)
    out[:3] = inn[:2] = np.inf  # as 1/std is where the std is 0
    won = [(a > b) + (a == b) / 2 for a in inn for b in out]
    assert delong.auc(Scores(out, inn)).value == pytest.approx(np.mean(won))


def test_the_error_of_an_auc_is_that_of_the_formula_by_hand(delong):
    scores = drawn(np.random.default_rng(1), 0.5, n=15)
    order = np.array([[(a > b) + (a == b) / 2 for b in scores.out] for a in scores.inn])
    # DeLong, DeLong and Clarke-Pearson 1988, equations 5 to 7.
    by_hand = order.mean(axis=1).var(ddof=1) / 15 + order.mean(axis=0).var(ddof=1) / 15
    assert delong.auc(scores).error == pytest.approx(np.sqrt(by_hand))


def test_intervals_hold_what_they_should(delong):
    """Of 400 intervals, 95 % hold the truth: fewer than 355 have a chance below 1e-7."""
    rng, shift = np.random.default_rng(2), 0.3
    truth = 0.584  # Phi(0.3 / sqrt(2))
    held = apart = 0
    for _ in range(400):
        one = drawn(rng, shift, n=300)
        low, high = delong.auc(one).interval
        held += low < truth < high
        # The same score with noise of its own: what both have in common cancels out.
        noisy = Scores(*(x + rng.normal(scale=0.5, size=300) for x in (one.out, one.inn)))
        less = 0.5751 - truth  # Phi(0.3 / sqrt(2.5)) - Phi(0.3 / sqrt(2))
        low, high = delong.difference(noisy, one).interval
        apart += low < less < high
    assert held >= 355
    assert apart >= 355


def test_a_score_is_no_better_than_itself(delong):
    scores = drawn(np.random.default_rng(3), 1.0)
    same = delong.difference(scores, scores)
    assert (same.value, same.error) == (0, 0)


def test_independent_estimates_have_a_mean_of_smaller_error(delong):
    four = [delong.Estimate(value, 0.02) for value in (0.5, 0.6, 0.7, 0.6)]
    assert delong.mean(four) == delong.Estimate(pytest.approx(0.6), pytest.approx(0.01))


def test_every_canary_of_the_paper_is_trained_in_every_way(questions):
    ways = {}
    for game in questions.games():
        ways.setdefault((game.data, game.training), {})[game.canary] = game
    for (data, _), games in ways.items():
        assert games.keys() >= CANARIES
        assert all(game.models >= (2_000 if data == "digits" else 100) for game in games.values())
    trained = {training for data, training in ways if data == "digits"}
    assert trained == {"noise-0.5", "epsilon-10", "crafted"}
    assert "cifar10" in {data for data, _ in ways}


def test_no_two_games_share_their_luck(questions):
    digits = [game.config() for game in questions.games() if game.data == "digits"]
    assert len({config.seed for config in digits}) == len(digits)


def test_what_is_compared_with_comes_first(questions):
    seen = set()
    for view in questions.views():
        for attack in view.aucs:
            assert view.beside is None or (view.beside, view.than or attack) in seen
        seen |= {(str(view.released), attack) for attack in view.aucs}


def test_answers_are_written_and_taken_up_again(questions, tmp_path, monkeypatch):
    few = questions.views(passes=(1,), units=(0.1,))
    monkeypatch.setattr(questions, "views", lambda: few)
    words = ["--only", "digits noise-0.5 random", "--scale", "0.004", "--workers", "1"]
    words += ["--keep", str(tmp_path / "kept"), "--json", str(tmp_path / "a.json")]
    done = CliRunner().invoke(questions.main, words)
    assert done.exit_code == 0, done.output
    assert "digits noise-0.5 random: 8 models" in done.output
    told = json.loads((tmp_path / "a.json").read_text())
    assert {"command", "date", "scale", "versions"} <= told["about"].keys()
    (one,) = told["games"]
    assert one["released"]["passes + fewer-samples:1"]["aucs"]["inv_std"][0] == 0.5
    assert one["released"]["mean-std + quantize:0.1"]["utility"]["undecidable"] > 0

    def never(*given):
        raise AssertionError("judged again")

    monkeypatch.setattr(questions, "answered", never)
    again = CliRunner().invoke(questions.main, words)
    assert again.exit_code == 0, again.output
    assert json.loads((tmp_path / "a.json").read_text())["games"] == [one]


@pytest.mark.parametrize("only", ["nonsense", "digits nonsense"])
def test_a_game_that_is_none_is_told(questions, only):
    done = CliRunner().invoke(questions.main, ["--only", only])
    assert done.exit_code == 2
    assert f"nothing is called '{only}'" in done.output


def test_without_its_file_cifar_is_refused(questions, monkeypatch, tmp_path):
    monkeypatch.setenv("DPAUDIT_DATA", str(tmp_path))
    done = CliRunner().invoke(questions.main, ["--keep", str(tmp_path / "kept")])
    assert done.exit_code == 2
    assert "set DPAUDIT_DATA" in done.output
    assert not (tmp_path / "kept").exists()


def test_what_json_cannot_say_is_left_out(questions):
    told = questions.short({"a": [np.inf, 1.23456789], "b": 7, "c": "words"})
    assert told == {"a": [None, 1.235], "b": 7, "c": "words"}


KEPT = pytest.mark.parametrize(
    "path", sorted(RESULTS.glob("bayesian_*.json")), ids=lambda path: path.stem
)


@KEPT
def test_a_kept_result_says_how_it_was_made(path):
    told = json.loads(path.read_text())
    assert told["about"]["command"].startswith("python benchmarks/questions.py")
    assert {"date", "versions"} <= told["about"].keys()
    assert not any(place in path.read_text() for place in ("/home/", "/tmp/", "/root/", "/work/"))


@KEPT
def test_a_kept_result_is_of_every_game(questions, path):
    told = json.loads(path.read_text())
    kept = {(one["game"]["training"], one["game"]["canary"]): one for one in told["games"]}
    data = path.stem.removeprefix("bayesian_")
    games = {(game.training, game.canary): game for game in questions.games() if game.data == data}
    assert kept.keys() == games.keys()
    released = {str(view.released) for view in questions.views()}
    for name, one in kept.items():
        assert one["game"]["models"] == games[name].models
        assert one["released"].keys() == released
