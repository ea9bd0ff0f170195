"""What can be said: every op, by level. One module for each family."""
