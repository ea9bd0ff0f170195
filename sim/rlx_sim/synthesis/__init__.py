"""Synthesis, place and route of emitted hardware."""
