import json
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from refusals import refuses

from dpaudit import registry
from dpaudit.config import differences
from dpaudit.config.settings import Judging
from dpaudit.data import load

SETUP = Path(__file__).parent.parent / "setup.cfg"


def built_in():
    """(kind, name, value) of every entry point in setup.cfg."""
    read = ConfigParser()
    read.read(SETUP, encoding="utf-8")
    for group, lines in read["options.entry_points"].items():
        if group.startswith("dpaudit."):
            for line in lines.split("\n"):
                if line:
                    name, value = line.split(" = ")
                    yield group.removeprefix("dpaudit."), name, value


BUILT_IN = list(built_in())
EACH = pytest.mark.parametrize(("kind", "name", "value"), BUILT_IN)


# ---------------------------------------------------------------- built-ins


def test_built_ins_come_through_the_entry_points():
    assert {kind for kind, _, _ in BUILT_IN} <= set(registry.KINDS)
    for kind in registry.KINDS:
        here = {name for k, name, _ in BUILT_IN if k == kind}
        assert here <= set(registry.names(kind))
        assert registry.names(kind) == sorted(registry.names(kind))


@EACH
def test_a_name_gives_its_class(kind, name, value):
    loaded = registry.load(kind, name)
    assert f"{loaded.__module__}:{loaded.__name__}" == value


@EACH
def test_every_built_in_says_what_it_is_in_one_short_line(kind, name, value):
    line = registry.summary(kind, name)
    assert line.endswith(".")
    assert len(line) < 100
    assert registry.description(kind, name).startswith(line)


def test_no_built_in_needs_torch_to_be_listed():
    """In a process of its own, where nothing else has imported it."""
    script = """
import json, sys
from dpaudit import registry
loaded = [(k, n, registry.summary(k, n)) for k in registry.KINDS for n in registry.names(k)]
print(json.dumps([len(loaded), sorted({"torch", "opacus", "sklearn"} & set(sys.modules))]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded, heavy = json.loads(done.stdout)
    assert loaded >= len(BUILT_IN)
    assert heavy == []


# ---------------------------------------------------------------- names


def test_an_unknown_name_is_refused_with_the_nearest_known_one():
    with refuses("unknown-name", option="canaries", value="adv-maxlos") as caught:
        registry.load("canaries", "adv-maxlos")
    assert "'adv-maxlos' " in str(caught.value)
    assert str(caught.value).endswith(" 'adv-maxloss'?")


def test_a_name_like_no_other_is_refused_with_all_of_them():
    with refuses("unknown-name", option="mechanisms", value="xyzzy") as caught:
        registry.make("mechanisms", "xyzzy")
    assert str(caught.value).endswith(": " + ", ".join(registry.names("mechanisms")))


def test_of_an_empty_kind_there_are_none():
    said = registry.unknown("defences", "rounding", [])
    assert "'rounding'" in said
    assert "defences" in said
    assert said.endswith(": none")


def test_an_old_name_works_and_is_told_once_on_stderr(capsys):
    registry.current_name.cache_clear()
    assert registry.load("attacks", "report") is registry.load("attacks", "reported-value")
    assert Judging(attacks=["report"], primary="report") == Judging(
        attacks=["reported-value"], primary="reported-value"
    )
    assert not differences({"attacks": ["report"]}, {"attacks": ["reported-value"]})
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert {"'report'", "attacks", "'reported-value';"} <= set(line.split())


@pytest.mark.parametrize("kind", registry.RENAMED)
def test_a_renamed_plug_in_has_its_new_name_alone(kind):
    for old, new in registry.RENAMED[kind].items():
        assert old not in registry.names(kind)
        assert new in registry.names(kind)


# ---------------------------------------------------------------- third parties


PLUGINS = '''
from dpaudit.protocols import CanaryBuilder

class Keeper(CanaryBuilder):
    """Keeps what it is given.

    And has more to say.
    """
    def __init__(self, recipe, clip=False, seed=0):
        self.given = {"recipe": recipe, "clip": clip, "seed": seed}
    def build(self, data, seed):
        raise NotImplementedError

class Derived(CanaryBuilder):
    def build(self, data, seed):
        raise NotImplementedError
'''


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """A package with plug-ins, as pip would have installed it."""
    installed = tmp_path / "elsewhere-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[dpaudit.canaries]\n"
        "keeper = elsewhere:Keeper\n"
        "derived = elsewhere:Derived\n"
        "missing = elsewhere:Missing\n"
        "broken = elsewhere_broken:Anything\n"
    )
    (tmp_path / "elsewhere.py").write_text(PLUGINS)
    (tmp_path / "elsewhere_broken.py").write_text("raise RuntimeError('no GPU here')\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._entries.cache_clear()
    yield
    sys.modules.pop("elsewhere", None)
    registry._entries.cache_clear()


@pytest.mark.usefixtures("third_party")
class TestThirdParty:
    def test_its_plug_ins_stand_beside_the_built_ins(self):
        assert {"keeper", "derived", "random"} <= set(registry.names("canaries"))
        assert registry.summary("canaries", "keeper") == "Keeps what it is given."
        assert registry.description("canaries", "keeper").endswith("more to say.")

    def test_a_plug_in_gets_what_it_asks_for_and_nothing_else(self):
        made = registry.make("canaries", "keeper", recipe="r", clip=True, executor="not asked for")
        assert made.given == {"recipe": "r", "clip": True, "seed": 0}

    @pytest.mark.parametrize("offered", [{}, {"recipe": None}])
    def test_a_plug_in_that_needs_what_the_run_does_not_have_says_so(self, offered):
        with refuses("unfit-plug-in", option="canaries", value="keeper"):
            registry.make("canaries", "keeper", **offered)

    def test_a_plug_in_may_be_derived_from_its_protocol(self):
        made = registry.make("canaries", "derived", recipe="r", executor="not asked for")
        assert type(made).__name__ == "Derived"

    @pytest.mark.parametrize(
        ("name", "where", "why"),
        [
            ("broken", "elsewhere_broken:Anything", "no GPU here"),
            ("missing", "elsewhere:Missing", "'Missing'"),
        ],
    )
    def test_a_plug_in_that_does_not_load_is_named_with_the_reason(self, name, where, why):
        with refuses("plug-in-broken", option="canaries", value=name) as caught:
            registry.load("canaries", name)
        assert f" {where} (canaries: {name}) " in str(caught.value)
        assert str(caught.value).endswith(f": {caught.value.__cause__}")
        assert why in str(caught.value)


def test_problems_of_groups_and_of_the_constructor_are_told_together():
    data = load("digits")
    with refuses("several-problems") as caught:
        registry.make("mechanisms", "p3gm", data=data, components=0, rows=0)
    assert {problem.option for problem in caught.value.problems} == {"components", "rows"}
