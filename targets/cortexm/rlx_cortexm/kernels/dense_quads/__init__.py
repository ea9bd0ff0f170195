"""Dense layers on codes that are unpacked once."""
