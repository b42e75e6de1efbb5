"""`dpaudit canaries`, as a user calls it."""

import json

import pytest
from refusals import Line


@pytest.fixture
def made(cli, npz, tmp_path):
    result = cli("canaries", "make", "--data", npz, "--count", 12, "--out", tmp_path / "kit")
    assert result.exit_code == 0, result.output
    return tmp_path / "kit", result.stdout


def test_make_writes_a_kit_and_says_what_to_do(made):
    kit, said = made
    files = {"kit.json", "sealed.json", "canaries.npz", "add_to_training.npz", "README.md"}
    assert {file.name for file in kit.iterdir()} == files
    public = json.loads((kit / "kit.json").read_text())
    assert said.rstrip().endswith(public["commitment"])
    assert "12 canaries for own.npz" in said
    assert "at most" in said


def test_show_draws_them_and_tells_that_the_seal_is_whole(made, cli, tmp_path):
    kit, _ = made
    result = cli("canaries", "show", kit)
    assert "intact" in result.stdout
    assert (kit / "canaries.png").read_bytes().startswith(b"\x89PNG")
    cli("canaries", "show", kit, "--figure", tmp_path / "them.svg")
    assert b"<svg" in (tmp_path / "them.svg").read_bytes()


def test_show_refuses_a_broken_seal(made, refused):
    kit, _ = made
    (kit / "sealed.json").write_text("{}")
    refused("canaries", "show", kit).tells("kit-altered")


def test_show_writes_through_no_link(made, refused, tmp_path):
    kit, _ = made
    (tmp_path / "mine").write_text("my own")
    (kit / "canaries.png").symlink_to(tmp_path / "mine")
    assert "canaries.png: " in refused("canaries", "show", kit)


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--count 3", "too-small", "count 10 3"),
        ("--count 1000000", "too-large", "count 100,000 1,000,000"),
        ("--count 91", "too-large", "90 91"),
        ("--seed -1", "too-small", "seed 0 -1"),
        ("--kind noisy", "usage", "'noisy'"),
        ("--data nowhere.npz", "file-missing", "nowhere.npz"),
        ("--label age", "no-effect", "--label"),
    ],
)
def test_make_refuses_and_leaves_nothing(cli, npz, tmp_path, words, code, facts):
    result = cli("canaries", "make", "--data", npz, "--out", "kit", *words.split())
    assert result.exit_code == 2, result.output
    Line(result.stderr.splitlines()[-1]).tells(code, facts)
    assert not (tmp_path / "empty" / "kit").exists()


def test_make_refuses_a_folder_that_is_there(made, cli, npz):
    kit, _ = made
    before = {file: file.read_bytes() for file in kit.iterdir()}
    result = cli("canaries", "make", "--data", npz, "--count", 40, "--out", kit)
    assert result.exit_code == 2
    Line(result.stderr.splitlines()[-1]).tells("file-exists", "--out")
    assert {file: file.read_bytes() for file in kit.iterdir()} == before
