"""The page in a kit that says what to do with it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dpaudit.estimators import OneRun
from dpaudit.kits.kit import About
from dpaudit.selections import GuessNumbers

DELTA, CONFIDENCE = 1e-5, 0.95


def reach(count: int) -> float:
    """The largest epsilon that so many canaries could show, assuming nothing."""
    numbers = GuessNumbers.of(count)
    return numbers.ceiling(OneRun(numbers.each(CONFIDENCE)), count, DELTA)


def readme(about: About, files: Sequence[str]) -> str:
    """README.md."""
    what = (
        f"{about.count:,} canaries for {about.data}: {about.made}. A fair coin for each of them, "
        f"independent of all others, said whether it is trained on. The coins were {about.coins}."
    )
    return f"""# A canary kit

{textwrap.fill(what, 100)}

## What to do

1. Keep this commitment where it cannot be changed, before you train. It is the SHA-256 of
   `sealed.json`, and shows later that the coins are those of today without telling them now:

       {about.commitment}

2. Add all of {" or ".join(f"`{file}`" for file in files)} to your training data, as records like
   all others, and train as you always do: the same steps, batches, noise and clipping. Add nothing
   else of this folder, leave nothing out, and do not look at single canaries to steer the training.
   What the accountant needs to know (the number of records, the sampling rate) is what it is with
   them. A canary counts as one record: none may be put in twice or weighted otherwise.
3. Score the trained model:

       dpaudit checkpoint model.pt --network my_module:make_net --kit THIS_FOLDER --claim 8,1e-5

   or, with any framework, score `canaries.npz` yourself and give what the model says of each:

       dpaudit checkpoint --predictions predictions.csv --kit THIS_FOLDER --claim 8,1e-5

   The columns are `canary` (its number, from 0) and either `loss`, or `p0`, `p1`, ... for
   probabilities, or `z0`, `z1`, ... for logits.

Whoever trains needs only what is added. `sealed.json` is for whoever audits.

## What it can show

So many canaries can show an epsilon of at most {reach(about.count):.2f} (delta 1e-5, 95 %
confidence, assuming nothing of the training). A model from which they cannot be guessed better than
by chance shows 0, which is no proof that nothing leaks.

## Files

- `kit.json`: what everybody may know. `sealed.json`: the coins; `dpaudit checkpoint` opens it, and
  refuses it if it was changed.
- `canaries.npz`: all canaries, x and y, in the order of their numbers, whether trained on or not.
- `{files[0]}`: those to train on{", also as `" + files[1] + "`" if len(files) > 1 else ""}.

`dpaudit canaries show THIS_FOLDER` draws them. Canaries made from records of the data are as
confidential as those records.
"""
