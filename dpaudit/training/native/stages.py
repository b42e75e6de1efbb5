"""The stages that the kernel is made of, each written down as a C++ type."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.training.sequential import Refused

NONE = -1
"""In place of a dropout layer's number where there is none."""


@dataclass(frozen=True)
class Form:
    """Channels, height and width of what flows between two stages; a row is (n, 1, 1)."""

    channels: int
    height: int = 1
    width: int = 1

    def written(self, padding: tuple[int, int] = (0, 0), packed: bool = False) -> str:
        """The map of that form; `packed`: a pixel takes no more floats than it has channels."""
        sizes = [self.channels, self.height, self.width, *padding]
        return f"Map<{', '.join(map(str, sizes + [self.channels] * packed))}>"


@dataclass(frozen=True)
class Conv:
    """A convolution with the ReLU, the dropout and the pooling that follow it at once."""

    form: Form
    out: Form
    filters: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    shift: tuple[int, int]
    """How much of the padding before the image is not used: that of even kernels is uneven."""
    bias: bool
    relu: bool = False
    dropout: int = NONE
    window: tuple[int, ...] = (1, 1, 1, 1, 0, 0)
    has_parameters = True

    def convolved(self) -> Form:
        """What the convolution itself gives."""
        return slid(self.form, self.filters, self.kernel, self.stride, self.padding, self.shift)


@dataclass(frozen=True)
class Gate:
    """ReLU or dropout by itself."""

    form: Form
    relu: bool
    dropout: int = NONE
    has_parameters = False
    padding = (0, 0)

    @property
    def out(self) -> Form:
        """The same as came in."""
        return self.form


@dataclass(frozen=True)
class Pool:
    """Max-pooling by itself: kernel, stride and border of `window`, height before width."""

    form: Form
    out: Form
    window: tuple[int, ...]
    has_parameters = False
    padding = (0, 0)


@dataclass(frozen=True)
class Dense:
    """A linear layer."""

    form: Form
    out: Form
    bias: bool
    has_parameters = True
    padding = (0, 0)


Stage = Conv | Gate | Pool | Dense


def slid(
    form: Form,
    channels: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    shift: tuple[int, int] = (0, 0),
) -> Form:
    """What a sliding window makes of a form."""
    sides = zip((form.height, form.width), kernel, stride, padding, shift, strict=True)
    height, width = ((side + 2 * p - f - k) // s + 1 for side, k, s, p, f in sides)
    if min(height, width) < 1:
        told = "its windows are larger than what they slide over"
        raise Refused(told, "shape-mismatch", option="network", value=(height, width))
    return Form(channels, height, width)


def written(stage: Stage, came: str, out: str, below: bool) -> str:
    """A stage as a C++ type; `below`: whether anything before it has parameters."""
    end = f"{str(below).lower()}>"
    if isinstance(stage, Dense):
        return f"Dense<{came}, {stage.out.channels}, {_flag(stage.bias)}, {end}"
    if isinstance(stage, Gate):
        return f"Gate<{came}, {out}, {_flag(stage.relu)}, {stage.dropout}, {end}"
    of = stage.convolved() if isinstance(stage, Conv) else stage.form
    window = f"Windows<{', '.join(map(str, (of.height, of.width, *stage.window)))}>"
    if isinstance(stage, Pool):
        return f"Pool<{came}, {out}, {window}, {end}"
    sizes = ", ".join(map(str, (stage.filters, *stage.kernel)))
    conv = f"Convolution<{came}, {sizes}, {', '.join(map(str, (*stage.stride, *stage.shift)))}>"
    flags = f"{_flag(stage.bias)}, {_flag(stage.relu)}, {stage.dropout}"
    return f"Block<{came}, {out}, {conv}, {sizes}, {window}, {flags}, {end}"


def _flag(value: bool) -> str:
    return str(value).lower()
