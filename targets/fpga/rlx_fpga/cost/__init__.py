"""Resources that hardware uses on a device: memories, logic cells, DSP slices."""
