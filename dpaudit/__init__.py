"""dpaudit tells how much anything that claims differential privacy provably leaks."""
