import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from refusals import Line

from dpaudit import registry
from dpaudit.audit.preparation import OWN
from dpaudit.cli import COMMANDS, completion, main
from dpaudit.cli.completion import SHELLS
from dpaudit.data.source import BARE

DPAUDIT = Path(sys.executable).with_name("dpaudit")


def offered(*words) -> list[str]:
    """What a shell is told to offer for the last word; 'file' and 'dir' are its own to find."""
    *before, typed = words
    completer = BashComplete(main, {}, "dpaudit", "_DPAUDIT_COMPLETE")
    items = completer.get_completions(before, typed)
    return [item.value if item.type == "plain" else item.type for item in items]


# ---------------------------------------------------------------- the script


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_is_for_the_shell_and_says_how_it_is_switched_on(cli, name):
    done = cli("completion", name)
    assert done.exit_code == 0
    assert f"_DPAUDIT_COMPLETE={name}_complete" in done.stdout
    *_, where, line = done.stdout.splitlines()
    file, command = SHELLS[name]
    assert where.startswith("# ")
    assert where.endswith(f" {file}:")
    assert line == f"#   {command}"
    told = " ".join(cli("completion", "--help").stdout.split())
    assert f"{command} into {file}" in told
    if shutil.which(name):
        subprocess.run([name, "-n"], input=done.stdout, text=True, check=True)


