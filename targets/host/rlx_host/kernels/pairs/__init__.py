"""Functions of two int8 values, looked up in a table of all pairs."""
