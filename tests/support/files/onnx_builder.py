"""Small ONNX models for tests."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from rlx.frontends.onnx import frontend
from rlx.ir.evaluate import evaluate

OPSET = 21


def value(name, shape, dtype=np.float32):
    """Return the description of an input or output; None leaves its shape out."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),
                                         shape)  # fmt: skip


def model(nodes, inputs, outputs, constants=None, *, opset=OPSET, functions=(), domains=()):
    """Return the bytes of a model.

    Args:
        nodes: Its nodes.
        inputs: Shape, or shape and dtype, of each input by name.
        outputs: The same of outputs.
        constants: Arrays by name.
        opset: Version of the operators.
        functions: Functions that it defines.
        domains: Domains of these.
    """

    def listed(infos):
        pairs = {n: s if isinstance(s, tuple) else (s, np.float32) for n, s in infos.items()}
        return [value(n, *s) for n, s in pairs.items()]

    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "net", listed(inputs), listed(outputs), tensors)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)
    return made.SerializeToString()


def node(type_, inputs, outputs="y", **attributes):
    """Return a node; names are separated by blanks, ``_`` is left out."""
    split = [["" if n == "_" else n for n in text.split()] for text in (inputs, outputs)]
    return helper.make_node(type_, *split, **attributes)


def load(data, **options):
    """Return the graph of a model's bytes."""
    from rlx.frontends.onnx.options import OnnxOptions

    return frontend.load(data, name="net.onnx", options=OnnxOptions(**options)).graph


def run(data, *arrays):
    """Return the outputs of the imported graph."""
    graph = load(data)
    return evaluate(graph, {i.name: a for i, a in zip(graph.inputs, arrays, strict=True)})


def by_runtime(data, *arrays):
    """Return the outputs that ONNX Runtime computes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))


__all__ = ["by_runtime", "helper", "load", "model", "node", "onnx", "run", "value"]
