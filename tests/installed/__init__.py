"""Pages of the documentation, run by the wheel alone as a reader runs them."""
