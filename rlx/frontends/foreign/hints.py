"""Hints for files that rlx does not read. ``{name}`` is the file's name, ``{stem}`` its stem.

The lines of Python are those of each framework's own documentation. ``samples`` are a few typical
inputs of the network, as float32 arrays without the batch axis.

Tests: tests/unit/frontends/foreign/test_foreign.py
"""

from __future__ import annotations

from typing import Final


def _tensorflow(make: str) -> str:
    return f"""convert it in Python, with typical inputs (samples), and give rlx '{{stem}}.tflite':
import tensorflow as tf
converter = {make}
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: ([x[None]] for x in samples)
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
converter.inference_input_type = converter.inference_output_type = tf.int8
open('{{stem}}.tflite', 'wb').write(converter.convert())"""


def _torch(*lines: str) -> str:
    return "\n".join(
        (
            "export it in Python, with zeros of the input's shape, and then quantize it:",
            "import torch",
            *lines,
            "$ rlx quantize {stem}.onnx --calib SAMPLES.npz -o {stem}.rlx",
        )
    )


_EXPORT: Final = "torch.onnx.export(model.eval(), (torch.zeros(1, 3, 32, 32),), '{stem}.onnx')"

KERAS: Final = _tensorflow(
    "tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model('{name}'))"
)
KERAS_WEIGHTS: Final = """load them into the network, and save that as a file of its own:
model = make_model()  # your function that makes the network
model.load_weights('{name}')
model.save('{stem}.keras')
$ rlx inspect {stem}.keras  # shows the lines that convert it"""
SAVED_MODEL: Final = _tensorflow("tf.lite.TFLiteConverter.from_saved_model('{name}')")
SAVED_MODEL_FILE: Final = _tensorflow(
    "tf.lite.TFLiteConverter.from_saved_model('.')  # the folder that '{name}' is in"
)
FROZEN_GRAPH: Final = _tensorflow(
    "tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(\n"
    "    '{name}', ['input'], ['output'])  # names of your graph"
)
STATE_DICT: Final = _torch(
    "model = Net()  # your class of the network",
    "model.load_state_dict(torch.load('{name}', weights_only=True))",
    _EXPORT,
)
TORCH: Final = _torch(
    "model = Net()  # your class of the network, with the weights of '{name}'",
    _EXPORT,
)
TORCHSCRIPT: Final = _torch(
    "model = torch.jit.load('{name}')",
    "torch.onnx.export(model.eval(), (torch.zeros(1, 3, 32, 32),), '{stem}.onnx', dynamo=False)",
)
EXPORTED_PROGRAM: Final = _torch(
    "torch.onnx.export(torch.export.load('{name}'), f='{stem}.onnx', dynamo=True)"
)
SAFETENSORS: Final = """put them into a graph that names its weights in the same way:
$ rlx import GRAPH.onnx --weights {name} -o {stem}.rlx
or load them into the network in its framework, and export that as ONNX"""
TRANSFORMERS: Final = """export it as ONNX, and give rlx the .onnx file:
$ pip install 'optimum[exporters]'
$ optimum-cli export onnx --model {name} OUT"""
CHECKPOINT: Final = (
    "load it into the network in TensorFlow, save that with model.export(FOLDER), and convert the"
    " folder with tf.lite.TFLiteConverter.from_saved_model"
)
TENSORFLOW_JS: Final = """convert it to Keras, and that to TFLite:
$ pip install tensorflowjs
$ tensorflowjs_converter --input_format=tfjs_layers_model --output_format=keras {name} {stem}.h5
$ rlx inspect {stem}.h5  # shows the lines for the second step"""
LANGUAGE_MODEL: Final = (
    "rlx compiles networks of fixed shapes for small devices; if the network is small, export it"
    " from its framework as ONNX"
)
COMPILED: Final = (
    "it was made from another file for one runtime: give that one, as .onnx or .tflite, or export"
    " the network again from the framework in which it was trained"
)
PICKLE: Final = (
    "rlx never loads pickles, which may run any program: load it in the Python program that made"
    " it, and export the network as ONNX"
)
ARRAYS: Final = (
    "arrays are data for a model: rlx run MODEL --input {name}, rlx quantize MODEL --calib {name}"
)
ARRAYS_OR_MODEL: Final = (
    "if it holds a Keras model, call it .h5 and ask again; if it holds samples, read them in Python"
    " and write them with numpy.save"
)
SAMPLES: Final = (
    "it may be data for a model, not a model: give the model's file first, and data by --input"
    " (rlx run), --vectors (rlx emit) or --calib (rlx quantize)"
)
ZIP: Final = "unpack it (python -m zipfile -e {name} .) and give the model file that was in it"
PACKED: Final = "unpack it and give the model file that was in it"
GIT_LFS: Final = "fetch the content: git lfs install, then git lfs pull, in the repository's folder"
HTML: Final = (
    "the page was saved in place of the file: download the file itself (on GitHub: 'Download raw"
    " file')"
)
PROGRAM: Final = "give the model file that it was built from, .tflite, .onnx or .rlx"
PYTHON: Final = (
    "let the program write the network as ONNX (torch.onnx.export) or TFLite, and give that file;"
    " or build it in Python with rlx.Graph and rlx.save"
)
EMITTED: Final = "run it: rlx verify {name}; to compile again give the model file"
OTHER: Final = (
    "give a .tflite, .onnx or .rlx file; if it is one under another name, name the format: --format"
    " tflite"
)
