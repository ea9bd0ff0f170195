"""Memory, lower bounds of time and measured times of a compiled graph on this machine."""
