"""Dense layers on values that are unpacked once."""
