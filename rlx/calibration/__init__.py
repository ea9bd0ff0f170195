"""Running float networks over data to quantize them, and to see what that costs."""
