"""Attacks: observations to scores and a decision rule. Installed as `dpaudit.attacks`."""

if __name__ != "dpaudit.attacks":
    raise ImportError("import dpaudit.attacks, not attacks")
