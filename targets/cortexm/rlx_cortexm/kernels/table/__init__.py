"""Functions of one code as a table of all 256."""
