"""The same values in another element type."""
