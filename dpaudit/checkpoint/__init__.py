"""Audit a trained model from one run: score canaries, guess which were in, judge the guesses."""
