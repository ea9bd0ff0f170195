#!/bin/sh
# TensorFlow Lite Micro pads int8 SPACE_TO_BATCH_ND with a value that it does not set, LiteRT with the
# zero point.
#
# The operator pads an image before it splits it. In LiteRT 2.3.0 the padding of an int8 tensor is its
# zero point, which is the real 0. The kernel of tflite-micro 0.dev20261023182759 passes parameters to the
# shared reference code without filling in the padding value: it is whatever the arena holds there, 0 in
# a new one. With the zero point 5 a border that should be 0.0 becomes -0.5. Converters write the
# operator around dilated convolutions, where all values at the border are then off.
#
# Seen on x86-64, Python 3.11, scale 0.1 and zero point 5:
#   LiteRT:     values of the padding [5]
#   tflite-micro: values of the padding [0]
#
# Exit status 0 while this is so, 1 as soon as it is not. PYTHON=python3.11 sh FILE
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/pip install -q tflite-micro==0.dev20261023182759 ai-edge-litert==2.3.0 'backports-strenum<1.3' \
    'numpy<3' flatbuffers
cat > compare.py <<'EOF'
import flatbuffers
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

SCALE, ZERO_POINT = 0.1, 5


def tensor(shape, dtype, buffer, quantized):
    made = schema.TensorT()
    made.shape, made.type, made.buffer = shape, dtype, buffer
    if quantized:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale, made.quantization.zeroPoint = [SCALE], [ZERO_POINT]
    return made


def constant(array):
    made = schema.BufferT()
    made.data = array.tobytes()
    return made


int8, int32 = schema.TensorType.INT8, schema.TensorType.INT32
graph, operator, code = schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
graph.tensors = [
    tensor([1, 3, 3, 1], int8, 0, True),
    tensor([2], int32, 1, False),
    tensor([2, 2], int32, 2, False),
    tensor([4, 2, 2, 1], int8, 0, True),
]
operator.inputs, operator.outputs, operator.opcodeIndex = [0, 1, 2], [3], 0
graph.inputs, graph.outputs, graph.operators = [0], [3], [operator]
code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.SPACE_TO_BATCH_ND
code.version = 2
model = schema.ModelT()
model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
model.buffers = [
    schema.BufferT(),
    constant(np.array([2, 2], np.int32)),
    constant(np.array([[0, 1], [0, 1]], np.int32)),
]
builder = flatbuffers.Builder(1024)
builder.Finish(model.Pack(builder), b"TFL3")
data = bytes(builder.Output())

x = np.arange(20, 29, dtype=np.int8).reshape(1, 3, 3, 1)
lite = Interpreter(model_content=data)
lite.allocate_tensors()
lite.set_tensor(lite.get_input_details()[0]["index"], x)
lite.invoke()
micro = runtime.Interpreter.from_bytes(data)
micro.set_input(x, 0)
micro.invoke()
padding = {
    "LiteRT": lite.get_tensor(lite.get_output_details()[0]["index"]),
    "tflite-micro": micro.get_output(0),
}
padding = {name: sorted(set(y.ravel().tolist()) - set(x.ravel().tolist())) for name, y in padding.items()}
for name, values in padding.items():
    print(f"{name}: values of the padding {values}")
assert padding["LiteRT"] == [ZERO_POINT]
assert padding["tflite-micro"] != [ZERO_POINT]
EOF
env/bin/python compare.py
