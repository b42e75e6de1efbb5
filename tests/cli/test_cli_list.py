import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dpaudit
from dpaudit import registry
from dpaudit.cli import COMMANDS, main
from dpaudit.config.adversaries import ADVERSARIES

DPAUDIT = Path(sys.executable).with_name("dpaudit")
PLUGINS = [(kind, name) for kind in registry.KINDS for name in registry.names(kind)]


def said(*words) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", ADVERSARIES)
def test_adversaries_are_listed_and_explained(name):
    adversary = ADVERSARIES[name]
    assert f"  {name:<13}  {adversary.summary}\n" in said("list")
    told = said("explain", name)
    assert max(map(len, told.splitlines())) < 80
    told = " ".join(told.split())
    for part in (adversary.chose, adversary.sees, adversary.follows, adversary.paper):
        assert part in told
    for setting, value in adversary.default_settings.items():
        assert f"--{setting.rstrip('s') if setting == 'attacks' else setting} " in told
        assert str(value[0] if isinstance(value, tuple) else value) in told
    assert name in said("run", "--help")


# ---------------------------------------------------------------- help


def test_help_and_list_import_nothing_slow():
    """They answer at once; and they are checked where nothing else has imported it."""
    script = """
import json, sys
from click.testing import CliRunner
from dpaudit.cli import main
heavy = {}
slow = {"torch", "opacus", "sklearn", "matplotlib", "scipy.stats"}
asked = {"--help": {"numpy"}, "--version": {"numpy"}, "list": {"scipy"}}
asked |= dict.fromkeys(["run --help", "report --help", "explain dpsgd"], set())
for words, more in asked.items():
    assert CliRunner().invoke(main, words.split()).exit_code == 0, words
    heavy[words] = sorted((slow | more) & sys.modules.keys())
print(json.dumps(heavy))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    heavy = json.loads(done.stdout)
    assert heavy == {words: [] for words in heavy}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name):
    command = main.get_command(click.Context(main), name)
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
    assert command.help.split("\n")[0] in said(name, "--help")


def test_main_help_tells_every_command_in_one_whole_line():
    """Also when it is asked for again in the same process."""
    for _ in range(2):
        told = said("--help")
        for name in COMMANDS:
            assert f"\n  {name} " in told
        assert "..." not in told.partition("Commands:")[2]


def test_version_is_the_packages():
    from importlib.metadata import version

    assert said("--version").strip().endswith(f"version {version('dpaudit')}")


def test_python_m_dpaudit_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "dpaudit", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "dpaudit" in done.stdout
    assert dpaudit.__doc__


# ---------------------------------------------------------------- plug-ins


def test_list_names_every_plugin_with_its_first_line():
    lines = [line.split(maxsplit=1) for line in said("list").splitlines() if line[0] == " "]
    plugins = lines[: len(PLUGINS)]  # the networks come after them
    assert plugins == [[name, registry.summary(kind, name)] for kind, name in PLUGINS]
    assert len(PLUGINS) > 15


def test_list_names_a_third_partys_plugin(cli):
    assert "leaky Gives the canary away." in " ".join(cli("list").stdout.split())


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_explain_tells_the_whole_of_it(kind, name):
    told = said("explain", name)
    assert f"{name} ({kind})" in told
    assert registry.description(kind, name) in told
    assert len(registry.description(kind, name).split()) > 15


OWN = {
    "canaries": "corner mislabelled negative none opposites replaced static",
    "attacks": "released subspace",
    "mechanisms": "own-function",
    "defences": "clip-confidence label-only mean-only noise temperature top-k",
    "estimators": "exact-scan",
    "data": "csv folder npz sphere-offset",
}
"""Plug-ins that come from no paper."""

PAPER = re.compile(
    r"[A-Z][\w-]+( et al\.)?[^.]*\b(19|20)\d\d\b"
    r"|Shibahara, Miura, Kii and Ichikawa,|Minami, Sato, Arai and "
)
"""Authors with a year, or those of papers whose year is not stated."""


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_explain_names_the_paper_that_a_plugin_comes_from(kind, name):
    told = " ".join(said("explain", name).split())
    assert bool(PAPER.search(told)) != (name in OWN[kind].split())


def test_a_reader_that_has_seen_enough_is_no_error():
    done = subprocess.run(
        ["bash", "-c", f"{DPAUDIT} list | head -1"], capture_output=True, text=True
    )
    assert done.stdout == "data\n"
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["cnn-small", "cnn-paper", "mlp", "logreg"])
def test_networks_are_listed_and_explained(name):
    assert f"\n  {name}" in said("list")
    assert said("explain", name).startswith(f"{name} (networks)\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_no_failure_to_print_looks_like_a_refuted_claim():
    """Exit code 1 means that: a pipe without a reader is 141, a full disk is 4."""
    script = (
        "for words in list --help --version; do "
        f"{DPAUDIT} $words | true; echo ${{PIPESTATUS[0]}}; {DPAUDIT} $words > /dev/full; echo $?; "
        f"done; {DPAUDIT} --bogus 2> /dev/full; echo $?"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["141", "4"] * 3 + ["2"]
    said = "Error: the output cannot be written: No space left on device [disk-full]\n"
    assert done.stderr == 3 * said


def test_an_option_of_no_command_is_refused_in_one_line():
    done = subprocess.run([DPAUDIT, "--bogus"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
