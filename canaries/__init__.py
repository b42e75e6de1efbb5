"""Canaries: the record that makes two datasets neighbours. Installed as `dpaudit.canaries`."""

if __name__ != "dpaudit.canaries":
    raise ImportError("import dpaudit.canaries, not canaries")
