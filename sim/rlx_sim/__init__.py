"""Simulators, emulators and synthesis tools that run the output of targets.

Level 12.
"""