def test_the_shell_is_the_users_own_unless_it_is_named(cli, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/local/bin/fish")
    assert cli("completion").stdout == cli("completion", "fish").stdout
    assert cli("completion", "zsh").stdout.startswith("#compdef dpaudit\n")


@pytest.mark.parametrize(
    ("words", "environment", "fact"),
    [
        (["tcsh"], "/bin/bash", "'tcsh'"),
        (["powershell"], "/bin/bash", "'powershell'"),
        ([], "/bin/tcsh", "'tcsh'"),
        ([], "", "$SHELL"),
    ],
)
def test_another_shell_is_refused_with_those_that_there_are(
    cli, monkeypatch, words, environment, fact
):
    monkeypatch.setenv("SHELL", environment)
    done = cli("completion", *words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    Line(done.stderr.strip()).tells("unknown-shell", f"{fact} bash zsh fish")


# ---------------------------------------------------------------- in a real shell


DRIVE = (
    f"{SHELLS['bash'][1]}\n"
    + """\
complete -p dpaudit
compopt() { printf '%s ' compopt "$@"; }  # no line is being edited here
press_tab() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _dpaudit_completion dpaudit "${@: -1}" "${@: -2:1}"
    echo "${COMPREPLY[*]}"
}
press_tab dpaudit comple
press_tab dpaudit run --canary adv
press_tab dpaudit run --mechanism leak
press_tab dpaudit run --data own.n
press_tab dpaudit run --defence quantize : 0.01 --estimator clop
press_tab dpaudit run --bogus --network log
"""
)


def test_bash_completes_commands_names_and_files(shell):
    """A third party's names too; and bash itself splits a word at its colon."""
    path = os.pathsep.join([str(DPAUDIT.parent), shell.env["PATH"]])
    done = subprocess.run(
        ["bash", "--norc", "-c", DRIVE],
        cwd=shell.cwd,
        env={**shell.env, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _dpaudit_completion dpaudit",
        "completion",
        "adv-maxloss adv-random",
        "compopt -o default leaky",
        "compopt -o default ",
        "clopper-pearson",
        "logreg",
    ]


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("zsh", {"COMP_WORDS": "dpaudit run --canary blan", "COMP_CWORD": "3"}),
        ("fish", {"COMP_WORDS": "dpaudit run --canary blan", "COMP_CWORD": "blan"}),
    ],
)
def test_other_shells_are_answered_as_their_scripts_ask(shell, name, environment):
    done = subprocess.run(
        [DPAUDIT],
        env={**shell.env, **environment, "_DPAUDIT_COMPLETE": f"{name}_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.replace(",", "\n").split()[:2] == ["plain", "blank"]


# ---------------------------------------------------------------- what is offered


def test_every_command_is_offered():
    assert sorted(offered("")) == sorted(COMMANDS)
    assert offered("completion", "") == list(SHELLS)


@pytest.mark.parametrize(
    ("option", "kind"),
    [("--canary", "canaries"), ("--attack", "attacks"), ("--estimator", "estimators")],
)
def test_names_are_offered_that_dpaudit_list_shows(option, kind):
    assert offered("run", option, "") == registry.names(kind)
    assert offered("run", option, "no such") == []


def test_estimates_are_offered_estimators_and_curves():
    assert offered("estimate", "--estimator", "") == registry.names("estimators")
    assert offered("estimate", "--curve", "") == ["gaussian", "none", "dpsgd:"]
    assert offered("estimate", "--scores", "") == ["file"]


@pytest.mark.parametrize(("option", "kind"), [("--data", "data"), ("--mechanism", "mechanisms")])
def test_files_are_offered_beside_names_but_no_name_that_only_a_list_shows(option, kind):
    usable = [name for name in registry.names(kind) if name not in completion.LISTED_ONLY]
    assert offered("run", option, "") == ["file", *usable]
    assert offered("run", option, "./own") == ["file"]
    assert {*BARE, OWN} == completion.LISTED_ONLY


def test_a_colon_follows_where_a_defence_takes_a_number():
    assert {"none", "quantize:"} <= set(offered("run", "--defence", ""))


def test_an_attack_decides_only_among_those_that_take_part():
    assert offered("run", "--attack", "mean", "--attack", "loss", "--primary", "") == [
        *("auto", "mean", "loss")
    ]
    assert "mean+std" in offered("report", "runs/1", "--primary", "")


def test_everything_that_can_be_explained_is_offered_once():
    every = offered("explain", "")
    assert len(every) == len(set(every))
    assert {"own-function", "npz", "cnn-small", "quantize", "loss"} <= set(every)


def test_runs_are_offered_the_latest_first_or_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for age, run in enumerate(("latest", "older")):
        (tmp_path / "runs" / run).mkdir(parents=True)
        journal = tmp_path / "runs" / run / "journal.sqlite"
        journal.touch()
        os.utime(journal, (1e9 - age, 1e9 - age))
    (tmp_path / "runs" / "no run").mkdir()
    for command in ("report", "compare"):
        assert offered(command, "") == ["dir", "runs/latest", "runs/older"]
        assert offered(command, "runs/o") == ["dir", "runs/older"]
        assert offered(command, "elsewhere/") == ["dir"]


# ---------------------------------------------------------------- fast and silent


def test_completion_imports_nothing_heavy():
    script = """
import sys
from click.shell_completion import BashComplete
from dpaudit.cli import main
completer = BashComplete(main, {}, "dpaudit", "_DPAUDIT_COMPLETE")
for option in ("--data", "--canary", "--mechanism", "--attack", "--defence", "--estimator"):
    assert completer.get_completions(["run", option], "")
assert completer.get_completions(["run", "--network"], "")
assert completer.get_completions(["explain"], "")
print(sorted({"torch", "opacus", "sklearn", "matplotlib", "dp_accounting"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


def test_whatever_goes_wrong_nothing_is_offered_and_nothing_said(monkeypatch, capfd):
    def fail(kind):
        print("a plug-in that talks")
        raise OSError("the disk is gone")

    monkeypatch.setattr(registry, "names", fail)
    assert offered("run", "--canary", "") == []
    assert offered("run", "--defence", "") == []
    assert offered("explain", "") == []
    assert capfd.readouterr() == ("", "")


def test_a_defence_that_does_not_load_is_offered_all_the_same(monkeypatch, capfd):
    def load(kind, name):
        print("loading")
        raise ImportError("no GPU here")

    monkeypatch.setattr(registry, "load", load)
    assert "quantize" in offered("run", "--defence", "")
    assert capfd.readouterr() == ("", "")
