"""Average and max pools."""
