"""Quantization by samples: ranges, widths of weights, and the report on what was lost.

The conversion itself is ``rlx.passes.quantize``.

Level 7. Public modules: ``own_scales``, ``plots``, ``quantize``, ``report``, ``settings``,
``useful``.
"""
