"""Proofs of the small cells: what they promise for all inputs and pauses, by induction."""
