"""CONTRIBUTING.md holds: the package that it shows is installed as it stands there, and used.

Beside it goes a package that breaks every contract (`plugins/mischief`).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpaudit import registry
from dpaudit.cli import main

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DPAUDIT = Path(sys.executable).with_name("dpaudit")

SHOWN = {
    "data": ("blobs", "Two clouds of points in the unit square, a class each."),
    "canaries": ("inverted", "A random record with its pixels inverted."),
    "mechanisms": ("noisy-sum", "The sum of the records' mean pixels, with Laplace noise."),
    "attacks": ("total", "Guess D' if the sum of the released values is large."),
    "estimators": (
        "hoeffding",
        "Hoeffding's bounds on both error rates: assumes nothing, weaker than the exact ones.",
    ),
    "defences": (
        "capped",
        "capped:LIMIT releases no value above the limit, and nothing but values.",
    ),
}


def blocks(language: str) -> list[str]:
    """The fenced blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


# ---------------------------------------------------------------- the page


def test_every_kind_of_plug_in_is_shown_in_under_thirty_lines():
    assert len(blocks("python")) == len(registry.KINDS) == len(SHOWN)
    for block in [*blocks("python"), *blocks("toml")]:
        assert block.count("\n") < 30, block


def test_the_map_is_the_one_that_is_enforced():
    """The layers in setup.cfg, from top to bottom; the order within one is of no account."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    enforced = setup["importlinter:contract:layers"]["layers"].split("\n")[1:]
    shown = re.search(r"^    cli\b.*?\n\n", PAGE, re.MULTILINE | re.DOTALL).group()
    rows = [re.split(r" {2,}", line.strip())[0] for line in shown.strip().splitlines()]
    assert [set(re.findall(r"\w+", row)) for row in rows] == [
        set(re.findall(r"\w+", layer)) for layer in enforced
    ]


# ---------------------------------------------------------------- its package, installed


@dataclass(frozen=True)
class Site:
    """A folder that pip has installed the packages into."""

    path: Path

    def dpaudit(self, *words: object) -> str:
        """What the command says in a process of its own."""
        done = subprocess.run(
            [DPAUDIT, *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(self.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Site:
    path = tmp_path_factory.mktemp("site")
    shown, mischief = tmp_path_factory.mktemp("shown"), tmp_path_factory.mktemp("mischief")
    (shown / "pyproject.toml").write_text(*blocks("toml"), encoding="utf-8")
    (shown / "my_package.py").write_text("\n\n".join(blocks("python")), encoding="utf-8")
    # Copied, because building leaves its traces in the source.
    shutil.copytree(ROOT / "tests" / "plugins" / "mischief", mischief, dirs_exist_ok=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, *offline, "--target", path, shown, mischief],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Site(path)


@pytest.fixture(scope="module")
def played(site, tmp_path_factory) -> Path:
    """The run that the page shows, of fewer models."""
    folder = tmp_path_factory.mktemp("runs") / "shown"
    (line,) = blocks("sh")
    program, *words = line.replace("\\\n", " ").split()
    assert program == "dpaudit"
    site.dpaudit(*words, "--models", 40, "--workers", 2, "--out", folder)
    return folder


def test_list_shows_every_plug_in_of_an_installed_package(site):
    told = [" ".join(line.split()) for line in site.dpaudit("list").splitlines()]
    assert {f"{name} {line}" for name, line in SHOWN.values()} <= set(told)


def test_explain_tells_of_an_installed_plug_in(site):
    assert site.dpaudit("explain", "noisy-sum").startswith(
        "noisy-sum (mechanisms)\nThe sum of the records' mean pixels, with Laplace noise.\n"
    )


def test_run_plays_and_judges_with_installed_plug_ins(played):
    report = json.loads((played / "report.json").read_text(encoding="utf-8"))
    (bound,) = report["bounds"]
    assert report["data"]["name"] == "blobs"
    assert report["canary"]["name"] == "inverted"
    assert report["claim"]["source"] == "Laplace mechanism"
    assert report["defence"] == "capped:1000"
    assert (bound["attack"], bound["estimator"]) == ("total", "hoeffding")
    assert 'mechanism = "noisy-sum"' in (played / "config.toml").read_text(encoding="utf-8")


def test_the_shown_game_is_sound(played):
    """Noise of 1/8 leaves a canary that shifts the sum by 0.4 or more to be seen, at 8 or less."""
    report = json.loads((played / "report.json").read_text(encoding="utf-8"))
    (bound,) = report["bounds"]
    assert 0 < bound["epsilon"] <= bound["ceiling"] < report["claim"]["epsilon"] == 8
    assert report["verdict"] == "INCONCLUSIVE"


# ---------------------------------------------------------------- what goes wrong


@pytest.fixture
def cli(site, monkeypatch, tmp_path):
    """`dpaudit` in this process, with the packages and in an empty folder."""
    monkeypatch.syspath_prepend(site.path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    registry._entries.cache_clear()
    yield lambda *words: CliRunner().invoke(main, [str(word) for word in words])
    registry._entries.cache_clear()


@pytest.fixture
def refused(cli):
    """The one sentence of a refusal."""

    def check(*words):
        result = cli(*words)
        assert result.exit_code == 2, result.output
        assert isinstance(result.exception, SystemExit), "never a traceback"
        assert result.stdout == ""
        *before, said = result.stderr.splitlines()
        assert all(line.endswith(("...", " models")) or "never" in line for line in before)
        assert said.startswith("Error: ")
        return said.removeprefix("Error: ")

    return check


def found(parts, said):
    """Whether the parts that stars stand between are in a line, in their order."""
    return re.search(".*".join(re.escape(part.strip(" ")) for part in parts.split("*")), said)


PLAYABLE = "run --data blobs --canary inverted --mechanism noisy-sum --attack total --models 4"


def test_one_broken_plug_in_does_not_hide_the_others(cli):
    lines = [" ".join(line.split()) for line in cli("list").stdout.splitlines()]
    why = "does not load: libmischief.so: cannot open shared object file"
    named = "the plug-in mischief_unimportable:Anything (canaries: unimportable)"
    assert f"unimportable {named} {why}" in lines
    assert "undescribed (no description)" in lines
    number = (
        "number the plug-in mischief:NUMBER (canaries: number) is not a class that derives from"
    )
    assert f"{number} dpaudit.protocols.CanaryBuilder" in lines
    assert "inverted A random record with its pixels inverted." in lines


def test_a_name_that_a_built_in_has_stays_the_built_ins(cli):
    assert registry.load("canaries", "random").__module__ == "dpaudit.canaries.records"
    assert cli("explain", "random").stdout.count("random (canaries)") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--canary unimportable", "libmischief.so * [plug-in-broken]"),
        ("--canary number", "mischief:NUMBER * protocols.CanaryBuilder [not-a-plug-in]"),
        ("--canary unmakeable", "unmakeable (canaries) * RuntimeError: no licence * [code-failed]"),
        ("--attack unmakeable", "unmakeable (attacks) * RuntimeError: no licence * [code-failed]"),
        ("--mechanism unmakeable", "unmakeable (mechanisms) * RuntimeError: * [code-failed]"),
        ("--mechanism unclaimed", "mechanisms: unclaimed * claim [plug-in-incomplete]"),
        ("--attack no-attack", "attacks: no-attack * protocols.Attack [not-a-plug-in]"),
        ("--data raising", "raising * ConnectionError: the server is away [code-failed]"),
        ("--data garbage", "garbage * TypeError: * list, * Data [code-failed]"),
        ("--defence capped", "'capped' * capped:LIMIT"),
        ("--noise-multiplier 1", "--noise-multiplier * noisy-sum"),
    ],
)
def test_a_plug_in_that_cannot_be_made_is_told_before_anything_is_written(
    refused, tmp_path, words, said
):
    assert found(said, refused(*PLAYABLE.split(), *words.split()))
    assert list(tmp_path.iterdir()) == []


def test_a_mechanism_that_releases_no_numbers_is_told(refused):
    said = refused(*PLAYABLE.split(), "--mechanism", "wordy", "--workers", 1)
    assert found("values * 'the canary was in' [not-numbers]", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("unbuildable", "unbuildable * KeyError: 'no such record' [code-failed]"),
        ("unpaired", "unpaired * TypeError: * NoneType, * Pair [code-failed]"),
    ],
)
def test_a_canary_that_gives_no_pair_is_told(refused, words, said):
    assert found(said, refused(*PLAYABLE.split(), "--workers", 1, "--canary", words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--attack blind", "attack blind * KeyError: 'gradients' [code-failed]"),
        ("--attack ruleless", "attack ruleless * AttributeError: 'NoneType' * [code-failed]"),
        ("--estimator raising", "estimator raising * ZeroDivisionError: * [code-failed]"),
        ("--estimator garbage", "estimator garbage * TypeError: * float * [code-failed]"),
        ("--attack unreleased", "attack unreleased * gradients, * [not-released]"),
        ("--defence erasing", "attack total * values, * [not-released]"),
        ("--defence raising", "defence raising * ZeroDivisionError: * [code-failed]"),
        ("--defence garbage", "defence garbage * ValueError: * 'values' * 40 * 2 * <U7 * ()"),
        ("--estimator endless", "endless * nan"),
        ("--estimator bold", " delta 0 at 0.5 "),
        ("--estimator assuming", "'luck'"),
        ("--defence centred", "defence centred * [not-row-by-row]"),
        ("--attack comparing", "attack comparing * [not-row-by-row]"),
    ],
)
def test_a_plug_in_that_breaks_its_contract_is_told_in_one_sentence(refused, played, words, said):
    assert found(said, refused("report", played, *words.split()))
