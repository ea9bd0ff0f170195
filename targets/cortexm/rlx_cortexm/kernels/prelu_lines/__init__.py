"""PReLU as a line on each side of zero."""
