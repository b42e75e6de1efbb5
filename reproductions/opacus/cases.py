"""What of Opacus is audited: its modes, the reports of its users, and what else came to light."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reproductions.opacus.game import Game
from reproductions.opacus.training import Training

MODES = ("hooks", "ew", "functorch", "ghost")
NOISES = (0.4, 0.6, 1.0, 2.0)
SMALL = (1, 4, 16, 64, 256)
WIDTHS = (1, 32, 1024)
"""Features, of which a network for two classes has twice as many parameters."""


@dataclass(frozen=True)
class Case:
    """One audit: of which group, of what, by which score, in how many trainings of each world."""

    group: str
    name: str
    game: Game
    per_world: int
    score: str = "sampled"

    @property
    def called(self) -> str:
        """As `--only` takes it."""
        return f"{self.group} {self.name}"

    def scaled(self, scale: float) -> Case:
        """With fewer trainings, or more; an even number in each world."""
        return replace(self, per_world=2 * max(1, round(self.per_world * scale / 2)))


HEADS = {
    "modes": "Poisson sampling, as it comes",
    "ways": "Poisson sampling, in other ways",
    "accountant": "another accountant (pull request 400)",
    "records": "the number of records is private (issues 571 and 819)",
    "shuffled": "batches that are not sampled (issue 80)",
    "loss": "a loss with class weights",
    "memory": "channels last in memory",
    "empty": "empty batches",
}
"""What a group is about, in the order of the table; numbers are of Opacus' own tracker."""


def cases() -> list[Case]:
    """All of them."""
    return [
        *modes(),
        *ways(),
        *accountants(),
        *records(),
        *shuffled(),
        *losses(),
        *memory(),
        *empty(),
    ]


def modes() -> list[Case]:
    """Every way to compute gradients; 60 or 61 records make the same batches."""
    plain = Training(noise_multiplier=1.0, batch_size=16, epochs=3)
    return [Case("modes", m, Game(replace(plain, grad_sample_mode=m), 60), 300) for m in MODES]


def ways() -> list[Case]:
    """What users put around it."""
    plain = Training(noise_multiplier=1.0, batch_size=16, epochs=3)
    ghost = replace(plain, grad_sample_mode="ghost")
    asked = replace(plain, target=8.0, accountant="rdp")
    trainings = {
        "make_private_with_epsilon": asked,
        "BatchMemoryManager": replace(plain, physical=4),
        "BatchMemoryManager, ghost": replace(ghost, physical=4),
        "WeightedRandomSampler": replace(plain, drawn=30),
    }
    return [Case("ways", name, Game(how, 60), 100) for name, how in trainings.items()]


def accountants() -> list[Case]:
    """An approximation of which its makers warn."""
    rare = Training(noise_multiplier=0.6, batch_size=4, epochs=1, accountant="gdp")
    return [Case("accountant", "gdp", Game(rare, 58), 300)]


def records() -> list[Case]:
    """Noise that is divided by a number made of the number of records."""
    full = Training(noise_multiplier=10.0, batch_size=1024, epochs=10)
    found = [
        Case("records", f"{n} to {n + 1}, {2 * w:,} parameters", Game(full, n, features=w), 60)
        for w in WIDTHS
        for n in SMALL
    ]
    added = Game(replace(full, loss_reduction="sum"), 1, features=WIDTHS[-1])
    found.append(Case("records", "1 to 2, 2,048 parameters, summed loss", added, 60))
    rare = Training(noise_multiplier=1.0, batch_size=4, epochs=1)
    found.append(Case("records", "399 to 400, batches of 4", Game(rare, 399), 60))
    more = Training(noise_multiplier=10.0, batch_size=4, epochs=5)
    found.append(Case("records", "4 to 5, one batch more", Game(more, 4), 60, "steps"))
    return found


def shuffled() -> list[Case]:
    """Each epoch in a new order, accounted for as if it were sampled; 58 records or 59."""
    found = []
    for noise in NOISES:
        how = Training(noise_multiplier=noise, batch_size=4, epochs=1)
        order = replace(how, poisson_sampling=False)
        dropped = Game(replace(order, drop_last=True), 58, "opposed")
        found += [
            Case("shuffled", f"noise {noise:g}, Poisson", Game(how, 58), 100),
            Case("shuffled", f"noise {noise:g}, others blank", Game(order, 58), 100, "shuffled"),
            Case("shuffled", f"noise {noise:g}, last batch dropped", dropped, 100, "shuffled"),
            Case(
                "shuffled",
                f"noise {noise:g}, last batch kept",
                Game(order, 58, "opposed"),
                100,
                "shuffled",
            ),
        ]
    longer = Training(noise_multiplier=1.5, batch_size=4, epochs=3, poisson_sampling=False)
    kept = Game(longer, 58, "opposed")
    found.append(Case("shuffled", "noise 1.5, last batch kept, 3 epochs", kept, 300, "shuffled"))
    return found


def losses() -> list[Case]:
    """A weighted mean divides each record's gradient by the weights of all others."""
    rare = Training(noise_multiplier=2.0, batch_size=11, epochs=2, class_weights=(1.0, 100.0))
    games = {m: Game(replace(rare, grad_sample_mode=m), 20, "aside") for m in MODES}
    return [Case("loss", mode, game, 100, "others") for mode, game in games.items()]


def memory() -> list[Case]:
    """Per-sample gradients of convolutions read memory as if channels came first."""
    plain = Training(noise_multiplier=2.0, batch_size=11, epochs=2)
    last = replace(plain, channels_last=True)
    trainings = {
        "hooks": last,
        "ghost": replace(last, grad_sample_mode="ghost"),
        "ghost, channels first": replace(plain, grad_sample_mode="ghost"),
    }
    return [Case("memory", name, Game(how, 20, features=0), 60) for name, how in trainings.items()]


def empty() -> list[Case]:
    """Expanded weights refuse a batch without records, and the training ends there."""
    how = Training(20.0, batch_size=2, epochs=10, grad_sample_mode="ew", loss_reduction="sum")
    return [Case("empty", "ew, 3 to 4 records", Game(how, 3), 300, "steps")]
