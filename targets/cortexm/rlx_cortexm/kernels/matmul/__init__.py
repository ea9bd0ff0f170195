"""Products of two computed matrices."""
