"""Functions of one value, as a table of all 256 results."""
