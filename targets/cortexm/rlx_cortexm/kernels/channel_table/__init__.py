"""Functions that differ by channel, as a table of 256 results for each."""
