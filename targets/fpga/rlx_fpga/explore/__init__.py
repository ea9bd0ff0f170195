"""The choice among designs: foldings under a budget, devices, what would fit instead."""
