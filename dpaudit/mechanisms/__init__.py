"""Mechanisms: what is audited."""
