"""Changes to the inputs of a graph: bound symbols, batches, frozen parameters."""
