"""Judgements of a journal: which attacks and estimators decide, and what follows."""
