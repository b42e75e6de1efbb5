"""Trainers that are a few lines away from correct DP-SGD, and the audits that suit them.

Read `trainer.py` first, which is right; then `clipping.py`, `noise.py` and `bookkeeping.py`, which
are not; then `adversary.py`. `cases.py` has them all, and `catching.py` beside this folder audits
them.
"""
