"""Ops of both widths on int16."""
