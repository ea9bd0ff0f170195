"""Readers of model files. Each checks a file completely before it builds a graph.

A folder for each format; ``weights`` are files of tensors without a network.

Level 5. Public modules: ``onnx.frontend``, ``open_shapes``, ``registry``, ``tflite.flatbuffer``,
``tflite.metadata``, ``tflite.schema``, ``weights``, ``weights.loading``.
"""

from rlx.frontends.registry import Frontend, NoOptions, find, formats, frontends, load

__all__ = ["Frontend", "NoOptions", "find", "formats", "frontends", "load"]
