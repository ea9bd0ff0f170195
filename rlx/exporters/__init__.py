"""Integer networks written in the formats of other programs: ``.tflite`` and ``.onnx``."""
