"""The page in a kit that says what to do with it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dpaudit.checkpoint.kits.kit import About
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.selections import GuessNumbers

DELTA, CONFIDENCE = 1e-5, 0.95

GIVEN_IMAGES = (
    "Your network is given float32 of (records, channels, height, width), bytes divided by 255; "
    "`--preprocess MODULE:FUNCTION` makes of such a batch what it takes instead, such as another "
    "order of axes, or normalised pixels."
)
GIVEN_TABLE = (
    "Your network is given the rows of numbers of `canaries.npz`: of a table as dpaudit reads it, "
    "numbers scaled by their bounds and other columns one-hot. If it takes other features, ask it "
    "yourself."
)


def reach(count: int, curve: bool = False) -> float:
    """The largest epsilon that so many canaries could show; by a Gaussian `curve`, or outright."""
    numbers = GuessNumbers.of(count)
    sure = numbers.each(CONFIDENCE)
    return numbers.ceiling(OneRunFDP(sure) if curve else OneRun(sure), count, DELTA)


def readme(about: About, add: Sequence[str], everyone: Sequence[str]) -> str:
    """README.md; `add` are the files to train on, and `everyone` those of all canaries."""
    what = (
        f"{about.count:,} canaries for {about.data}: {about.made}. A fair coin for each of them, "
        f"independent of all others, said whether it is trained on. The coins were {about.coins}."
    )
    adding, all_of = (" or ".join(f"`{file}`" for file in files) for files in (add, everyone))
    given = _paragraph(GIVEN_TABLE if about.shape[:2] == [1, 1] else GIVEN_IMAGES)
    outright, by_curve = reach(about.count), reach(about.count, curve=True)
    shows = _paragraph(
        f"So many canaries can show an epsilon of at most {outright:.2f} (delta 1e-5, 95 % "
        f"confidence, assuming nothing of the training), or {by_curve:.2f} if the claim states a "
        "Gaussian curve (`--curve gaussian`, which is then taken on trust). A higher claim cannot "
        "be refuted with them. A model from which they cannot be guessed better than by chance "
        "shows 0, which is no proof that nothing leaks."
    )
    return f"""# A canary kit

{_paragraph(what)}

## What to do

1. Keep this commitment where it cannot be changed, before you train. It is the SHA-256 of
   `sealed.json`, and shows later that the coins are those of today without telling them now:

       {about.commitment}

2. Add all of {adding} to your training data, as
   records like all others, and train as you always do: the same steps, batches, noise and clipping.
   Add nothing else of this folder, leave nothing out, and do not look at single canaries to steer
   the training. What the accountant needs to know (the number of records, the sampling rate) is
   what it is with them. A canary counts as one record: none may be put in twice or weighted
   otherwise.
3. Score the trained model, once, by a score that you have settled on (`--score`):

       dpaudit checkpoint model.pt --network MODULE:FUNCTION --kit THIS_FOLDER --claim EPSILON,DELTA

   or, with any framework, ask it yourself about all of {all_of},
   and give what it says of each:

       dpaudit checkpoint --predictions predictions.csv --kit THIS_FOLDER --claim EPSILON,DELTA

   The columns are `canary` (its number, from 0) and either `loss`, or `p0`, `p1`, ... for
   probabilities, or `z0`, `z1`, ... for logits.

{given}

Looks at the coins are counted in `looks.txt`: another model, score or number of guesses is held to
a higher confidence. Make a kit for each training. Whoever trains needs only what is added;
`sealed.json` is for whoever audits.

## What it can show

{shows}

## Files

- `kit.json`: what everybody may know. `sealed.json`: the coins; `dpaudit checkpoint` opens it, and
  refuses it if anything was changed.
- {all_of}: all canaries, by their numbers, whether trained on or not.
- {adding}: those to train on.

`dpaudit canaries show THIS_FOLDER` draws them. Canaries made from records of the data are as
confidential as those records.
"""


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 100)
