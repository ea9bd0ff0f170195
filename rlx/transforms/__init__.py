"""Changes of what a graph takes: bound symbols, batches, frozen parameters."""
