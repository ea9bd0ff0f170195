"""Functions of two float operands, element by element."""
