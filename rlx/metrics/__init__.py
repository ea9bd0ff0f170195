"""Networks on many samples: outputs, classes, accuracy, and errors layer by layer.

Two networks are compared here, each of them a graph, a file, or arrays.

Level 6. Public modules: ``classes``, ``compare``, ``comparison``, ``comparison_result``,
``criteria``, ``figures``, ``histogram``, ``inference``, ``inference.accuracy``, ``inference.data``,
``layer_match``, ``quantization_file``, ``runner``, ``spread``.
"""
