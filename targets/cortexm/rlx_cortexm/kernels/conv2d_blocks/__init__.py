"""Convolutions in register blocks: two output channels by three windows."""
