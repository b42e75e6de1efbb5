"""What has been published of black-box audits of DP-SGD at a claimed epsilon of 10."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A figure as its paper has it."""

    data: str
    claimed: float
    reported: float
    paper: str
    how: str

    def lines(self) -> list[str]:
        """As a paragraph."""
        words = f"{self.reported:g} at a claimed {self.claimed:g}, {self.how}. {self.paper}."
        indents = {"initial_indent": "  ", "subsequent_indent": "    "}
        return textwrap.wrap(words, width=100, **indents)


NEARLY_TIGHT = (
    "Annamalai and De Cristofaro, Nearly Tight Black-Box Auditing of Differentially Private "
    "Machine Learning (NeurIPS 2024, arXiv:2405.14106)"
)
FINAL_MODEL = (
    "Yoon, Jeung and No, Adversarial Sample-Based Approach for Tighter Privacy Auditing in Final "
    "Model-Only Scenarios (2024, arXiv:2412.01756)"
)

FIGURES = (
    Published(
        *("mnist", 10.0, 7.21, NEARLY_TIGHT),
        how="1,000 records, crafted initial parameters, black box; the threshold was chosen on the "
        "models that it is judged by, so that it is an estimate and no bound",
    ),
    Published(
        *("mnist", 10.0, 6.48, NEARLY_TIGHT),
        how="the same on the whole data set",
    ),
    Published("mnist", 10.0, 4.914, FINAL_MODEL, how="final model only, crafted records"),
)


def beside(data: str) -> list[str]:
    """The lines to print below a table; none for data that nobody has published on."""
    found = [line for one in FIGURES if one.data == data for line in one.lines()]
    return ["Published on the same data set", *found] if found else []
