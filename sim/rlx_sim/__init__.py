"""Runs what a target emitted and gives arrays and counts back."""
