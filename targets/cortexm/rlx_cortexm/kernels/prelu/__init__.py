"""PReLU with one slope for each channel."""
