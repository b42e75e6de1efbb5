"""The same seeds give the same observations as in version 0.1, whose trials are kept here.

A file of tests/kept/observations belongs to one mechanism. Its cases have the settings of a run,
the tolerance `within` which its numbers must agree, and what the run kept. To add a case, write its
settings into a file and renew it: `make kept`. Renew an existing case only if its observations are
meant to change.

`within` is 0 (bit by bit), 1e-9 or 1e-5:

- 1e-9 for what goes through products of matrices in double precision: trained Laplace networks,
  private ensembles and the first phase of P3GM. BLAS adds in an order that depends on the
  processor; its kernels for AVX-512, Haswell and SSE differ by up to 4e-14 here.
- 1e-5 for what torch or the native kernel trains in single precision.
- 0 for all else. Laplace noise needs a logarithm of the C library, which a processor without fused
  multiply-add may round otherwise.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import compiled

from dpaudit import registry
from dpaudit.audit import prepare, run
from dpaudit.config import Config
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.config.settings import BACKENDS
from dpaudit.executors import SerialExecutor
from dpaudit.journal import Journal

KEPT = Path(__file__).parent / "kept"
FILES = sorted((KEPT / "observations").glob("*.json"))
FEW = 6
"""How many numbers of an array are kept one by one; longer ones also have a hash or their norm."""


def run_case(settings: dict[str, Any], within: float, folder: Path) -> dict[str, Any]:
    """Run these settings; return the claim, the canary, what is known, and all trials."""
    prepared = prepare(Config.from_dict(settings))
    with Journal.read(run(prepared, folder, workers=SerialExecutor()).journal) as journal:
        facts, seen = journal.facts, journal.observations()
        assert facts is not None
        canary = {n: facts["canary"].get(n) for n in ("name", "label")}
        return {
            "claim": facts["claim"]["epsilon"],
            "canary": {**canary, "removed": facts["pairing"]["removed"]},
            # Attacks see names without this prefix, which 0.1 gave to fewer arrays.
            "known": {
                name.removeprefix("given "): summarise(array, within)
                for name, array in sorted(journal.known.items())
            },
            "trials": {
                f"{index} {'in' if world else 'out'}": {
                    name: summarise(array[row], within) for name, array in seen.items()
                }
                for row, (world, index) in enumerate(zip(*journal.trials(), strict=True))
            },
        }


def summarise(array: np.ndarray, within: float) -> dict[str, Any]:
    """Reduce an array to some of its numbers, and a hash or the norm of all of them."""
    flat = np.ascontiguousarray(array).reshape(-1)
    entry: dict[str, Any] = {"type": str(array.dtype), "shape": list(array.shape)}
    if array.dtype != np.float16:  # whose steps are wider than 1e-5
        some = np.unique(np.linspace(0, flat.size - 1, FEW).astype(int))
        entry["values"] = flat[some].tolist()
    if flat.size <= FEW:
        return entry
    if within and array.dtype.kind == "f":
        return {**entry, "norm": float(np.linalg.norm(flat.astype(np.float64)))}
    return {**entry, "sha256": hashlib.sha256(flat.tobytes()).hexdigest()}


def leaves(kept: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all single values with their paths."""
    if not isinstance(kept, (dict, list)):
        yield path, kept
        return
    for name, value in kept.items() if isinstance(kept, dict) else enumerate(kept):
        yield from leaves(value, f"{path}/{name}")


def close(now: Any, kept: Any, within: float) -> bool:
    if not isinstance(kept, float):
        return bool(now == kept)
    return math.isclose(now, kept, rel_tol=within, abs_tol=within) or (now != now and kept != kept)


def renew(file: Path, name: str, folder: Path) -> None:
    """Replace what is kept of a case; each array is a line, so that diffs are short."""
    cases = json.loads(file.read_text())
    case = cases[name]
    cases[name] = {**case, "kept": run_case(case["settings"], case["within"], folder)}
    text = json.dumps(cases, indent=1)
    file.write_text(re.sub(r"{[^{}]*}", lambda m: " ".join(m[0].split()), text) + "\n")


def cases() -> Iterator[Any]:
    for file in FILES:
        for name, case in json.loads(file.read_text()).items():
            marks = [compiled] if case["settings"].get("backend") == "native" else []
            yield pytest.param(file, name, id=f"{file.stem}: {name}", marks=marks)


@pytest.mark.parametrize(("file", "name"), [*cases()])
def test_the_same_seeds_give_the_observations_that_were_kept(file, name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(KEPT)  # own_function.py is there
    if os.environ.get("DPAUDIT_RENEW"):
        renew(file, name, tmp_path / "run")
    case = json.loads(file.read_text())[name]
    now, kept = run_case(case["settings"], case["within"], tmp_path / "again"), case["kept"]
    now["known"] = {n: a for n, a in now["known"].items() if n in kept["known"]}
    values, wanted = dict(leaves(now)), dict(leaves(kept))
    assert values.keys() == wanted.keys()
    other = {
        p: (values[p], v) for p, v in wanted.items() if not close(values[p], v, case["within"])
    }
    assert not other, "now, and as it was kept"


def test_every_mechanism_canary_adversary_and_backend_has_a_case():
    every = [case for file in FILES for case in json.loads(file.read_text()).values()]
    canaries = {case["kept"]["canary"]["name"] for case in every}
    adversaries = {case["settings"].get("adversary", "observer") for case in every}
    backends = {case["settings"].get("backend", "auto") for case in every}
    assert {file.stem for file in FILES} == set(registry.names("mechanisms"))
    assert canaries >= set(registry.names("canaries"))
    assert adversaries == set(ADVERSARIES)
    assert backends == set(BACKENDS)
