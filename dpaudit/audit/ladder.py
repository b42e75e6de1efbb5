"""One claim against every adversary that fits: a run for each, in folders below one.

All deciding bounds hold together: of n runs, each is judged at the error probability of all
divided by n, which its configuration fixes before the first trial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpaudit import checks, report
from dpaudit.audit.folder import Run
from dpaudit.audit.preparation import PreparedAudit, Say, prepare, quiet
from dpaudit.audit.runner import run
from dpaudit.audit.trials import Progress
from dpaudit.config import Config, digest, plugin_defaults, unused_settings
from dpaudit.config.adversaries import (
    ADVERSARIES,
    FINAL_WEIGHTS,
    OBSERVER,
    PER_STEP,
    WHITE_BOX,
    WORST_CASE,
)
from dpaudit.config.settings import Judging, Target
from dpaudit.errors import BadInput
from dpaudit.executors import SerialExecutor, cores, local_pool
from dpaudit.judging.ladder import Ladder, Rung
from dpaudit.results import Report
from dpaudit.types import Claim

WRITTEN = frozenset({"report.html", "report.json", "figures"})
"""The files of a ladder beside the folders of its runs."""

FEWEST_CANARIES = 50
"""Smallest number of canaries in one run, if the network has no room for as many as planned."""

OF_OBSERVER = frozenset({"canary", "clip_canary", "samples"})
"""Settings that hold for the observer alone; the other adversaries have their own."""

Begin = Callable[[str, PreparedAudit], object]
"""Shows which adversary begins."""


@dataclass(frozen=True)
class RungPlan:
    """An adversary, what it may do and sees, and the settings of its run."""

    name: str
    adversary: str
    powers: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def one_run(self) -> bool:
        """True if one training holds many canaries."""
        return "canaries" in self.settings

    def rung(self) -> Rung:
        """Return the rung of this plan, before anything is known of it."""
        adversary = ADVERSARIES[self.adversary]
        return Rung(self.name, self.adversary, adversary.chose, adversary.sees, self.powers)

    def config(self, given: Mapping[str, Any]) -> Config:
        """Return the configuration of its run; what is given comes before the plan."""
        if has_only_observer(given):
            canary = {"canary": self.settings["canary"]}
            return Config.of(**{**canary, **plugin_defaults(given), **given})
        others = () if self.adversary == OBSERVER.name else OF_OBSERVER
        given = {name: value for name, value in given.items() if name not in others}
        settings = {**self.settings, **given, "adversary": self.adversary}
        if "epochs" in given:
            settings.pop("steps", None)
        if self.one_run:
            settings.pop("models", None)
        return Config.of(**{**plugin_defaults(settings), **settings})


def has_only_observer(given: Mapping[str, Any]) -> bool:
    """Return whether the mechanism of these settings takes no other adversary."""
    return "adversary" in unused_settings(given.get("mechanism", Target.mechanism))


FULL: Mapping[str, Any] = {"batch": "full", "models": 800}

RUNGS: Sequence[RungPlan] = (
    RungPlan(
        *("observer", OBSERVER.name, "asks the model"),
        {"models": 100, "canary": "mislabelled", "attacks": ("loss",)},
    ),
    RungPlan("worst-case start", WORST_CASE.name, "asks the model", FULL),
    RungPlan("final weights", FINAL_WEIGHTS.name, "sees the weights", FULL),
    RungPlan("white box", WHITE_BOX.name, "sees all updates", FULL),
    RungPlan(
        *("single steps", PER_STEP.name, "sees each step"),
        {"batch": 10, "steps": 10000},
    ),
    RungPlan(
        *("one run", WHITE_BOX.name, "guesses canaries"),
        {"batch": "full", "canaries": 1000},
    ),
)
"""The adversaries, from an outsider to the strongest, and one training with many canaries."""


@dataclass(frozen=True)
class PreparedLadder:
    """The configurations of the adversaries that fit, and the rungs in the order of `RUNGS`."""

    claim: Claim
    confidence: float
    """Of all bounds together."""
    configs: Mapping[str, Config]
    rungs: Mapping[str, Rung]

    @property
    def folder(self) -> Path:
        """The default folder: the same configurations, the same folder."""
        digests = {name: config.digest() for name, config in self.configs.items()}
        return Path("runs") / f"ladder-{digest(digests)}"


def prepare_ladder(
    given: Mapping[str, Any],
    confidence: float = Judging.confidence,
    say: Say = quiet,
    download: bool = False,
) -> PreparedLadder:
    """Find the adversaries that fit these settings, and share the error among them.

    What the observer's run refuses is refused. An adversary that the mechanism, the data or the
    claim refuse beside it is left out, with the reason.
    """
    checks.refuse([checks.in_range("confidence", confidence, 0.5, 1, ends="()")])
    if given.get("canary") == "none":
        text = "a ladder plants canaries; the null check is dpaudit run --canary none"
        raise BadInput(text, "no-effect", option="canary", value="none")
    first, *others = RUNGS
    observer = prepare(first.config(given), say, download, build=False)
    if "noise_multiplier" in given and "claim" not in given:
        # The same claim for all, though each training needs other noise for it.
        shared = {**given, "noise_multiplier": None, "epsilon": observer.claim.epsilon}
    else:
        shared = dict(given)
    configs, rungs = {first.name: first.config(given)}, {first.name: first.rung()}
    for plan in others:
        rungs[plan.name] = plan.rung()
        try:
            if has_only_observer(given):
                name = observer.config.target.mechanism
                raise BadInput(f"{name} has only an observer", "observer-only")
            configs[plan.name] = _fitting(plan.config(shared))
        except BadInput as error:
            rungs[plan.name] = replace(plan.rung(), left_out=str(error))
    each = 1 - (1 - confidence) / len(configs)
    configs = {name: config.changed(confidence=each) for name, config in configs.items()}
    return PreparedLadder(observer.claim, confidence, configs, rungs)


def _fitting(config: Config) -> Config:
    """Return a configuration that can be prepared, with as many canaries as there is room for."""
    try:
        prepare(config, build=False)
    except BadInput as error:
        fewer = config.attacker.canaries // 2
        if error.option != "canaries" or fewer < FEWEST_CANARIES:
            raise
        return _fitting(config.changed(canaries=fewer))
    return config


def run_ladder(
    prepared: PreparedLadder,
    out: Path | None = None,
    workers: int | Executor | None = None,
    begin: Begin = quiet,
    progress: Progress = quiet,
    say: Say = quiet,
    canary_image: bool = True,
) -> Ladder:
    """Run and judge every adversary; the same ladder in the same folder resumes each run.

    Each run's own report is written into its folder. If all are there, no process is started.
    """
    folder = out or prepared.folder
    _refuse_foreign(folder, prepared)
    rungs = dict(prepared.rungs)
    paths = {name: folder / rungs[name].folder for name in prepared.configs}
    finished = all((path / "report.json").exists() for path in paths.values())
    with nullcontext(SerialExecutor()) if finished else _executor(workers) as executor:
        for name, config in prepared.configs.items():
            audit = prepare(config, say, out=paths[name])
            begin(name, audit)
            done = run(audit, paths[name], executor, progress, say)
            rungs[name] = replace(rungs[name], report=_judged(done, canary_image))
    return Ladder(prepared.claim, prepared.confidence, list(rungs.values()))


def _executor(workers: int | Executor | None) -> AbstractContextManager[Executor]:
    """Return the given executor, or one pool for all runs."""
    return nullcontext(workers) if isinstance(workers, Executor) else local_pool(workers or cores())


def _judged(done: Run, canary_image: bool) -> Report:
    """Judge a run, and write its report into its folder."""
    found = done.judge()
    if not canary_image and found.evidence:
        found = replace(found, evidence=replace(found.evidence, canary=None, original=None))
    report.write_folder(found, done.path)
    report.dump(found, done.path / "report.json")
    return found


def _refuse_foreign(folder: Path, prepared: PreparedLadder) -> None:
    """Refuse a folder with other files than a ladder's, which it would overwrite or mix."""
    if not folder.is_dir():
        return
    known = {*WRITTEN, *(rung.folder for rung in prepared.rungs.values())}
    others = sorted(f.name for f in folder.iterdir() if f.name not in known)
    if others := [name for name in others if not name.startswith(".")]:
        text = (
            f"the folder {folder} has files (such as {others[0]}) that are not a ladder's; "
            "choose another --out, or an empty folder"
        )
        raise BadInput(text, "folder-not-empty", option="out", value=others[0])
