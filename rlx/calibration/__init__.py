"""Quantization by samples: ranges, widths of weights, and the report on the losses.

The conversion itself is ``rlx.passes.quantize``.

Level 7. Public modules: ``own_scales``, ``plots``, ``quantize``, ``report``, ``settings``,
``useful``.
"""
