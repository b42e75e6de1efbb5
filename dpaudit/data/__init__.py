"""Data sets, each split into a pool for D, a disjoint pool for shadow models and a test set."""
