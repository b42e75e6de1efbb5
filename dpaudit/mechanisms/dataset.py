"""The records that a user's function is given as long as nothing needs torch."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from dpaudit.types import Records


class TorchNeeded(BaseException):
    """Ends a call whose function asks for tensors; it is called again with a TensorDataset.

    No `Exception`, so that the function does not take it for an error of its own.
    """


class Arrays:
    """The records as numpy arrays `x` and `y`, which a TensorDataset of dpaudit has too."""

    def __init__(self, records: Records) -> None:
        self.x, self.y = np.array(records.x, order="C"), np.array(records.y)
        self.tensors_needed = False

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: object) -> NoReturn:
        self._need_tensors()

    @property
    def tensors(self) -> NoReturn:
        """What a TensorDataset has."""
        self._need_tensors()

    def _need_tensors(self) -> NoReturn:
        self.tensors_needed = True
        raise TorchNeeded
