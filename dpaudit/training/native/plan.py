"""A network as the kernel sees it: stages of fixed shapes, each written as a C++ type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import nn

from dpaudit.training.layers import (
    UnfitNetwork,
    irregular,
    leaves,
    unfit_layer,
    unfit_parameters,
    unfit_shape,
)

NONE = -1
"""The number of a dropout layer, where there is none."""

KINDS = (nn.Identity, nn.ReLU, nn.Dropout, nn.Linear, nn.Conv2d, nn.MaxPool2d)

UNPOOLED = (1, 1, 1, 1, 0, 0)
"""The window of a convolution without pooling."""

DROPOUTS = 64
"""The most dropout layers that a worker has memory for."""


@dataclass(frozen=True)
class Form:
    """Channels, height and width of the values between two stages; a row is (n, 1, 1)."""

    channels: int
    height: int = 1
    width: int = 1

    @property
    def size(self) -> int:
        """The number of values."""
        return self.channels * self.height * self.width

    def cpp_type(self, padding: tuple[int, int] = (0, 0), packed: bool = False) -> str:
        """The C++ map of that form; `packed`: a pixel takes no more floats than it has channels."""
        sizes = [self.channels, self.height, self.width, *padding]
        return f"Map<{', '.join(map(str, sizes + [self.channels] * packed))}>"


@dataclass(frozen=True)
class Stage:
    """One layer, or several that the kernel runs at once, from one form to another."""

    form: Form
    out: Form


@dataclass(frozen=True)
class Conv(Stage):
    """A convolution with the ReLU, the dropout and the pooling that follow it at once."""

    filters: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    shift: tuple[int, int]
    """The part of the padding before the image that is not used: that of even kernels is uneven."""
    bias: bool
    relu: bool = False
    dropout: int = NONE
    window: tuple[int, ...] = UNPOOLED

    def before_pooling(self) -> Form:
        """The form after the convolution itself."""
        return slid(self.form, self.filters, self.kernel, self.stride, self.padding, self.shift)


@dataclass(frozen=True)
class Gate(Stage):
    """ReLU or dropout by itself."""

    relu: bool
    dropout: int = NONE


@dataclass(frozen=True)
class Pool(Stage):
    """Max-pooling by itself: kernel, stride and border of `window`, height before width."""

    window: tuple[int, ...]


@dataclass(frozen=True)
class Dense(Stage):
    """A linear layer."""

    bias: bool


def slid(
    form: Form,
    channels: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    shift: tuple[int, int] = (0, 0),
) -> Form:
    """The form after a sliding window."""
    sides = zip((form.height, form.width), kernel, stride, padding, shift, strict=True)
    height, width = ((side + 2 * p - f - k) // s + 1 for side, k, s, p, f in sides)
    if min(height, width) < 1:
        raise unfit_shape("its windows are larger than what they slide over", (height, width))
    return Form(channels, height, width)


def cpp_type(stage: Stage, came: str, out: str, below: bool) -> str:
    """A stage as a C++ type; `below` is true if a stage before it has parameters."""
    end = f"{_flag(below)}>"
    if isinstance(stage, Dense):
        return f"Dense<{came}, {stage.out.channels}, {_flag(stage.bias)}, {end}"
    if isinstance(stage, Gate):
        return f"Gate<{came}, {out}, {_flag(stage.relu)}, {stage.dropout}, {end}"
    assert isinstance(stage, Conv | Pool)
    of = stage.before_pooling() if isinstance(stage, Conv) else stage.form
    window = f"Windows<{', '.join(map(str, (of.height, of.width, *stage.window)))}>"
    if not isinstance(stage, Conv):
        return f"Pool<{came}, {out}, {window}, {end}"
    sizes = ", ".join(map(str, (stage.filters, *stage.kernel)))
    conv = f"Convolution<{came}, {sizes}, {', '.join(map(str, (*stage.stride, *stage.shift)))}>"
    flags = f"{_flag(stage.bias)}, {_flag(stage.relu)}, {stage.dropout}"
    return f"Block<{came}, {out}, {conv}, {sizes}, {window}, {flags}, {end}"


def _flag(value: bool) -> str:
    return str(value).lower()


@dataclass(frozen=True)
class NativePlan:
    """Stages of single records, then of micro-batches; dropout layers have the form they act on."""

    input: Form
    images: tuple[Stage, ...]
    rows: tuple[Stage, ...]
    dropouts: tuple[Form, ...]

    @property
    def padding(self) -> tuple[int, int]:
        """The border of zeros that records are given."""
        return _padding(self.images)

    @property
    def packed(self) -> bool:
        """True if a record's pixels lie without gaps: only a convolution can read them so."""
        return bool(self.images) and isinstance(self.images[0], Conv)

    @property
    def classes(self) -> int:
        """The number of logits."""
        return (self.images + self.rows)[-1].out.size

    def source(self) -> str:
        """The C++ file that makes a kernel of the plan."""
        stages, types, below = self.images + self.rows, [], False
        first = self.input.cpp_type(self.padding, self.packed)
        came = first
        for i, stage in enumerate(stages):
            out = stage.out.cpp_type(_padding(stages[i + 1 :]))
            types.append(cpp_type(stage, came, out, below))
            if i >= len(self.images) and not isinstance(stage, Dense):
                types[-1] = f"Each<{types[-1]}>"
            below, came = below or isinstance(stage, Conv | Dense), out
        features = self.images[-1].out.cpp_type() if self.images else first
        images, rows = types[: len(self.images)], types[len(self.images) :]
        return (
            '#include "network.h"\n'
            f"using Images = Records<{', '.join(images)}>;\n"
            f"using Flat = Rows<{', '.join(rows)}>;\n"
            f"using Net = Network<{first}, {features}, {came}, Images, Flat>;\n"
            '#include "entries.h"\n'
        )


