"""Matrix products of float32 with bias, addend and activation."""
