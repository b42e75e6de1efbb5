"""A user's arrays: everything that is wrong with them, and the records that they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dpaudit.checks import listed
from dpaudit.data.split import too_few
from dpaudit.errors import BadInput
from dpaudit.types import Array, Records

CHANNELS = (1, 3, 4)


def problems(arrays: Mapping[str, Array]) -> Iterator[BadInput]:
    """Every problem of x_train, y_train, x_test, y_test or of x, y, as far as they are there.

    What depends on labels is looked into only where the labels themselves are usable.
    """
    usable: dict[str, list[int]] = {}
    for name, array in arrays.items():
        found = list(
            _value_problems(name, array) if name[0] == "x" else _label_problems(name, array)
        )
        yield from found
        if name[0] == "y" and not found:
            usable[name] = _labels(array)
    for x, y in (("x", "y"), ("x_train", "y_train"), ("x_test", "y_test")):
        if x in arrays and y in arrays:
            yield from _length_problems(x, arrays[x], y, arrays[y])
    if "x_train" in arrays and "x_test" in arrays:
        yield from _shape_problems(arrays["x_train"], arrays["x_test"])
    for name in ("y", "y_train"):
        if name in usable:
            yield from _class_problems(name, usable[name], arrays[name])
    if "y_train" in usable and "y_test" in usable:
        yield from _unknown_labels(usable["y_train"], usable["y_test"])


def form_problems(name: str, array: Array) -> Iterator[BadInput]:
    """Every problem of one of these arrays that its shape and type show; values are not read."""
    of_form = _form_problems_of_values if name[0] == "x" else _form_problems_of_labels
    return of_form(name, array)


def as_records(x: Array, y: Array) -> Records:
    """Arrays without problems as records of the values, layout and types that dpaudit uses."""
    return Records(_channels_first(_as_float(x)), _as_int(y))


def as_given(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Records' values in the layout and type that a user's own have: what `as_records` undoes.

    `shape` is that of one of the user's records. Bytes and booleans are rounded to.
    """
    last = _channel_axis((1, *shape)) == 3
    values = (np.moveaxis(x, 1, 3) if last else x).reshape(len(x), *shape)
    if dtype == np.uint8:
        values = np.rint(np.clip(values, 0, 1) * 255)
    elif dtype.kind == "b":
        values = values > 0.5
    return np.ascontiguousarray(values.astype(dtype))


def problems_of_few(x: Array, y: Array) -> Iterator[BadInput]:
    """Every problem of records that nothing is trained on, so that any classes will do."""
    wrong = [*_value_problems("x", x), *_label_problems("y", y), *_length_problems("x", x, "y", y)]
    yield from wrong
    if not wrong and (least := _labels(y)[0]) < 0:
        yield _negative("y", least)


# ---------------------------------------------------------------- x


def _value_problems(name: str, x: Array) -> Iterator[BadInput]:
    wrong = list(_form_problems_of_values(name, x))
    yield from wrong
    if wrong or x.dtype.kind != "f":
        return
    # No copy of what is float32 already.
    finite = np.isfinite(x if x.dtype == np.float32 else _as_float(x))
    if bad := x.size - np.count_nonzero(finite):
        yield BadInput(
            f"{name} has {bad} of {x.size} values that are NaN, infinite or beyond float32; "
            "mend them or leave those records out",
            "not-finite",
            option=name,
            value=int(bad),
        )


def _form_problems_of_values(name: str, x: Array) -> Iterator[BadInput]:
    if x.size == 0:
        yield _empty(name, x)
    elif x.ndim not in (2, 3) and _channel_axis(x.shape) is None:
        yield BadInput(
            f"{name} has the shape {x.shape}; records are (n, features), (n, height, width) "
            "or images with 1, 3 or 4 channels, first or last",
            "wrong-shape",
            option=name,
            value=x.shape,
        )
    if x.dtype.kind not in "bf" and x.dtype != np.uint8:
        yield BadInput(
            f"{name} has the type {x.dtype}; save images as uint8 (0 to 255, read as 0 to 1) "
            "and all else as float32, scaled as the network should see it",
            "wrong-type",
            option=name,
            value=str(x.dtype),
        )


def _shape_problems(train: Array, test: Array) -> Iterator[BadInput]:
    if train.shape[1:] != test.shape[1:]:
        yield BadInput(
            f"records of x_train have the shape {train.shape[1:]} and those of x_test "
            f"{test.shape[1:]}; they must be alike",
            "shape-mismatch",
            option="x_test",
            value=[train.shape[1:], test.shape[1:]],
        )