def _padding(stages: Sequence[Stage]) -> tuple[int, int]:
    """The border of zeros around the input of the first stage."""
    return stages[0].padding if stages and isinstance(stages[0], Conv) else (0, 0)


def plan(model: nn.Sequential, shape: tuple[int, ...]) -> NativePlan:
    """The plan of a network for records of a shape, or `UnfitNetwork`."""
    if any(p.dtype != torch.float32 or p.device.type != "cpu" for p in model.parameters()):
        raise unfit_parameters("its parameters are not of 32 bits on the CPU", "precision")
    if len(shape) not in (1, 3):
        raise unfit_shape("its records are neither images nor rows", shape)
    form, flat = Form(*shape), len(shape) == 1
    images: list[Stage] = []
    rows: list[Stage] = []
    dropouts: list[Form] = []
    for layer in leaves(model):
        if type(layer) is nn.Flatten:
            if (layer.start_dim, layer.end_dim) != (1, -1):
                clause = "its Flatten keeps more than the first dimension"
                raise unfit_layer(clause, layer, "dimensions")
            if not any(isinstance(stage, Conv | Pool) for stage in images):
                # What acts on single values may as well act on the row; its order is torch's.
                form = Form(form.size)
                rows, images = [replace(stage, form=form, out=form) for stage in images], []
                dropouts = [form for _ in dropouts]
            flat = True
            continue
        stage = _stage(layer, form, flat, len(dropouts))
        if stage is None:
            continue
        if isinstance(layer, nn.Dropout):
            dropouts.append(form)
        stages = rows if flat else images
        if stages and (fused := _fused(stages[-1], stage)):
            stages[-1] = fused
        else:
            stages.append(stage)
        form = stage.out
    if reason := irregular(model):
        raise reason
    if not flat:
        raise unfit_shape("it does not end in one row of logits", "logits")
    if len(dropouts) > DROPOUTS:
        clause = f"it has more than {DROPOUTS} dropout layers"
        raise UnfitNetwork(clause, "too-large", option="network", value=len(dropouts))
    first = (images or rows)[0].form
    return NativePlan(first, tuple(images), tuple(rows), tuple(dropouts))


