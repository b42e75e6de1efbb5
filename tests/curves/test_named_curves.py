import pytest

from dpaudit.curves import DPSGD, Gaussian, Pure, family
from dpaudit.errors import BadInput
from dpaudit.estimators import PLD, PairedAUC, RankTest
from dpaudit.types import DPSGDCurve, GaussianCurve

DELTA = 1e-5


def test_families_by_name_and_by_curve():
    assert family("gaussian", DELTA) == family(GaussianCurve(1.0), DELTA) == Gaussian()
    assert family("pure", DELTA) == Pure(DELTA)
    assert family(DPSGDCurve(0.1, 20, 1.0), DELTA, "replace") == DPSGD(0.1, 20, "replace")
    assert family(DPSGDCurve(1.0, 20, 1.0), DELTA) == Gaussian()
    assert family(Pure(0.1), DELTA) == Pure(0.1)
    assert [c.assumption for c in (Gaussian(), Pure(0), DPSGD(0.1, 20))] == [
        "gaussian",
        "none",
        "accountant",
    ]


@pytest.mark.parametrize(("curve", "shown"), [("gausian", "'gausian'"), (None, "None"), (8, "8")])
@pytest.mark.parametrize("make", [RankTest, PairedAUC, PLD, lambda curve: family(curve, DELTA)])
def test_an_unknown_curve_is_refused_at_once(make, curve, shown):
    with pytest.raises(BadInput, match=f"curve must be one of gaussian, pure, not {shown}"):
        make(curve)