def _as_float(x: Array) -> Array:
    # What float32 cannot hold becomes infinite, and is found as such.
    with np.errstate(over="ignore", invalid="ignore"):
        values = x.astype(np.float32)
    return values / np.float32(255) if x.dtype == np.uint8 else values


def _channels_first(x: Array) -> Array:
    if x.ndim == 2:
        return x[:, None, None, :]
    if x.ndim == 3:
        return x[:, None]
    return np.ascontiguousarray(np.moveaxis(x, _channel_axis(x.shape) or 1, 1))


def _channel_axis(shape: tuple[int, ...]) -> int | None:
    """1 or 3 for images with channels first or last; where both could be, first."""
    if len(shape) != 4:
        return None
    return next((axis for axis in (1, 3) if shape[axis] in CHANNELS), None)


# ---------------------------------------------------------------- y


def _label_problems(name: str, y: Array) -> Iterator[BadInput]:
    wrong = list(_form_problems_of_labels(name, y))
    yield from wrong
    if not wrong and (bad := np.count_nonzero(~np.isfinite(y) | (np.trunc(y) != y))):
        said = f"{name} has {bad} labels that are not whole numbers"
        yield BadInput(said, "not-whole", option=name, value=int(bad))


def _form_problems_of_labels(name: str, y: Array) -> Iterator[BadInput]:
    if y.dtype.kind not in "biuf":
        said = f"{name} has the type {y.dtype}; labels are whole numbers"
        yield BadInput(said, "wrong-type", option=name, value=str(y.dtype))
    elif y.ndim != 1 and y.shape[1:] != (1,):
        hint = "; of one-hot labels save y.argmax(axis=1)" if y.ndim == 2 else ""
        said = f"{name} has the shape {y.shape}; labels are (n,) or (n, 1){hint}"
        yield BadInput(said, "wrong-shape", option=name, value=y.shape)
    elif y.size == 0:
        yield _empty(name, y)


def _length_problems(x_name: str, x: Array, y_name: str, y: Array) -> Iterator[BadInput]:
    if x.ndim and y.ndim and len(x) != len(y):
        yield BadInput(
            f"{x_name} has {len(x)} records but {y_name} has {len(y)} labels; they must match",
            "length-mismatch",
            option=x_name,
            value=[len(x), len(y)],
        )


def _class_problems(name: str, labels: list[int], y: Array) -> Iterator[BadInput]:
    missing = next((c for c, label in enumerate(labels) if c != label), None)
    if labels[0] < 0:
        yield _negative(name, labels[0])
    elif missing is not None:
        yield BadInput(
            f"{name} has labels up to {labels[-1]} but no record of class {missing}; "
            "number the classes 0, 1, 2 and so on without a gap",
            "class-gap",
            option=name,
            value=missing,
        )
    elif len(labels) < 2:
        said = f"{name} has a single class; an audit needs at least 2"
        yield BadInput(said, "single-class", option=name)
    else:
        yield from too_few(name, _as_int(y), len(labels))


def _unknown_labels(train: list[int], test: list[int]) -> Iterator[BadInput]:
    unknown = sorted(set(test) - set(train))
    if unknown:
        yield BadInput(
            f"y_test has labels that y_train has not ({listed(unknown)}); leave those records out",
            "unknown-labels",
            option="y_test",
            value=unknown[:5],
        )


def _empty(name: str, array: Array) -> BadInput:
    said = f"{name} is empty (its shape is {array.shape})"
    return BadInput(said, "array-empty", option=name, value=array.shape)


def _negative(name: str, label: int) -> BadInput:
    said = f"{name} has the label {label}; number the classes 0, 1, 2 and so on"
    return BadInput(said, "negative-label", option=name, value=label)


def _labels(y: Array) -> list[int]:
    """The different labels in order, as Python's integers because these cannot overflow."""
    return [int(label) for label in np.unique(y)]


def _as_int(y: Array) -> Array:
    return y.reshape(-1).astype(np.int64)


def hash_arrays(about: str, *parts: Records, **given: Array) -> str:
    """SHA-256 of some words and of all that training can see: shapes, types and bytes."""
    digest = hashlib.sha256(about.encode())

    def add(name: str, array: Array) -> None:
        digest.update(f"; {name}{array.shape} {array.dtype.str} ".encode())
        digest.update(np.ascontiguousarray(array).data)

    for part in parts:
        add("", part.x)
        add("", part.y)
    for name in sorted(given):
        add(f"{name} ", given[name])
    return digest.hexdigest()


def record_hashes(records: Array) -> list[bytes]:
    """A short hash of the values of each record, by which equal ones are found."""
    rows = np.ascontiguousarray(records)
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]
