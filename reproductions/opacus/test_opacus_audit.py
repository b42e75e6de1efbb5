"""That Opacus is audited as it is, that what holds is not blamed and that what does not is found.

Seeds are fixed. That a bound is above what is true has a chance of at most 5e-4 for other seeds.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

from dpaudit.attacks.white_box import Updates
from dpaudit.executors import SerialExecutor
from dpaudit.seeds import trials


@pytest.fixture
def cases():
    """Every case by its name."""
    return {case.called: case for case in import_module("reproductions.opacus.cases").cases()}


@pytest.fixture
def audited(cases, tmp_path):
    """Audits a case with so many trainings of each world."""
    opacus_audit = import_module("reproductions.opacus.run")

    def audit(name, per_world):
        case = replace(cases[name], per_world=per_world)
        with ThreadPoolExecutor(1) as pool:
            return opacus_audit.judged(*opacus_audit.played(case, tmp_path, pool))

    return audit


def test_what_is_sampled_as_it_is_accounted_for_is_not_refuted(audited):
    found = audited("modes hooks", 40)
    assert found.verdict == "not refuted"
    assert found.claim == pytest.approx(6.457, abs=0.02)
    assert found.curve_ceiling > 2 * found.claim  # so that a violation would have been seen


def test_one_record_more_is_told_by_what_the_noise_is_divided_by(audited):
    assert audited("records 1 to 2, 2,048 parameters", 24).verdict == "REFUTED, no assumptions"
    assert audited("records 1 to 2, 2,048 parameters, summed loss", 24).verdict == "not refuted"


def test_a_last_batch_of_known_size_is_not_hidden_by_sampling(audited):
    assert audited("shuffled noise 1, last batch kept", 40).verdict == "REFUTED by curve"


def test_class_weights_let_one_record_move_all_others(audited):
    assert audited("loss hooks", 40).verdict == "REFUTED by curve"
    assert audited("loss ghost", 40).verdict == "not refuted"


def test_ghost_clipping_does_not_clip_where_channels_come_last(audited):
    assert audited("memory ghost", 40).verdict == "REFUTED by curve"
    assert audited("memory hooks", 40).verdict == "not refuted"


@pytest.mark.filterwarnings("ignore:Secure RNG")
def test_the_adversary_knows_what_opacus_makes_of_the_number_of_records(cases):
    training, game = (
        import_module("reproductions.opacus.training"),
        import_module("reproductions.opacus.game"),
    )
    for case in cases.values():
        how = replace(case.game.training, epochs=1, target=None)
        for n in (case.game.records, case.game.records + 1):
            if n * case.game.features > 1_000:
                continue
            pair = replace(case.game, records=n).pair()
            dataset = game._dataset(pair.out.x, pair.out.y)
            engine = training.PrivacyEngine(accountant="rdp")
            network = training.network(case.game.shape)
            _, optimizer, _, loader = training._private(how, engine, network, dataset)
            assert len(loader) == how.batches(n), case.called
            scale = 1 if how.loss_reduction == "sum" else optimizer.expected_batch_size
            assert scale == how.divisor(n), case.called


def test_a_trial_follows_from_its_seed_alone(cases):
    game = cases["modes hooks"].game
    mechanism, pair = import_module("reproductions.opacus.game").Opacus(game), game.pair()
    few = trials(0, 6)
    seen = mechanism.run(pair, few)
    for trial, before in zip(reversed(few), reversed(seen), strict=True):
        (again,) = mechanism.run(pair, [trial])
        assert all(np.array_equal(again[name], before[name]) for name in again)
    assert not np.array_equal(seen[0]["along"], seen[2]["along"])


def test_without_a_private_divisor_the_score_is_that_of_the_attack_on_updates(cases):
    game = cases["modes hooks"].game
    along = np.random.default_rng(0).normal(size=(5, 12, 1))
    rest = np.ones((5, 12))
    ratio = import_module("reproductions.opacus.scores").sampled(
        game, 1.0, 1.0, {"along": along / 15, "rest": rest}
    )
    known = {"sample_rate": np.array(0.25), "noise_multiplier": np.array(1.0)}
    same = Updates().features({"updates": along[..., 0]}, known)[:, 0]
    assert ratio == pytest.approx(same, abs=1e-6)


def test_the_score_of_an_order_is_the_likelihood_ratio_of_all_orders(cases):
    scores = import_module("reproductions.opacus.scores")
    for name in ("last batch kept", "last batch dropped", "others blank"):
        game = replace(cases[f"shuffled noise 1, {name}"].game, records=5)
        how, sign = game.training, -1.0 if game.others == "opposed" else 0.0
        b, m = how.batch_size, how.batches(5)
        u = np.random.default_rng(0).normal(size=m)

        def density(records, canary, u=u, sign=sign, b=b, m=m):
            order = [1.0 if i == canary else sign for i in range(records)]
            means = [sum(order[b * j : b * (j + 1)]) for j in range(m)]
            return np.exp(-((u - means) ** 2).sum() / 2)

        naive = np.log(np.mean([density(6, i) for i in range(6)]) / density(5, None))
        seen = {"along": (u / how.divisor(5))[None, :, None], "rest": np.zeros((1, m))}
        assert scores.shuffled(game, 1.0, 1.0, seen) == pytest.approx([naive])


def test_the_audit_of_opacus_prints_writes_and_draws(monkeypatch, tmp_path):
    opacus_audit = import_module("reproductions.opacus.run")

    monkeypatch.setattr("dpaudit.executors.local_pool", lambda workers: SerialExecutor())
    words = ["--only", "records 4 to 5, one batch", "--scale", "0.1"]
    words += ["--json", tmp_path / "a.json", "--figure", tmp_path / "a.png"]
    done = CliRunner().invoke(opacus_audit.main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert "4 to 5, one batch more" in done.output
    told = json.loads((tmp_path / "a.json").read_text())
    assert told["about"].keys() == {
        "command",
        "date",
        "scale",
        "opacus",
        "torch",
        "dpaudit",
    }
    assert [row["by_curve"] for row in told["rows"]] == [None]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_no_two_cases_are_of_one_name_and_every_group_is_told(cases):
    module = import_module("reproductions.opacus.cases")
    assert len(cases) == len(module.cases())
    assert list(module.HEADS) == list(dict.fromkeys(c.group for c in module.cases()))
    nobody = CliRunner().invoke(
        import_module("reproductions.opacus.run").main, ["--only", "nobody"]
    )
    assert nobody.exit_code == 2
    assert "'nobody'" in nobody.output
