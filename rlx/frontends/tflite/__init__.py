"""TensorFlow Lite files."""
