"""Depthwise convolutions on planes of 16 bits."""
