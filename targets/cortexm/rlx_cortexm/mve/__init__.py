"""What the kernels for the vector extension MVE (Helium) share: orders of weights, factors."""
