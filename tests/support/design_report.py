"""A report of a design that no solver made, for tests of what stands around a core."""

TOTALS = {
    "columns": ["name", "op", "cycles"],
    "device": "ecp5-25k",
    "clock_mhz": 75.0,
    "fps": 1.5,
    **{"lut": 100, "ff": 90, "dsp": 2, "bram": 1},
    **{"lut_percent": 0.4, "ff_percent": 0.4, "dsp_percent": 7.1, "bram_percent": 1.8},
}
"""Entries of every report beside ``interval`` and ``layers``."""
