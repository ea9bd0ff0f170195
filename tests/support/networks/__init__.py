"""Networks that many tests use."""
