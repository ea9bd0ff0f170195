"""Float networks for two engines: as a graph of rlx and as an ONNX model, of equal weights."""
