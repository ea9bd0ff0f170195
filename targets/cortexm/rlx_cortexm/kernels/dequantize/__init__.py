"""Real numbers of quantized values."""
