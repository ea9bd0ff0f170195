"""Dataflow: a unit for each layer, folded to fit, all working at the same time."""
