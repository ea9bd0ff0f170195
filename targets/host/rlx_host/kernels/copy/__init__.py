"""Values copied to other places: concat, pad, reshape, slice, transpose."""
