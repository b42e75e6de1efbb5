"""Estimators: error counts or scores to a lower bound on epsilon."""
