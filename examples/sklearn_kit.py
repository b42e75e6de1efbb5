"""An audit of the predictions of a scikit-learn forest that was trained with a canary kit.

    dpaudit canaries make --data digits --count 500 --out kit
    python examples/sklearn_kit.py kit predictions.csv
    dpaudit checkpoint --predictions predictions.csv --kit kit --claim 1,1e-5

dpaudit sees only the predictions. The forest has memorised its records, and the claim is refuted.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier


def main(kit: Path, predictions: Path) -> None:
    """Train on all digits and the kit's records; write the probabilities of every canary."""
    digits = load_digits()
    added, canaries = np.load(kit / "add_to_training.npz"), np.load(kit / "canaries.npz")
    x = np.concatenate([digits.data / 16, added["x"].reshape(len(added["x"]), -1)])
    y = np.concatenate([digits.target, added["y"]])
    forest = RandomForestClassifier(n_estimators=100, random_state=0).fit(x, y)
    said = forest.predict_proba(canaries["x"].reshape(len(canaries["x"]), -1))
    with predictions.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["canary", *(f"p{k}" for k in range(said.shape[1]))])
        rows.writerows([i, *probabilities] for i, probabilities in enumerate(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
