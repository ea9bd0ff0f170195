"""Model files made by hand, and damaged ones."""
