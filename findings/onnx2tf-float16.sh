#!/bin/sh
# onnx2tf 2.6.9: NAME_float16.tflite cannot be run by LiteRT 2.1.2, which it installs.
#
# A float16 model usually stores its weights in float16, behind a DEQUANTIZE, and computes in float32, as
# TFLiteConverter writes it. onnx2tf 2.6.9 (its default backend, flatbuffer_direct) makes activations
# float16 as well, and LiteRT's kernels take float32 there: allocate_tensors() refuses the file at the
# first layer. The float32 file of the same call runs. onnx2tf reports success, exit status 0.
#
# Seen on x86-64, Python 3.12:
#   float32: runs, largest difference to ONNX Runtime below 1e-5
#   float16: RuntimeError: fully_connected.cc:221 input->type != kTfLiteFloat32 (FLOAT16 != FLOAT32)
#
# Exit status 0 while this is so, 1 as soon as it is not. Needs Python 3.12: PYTHON=python3.12 sh FILE
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3.12}" -m venv env
env/bin/pip install -q onnx2tf==2.6.9 ai-edge-litert==2.1.2 onnx==1.20.1 onnxruntime==1.26.0 numpy==2.2.6
cat > make.py <<'EOF'
import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(0)
weights = {"w": random.standard_normal((4, 8)), "b": random.standard_normal(4)}
graph = helper.make_graph(
    [helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)],
    "dense",
    [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 8])],
    [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])],
    [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, "dense.onnx")
EOF
cat > compare.py <<'EOF'
import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter

x = np.random.default_rng(1).standard_normal((1, 8)).astype(np.float32)
(wanted,) = onnxruntime.InferenceSession("dense.onnx").run(None, {"x": x})


def run(path):
    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


difference = float(abs(run("out/dense_float32.tflite") - wanted).max())
print(f"float32: runs, largest difference to ONNX Runtime {difference:.1e}")
assert difference < 1e-5
try:
    run("out/dense_float16.tflite")
except RuntimeError as error:
    print("float16: RuntimeError", error)
    assert "float32" in str(error).lower()
else:
    raise SystemExit("float16: runs; the finding does not hold any more")
EOF
env/bin/python make.py
env/bin/onnx2tf -i dense.onnx -o out > log 2>&1 || { cat log; exit 1; }
env/bin/python compare.py
