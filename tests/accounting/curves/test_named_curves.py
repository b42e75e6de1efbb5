import pytest
from refusals import refuses

from dpaudit.accounting.curves import (
    DPSGDFamily,
    DPSGDStepsFamily,
    GaussianFamily,
    PureFamily,
    family,
    within_reach,
)
from dpaudit.estimators import PLD, PairedAUC, RankTest
from dpaudit.types import DPSGDCurve, GaussianCurve, StepsCurve

DELTA = 1e-5


def test_families_by_name_and_by_curve():
    assert family("gaussian", DELTA) == family(GaussianCurve(1.0), DELTA) == GaussianFamily()
    assert family("pure", DELTA) == PureFamily(DELTA)
    assert family(DPSGDCurve(0.1, 20, 1.0), DELTA, "replace") == DPSGDFamily(0.1, 20, "replace")
    assert family(DPSGDCurve(1.0, 20, 1.0), DELTA) == GaussianFamily()
    assert family(PureFamily(0.1), DELTA) == PureFamily(0.1)
    for q in (0.1, 1.0):
        assert family(StepsCurve(q, 20, 1.0), DELTA, "replace") == DPSGDStepsFamily(
            q, 20, "replace"
        )
    assert [
        c.assumption
        for c in (GaussianFamily(), PureFamily(0), DPSGDFamily(0.1, 20), DPSGDStepsFamily(1, 1))
    ] == [
        "gaussian",
        "none",
        "accountant",
        "accountant",
    ]


@pytest.mark.parametrize("kind", [DPSGDCurve, StepsCurve])
def test_what_composes_far_too_much_is_out_of_reach(kind):
    assert within_reach(kind(0.01, 5000, 1.0))
    assert within_reach(kind(1.0, 10**9, 1.0))
    assert not within_reach(kind(1e-5, 5000, 1.0))
    assert not within_reach(kind(0.01, 10**7, 1.0))


@pytest.mark.parametrize("curve", ["gausian", None, 8])
@pytest.mark.parametrize("make", [RankTest, PairedAUC, PLD, lambda curve: family(curve, DELTA)])
def test_an_unknown_curve_is_refused_at_once(make, curve):
    with refuses("unknown-choice", "curve", curve):
        make(curve)
