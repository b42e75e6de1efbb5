"""Mechanisms of the papers, a room each; found by entry points, like anybody's plug-ins."""
