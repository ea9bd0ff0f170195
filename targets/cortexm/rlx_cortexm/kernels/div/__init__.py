"""Elementwise quotients."""
