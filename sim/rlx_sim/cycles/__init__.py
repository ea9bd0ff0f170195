"""Modelled cycles on a Cortex-M: timings as data, applied to traces of basic blocks."""
