"""The fast forms of integer ops: the functions that their ``prepare`` returns.

They compute the same values as ``evaluate`` in other ways: sums in floating point that hold every
partial sum exactly, scaling in float64 that is proven at every step
(``rlx.ops.numerics.requantizer``), tables filled by ``evaluate`` itself. They work in blocks that
stay in the cache.
"""
