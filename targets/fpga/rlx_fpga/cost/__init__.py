"""Resources that hardware takes of a device: memories, logic cells, DSP slices."""
