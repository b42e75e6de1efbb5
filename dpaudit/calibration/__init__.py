"""Calibration: the false-alarm rate of each bound on mechanisms of known epsilon."""
