"""What a compiled graph needs and does on this machine: memory, lower bounds of time, times."""
