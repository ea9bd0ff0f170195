"""Simulators, emulators and synthesis tools that run what a target emitted.

Level 12.
"""
