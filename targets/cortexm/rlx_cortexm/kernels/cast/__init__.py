"""The same numbers in another element type."""
