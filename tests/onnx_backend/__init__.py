"""rlx as a backend of ``onnx.backend.test``: the node cases that come with the package onnx."""
