"""Proofs by induction that the small cells are correct for all inputs and pauses."""
