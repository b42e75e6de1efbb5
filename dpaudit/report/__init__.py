"""What an audit found, for a terminal and for a machine."""
