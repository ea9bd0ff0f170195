"""The choice among designs: foldings under a budget, devices, alternatives that fit."""
