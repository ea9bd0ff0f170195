"""Average and max pools with MVE."""
