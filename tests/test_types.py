import json

import pytest

from dpaudit.types import Claim, DPSGDCurve, GaussianCurve, StepsCurve

CURVES = [None, GaussianCurve(1.5), DPSGDCurve(0.01, 5000, 1.0), StepsCurve(0.01, 5000, 1.0)]


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_a_claim_survives_the_journal(curve):
    claim = Claim(4.0, 1e-5, adjacency="replace", curve=curve, beside={"rdp": 4.5})
    again = Claim.from_dict(json.loads(json.dumps(claim.to_dict())))
    assert again == claim
    assert type(again.curve) is type(curve)
    assert again.by_step == isinstance(curve, StepsCurve)


@pytest.mark.parametrize("curve", CURVES[1:3], ids=repr)
def test_a_journal_that_does_not_tell_the_kind_of_curve_is_read(curve):
    told = Claim(4.0, 1e-5, curve=curve).to_dict()
    del told["curve"]["kind"]
    assert Claim.from_dict(told).curve == curve