def _stage(layer: nn.Module, form: Form, flat: bool, dropouts: int) -> Stage | None:
    """The stage of one layer by itself; None for an Identity."""
    kind, name = type(layer), type(layer).__name__
    if kind in (nn.Conv2d, nn.MaxPool2d) and flat:
        raise unfit_layer(f"it has a {name} after a Flatten", layer, "place")
    # The exact types: a subclass may do anything in its forward pass.
    if kind not in KINDS:
        raise unfit_layer(f"it has a {name}", layer)
    match layer:
        case nn.ReLU():
            return Gate(form, form, relu=True)
        case nn.Dropout():
            _refuse(layer, (layer.p >= 1, "that keeps nothing", "rate"))
            return Gate(form, form, relu=False, dropout=dropouts)
        case nn.Linear():
            _refuse(layer, (not flat, "before any Flatten", "place"))
            _same(layer.in_features, form.size)
            return Dense(form, Form(layer.out_features), layer.bias is not None)
        case nn.Conv2d():
            return _conv(layer, form)
        case nn.MaxPool2d():
            return _pool(layer, form)
    return None


def _refuse(layer: nn.Module, *traits: tuple[bool, str, str]) -> None:
    """Raise the error of the first trait that the layer has: a clause, and the trait's name."""
    for there, clause, trait in traits:
        if there:
            raise unfit_layer(f"it has a {type(layer).__name__} {clause}", layer, trait)


def _conv(layer: nn.Conv2d, form: Form) -> Conv:
    _refuse(
        layer,
        (layer.groups != 1, "in groups", "groups"),
        (layer.dilation != (1, 1), "with a dilation", "dilation"),
        (layer.padding_mode != "zeros", f"with {layer.padding_mode} padding", "padding"),
    )
    kernel = _pair(layer.kernel_size)
    padding, shift = (0, 0), (0, 0)
    if layer.padding == "same":
        # Of an even kernel it is smaller by one before the image than behind it.
        padding = (kernel[0] // 2, kernel[1] // 2)
        shift = (1 - kernel[0] % 2, 1 - kernel[1] % 2)
    elif not isinstance(layer.padding, str):
        padding = _pair(layer.padding)
    _same(layer.in_channels, form.channels)
    stride, bias = _pair(layer.stride), layer.bias is not None
    out = slid(form, layer.out_channels, kernel, stride, padding, shift)
    return Conv(form, out, layer.out_channels, kernel, stride, padding, shift, bias)


def _pool(layer: nn.MaxPool2d, form: Form) -> Pool:
    kernel, padding, stride = map(_pair, (layer.kernel_size, layer.padding, layer.stride))
    _refuse(
        layer,
        (layer.ceil_mode, "in ceil mode", "ceil mode"),
        (layer.return_indices, "that returns indices", "indices"),
        (_pair(layer.dilation) != (1, 1), "with a dilation", "dilation"),
        (prod(kernel) > 2**16, "of more than 65,536 values", "size"),
    )
    out = slid(form, form.channels, kernel, stride, padding)
    return Pool(form, out, (*kernel, *stride, *padding))


def _fused(before: Stage, stage: Stage) -> Stage | None:
    """Both as one stage, or None if the kernel has none."""
    if not isinstance(before, Conv):
        if isinstance(before, Gate) and isinstance(stage, Gate) and before.dropout == NONE:
            return replace(before, dropout=stage.dropout)
        return None
    pooled = before.window != UNPOOLED
    if isinstance(stage, Gate) and stage.relu:
        # max(., 0) keeps the order of values: before a pooling it does the same as after it.
        return replace(before, relu=True) if before.dropout == NONE else None
    if isinstance(stage, Gate) and before.relu and before.dropout == NONE and not pooled:
        return replace(before, dropout=stage.dropout)
    if isinstance(stage, Pool) and not pooled:
        return replace(before, window=stage.window, out=stage.out)
    return None


def _same(wanted: int, got: int) -> None:
    if wanted != got:
        clause = f"a layer of it takes {wanted} inputs and is given {got}"
        raise unfit_shape(clause, (wanted, got))


def _pair(value: int | tuple[int, ...]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])
