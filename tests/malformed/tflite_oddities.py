"""More builders of model files with one defect: works of many operators, legal oddities."""

from __future__ import annotations

from typing import Any

import numpy as np

from malformed.tflite_models import (
    CODES,
    B,
    X,
    changed,
    set_data,
    sound_model,
)
from support.files.tflite_builder import TfliteBuilder, pack, schema, unpack


def sum_of(code: str, first: float, second: float, result: float, **options: Any) -> bytes:
    """Return a model of one operator with two inputs and these three scales."""
    model = TfliteBuilder()
    given = [model.tensor((1, 3), scale=s, name=f"x{i}") for i, s in enumerate((first, second))]
    made = model.tensor((1, 3), scale=result, name="y")
    model.operator(code, given, [made], **options)
    return model.build(given, [made])


def accumulator(zero_point: int) -> bytes:
    """Return the sound model whose accumulators leave int32 only by the input's zero point."""
    edge = 2**31 - 1 - 18 * 128
    data = set_data(B, np.full(3, edge, "<i4").tobytes())
    model = unpack(data)
    model.subgraphs[0].tensors[X].quantization.zeroPoint = np.array([zero_point], np.int64)
    return pack(model)


def pool(
    code: str,
    size: tuple[int, int],
    kernel: tuple[int, int],
    out: tuple[int, int] | None = None,
    padding: str = "SAME",
    strideH: int = 1,  # noqa: N803 - the schema's spelling
) -> bytes:
    """Return a pool of one channel; ``out`` is the result's size if it is another one."""
    model = TfliteBuilder()
    x = model.tensor((1, *size, 1), name="x", **CODES)
    y = model.tensor((1, *(out or size), 1), name="y", **CODES)
    model.operator(
        code, [x], [y], padding=padding, strideH=strideH, strideW=1,
        filterHeight=kernel[0], filterWidth=kernel[1],
    )  # fmt: skip
    return model.build([x], [y])


def chain(code: str, count: int, widths: list[list[int]] | None = None) -> bytes:
    """Return ``count`` operators in a row; a padding grows its rows every time."""
    model = TfliteBuilder()
    x = last = model.tensor((1, 3), name="x", **CODES)
    extra = [] if widths is None else [model.constant(np.array(widths, np.int32), name="widths")]
    columns = 3
    for index in range(count):
        columns += 0 if widths is None else sum(widths[1])
        made = model.tensor((1, columns), name=f"y{index}", **CODES)
        model.operator(code, [last, *extra], [made])
        last = made
    return model.build([x], [last])


def doubled_shape(times: int) -> bytes:
    """Return a list of dimensions that is joined with itself again and again."""
    model = TfliteBuilder()
    x, y = (model.tensor((1, 3), name=n, **CODES) for n in "xy")
    numbers, count = model.tensor((2,), "int32", name="shape"), 2
    model.operator("SHAPE", [x], [numbers])
    for index in range(times):
        count *= 2
        joined = model.tensor((count,), "int32", name=f"shape{index}")
        model.operator("CONCATENATION", [numbers, numbers], [joined], axis=0)
        numbers = joined
    model.operator("RESHAPE", [x, numbers], [y])
    return model.build([x], [y])


def set_split_count(count: int) -> bytes:
    """Return a split that claims ``count`` parts."""
    model = TfliteBuilder()
    axis = model.constant(np.array(1, np.int32), name="axis")
    x, y = (model.tensor((2, 4), name=n, **CODES) for n in "xy")
    model.operator("SPLIT", [axis, x], [y], numSplits=count)
    return model.build([x], [y])


def wide(outputs: int) -> bytes:
    """Return a dense layer with one input and many outputs."""
    model = TfliteBuilder()
    x = model.tensor((1, 1), name="x", **CODES)
    w = model.constant(np.ones((outputs, 1), np.int8), scale=0.5, name="w")
    y = model.tensor((1, outputs), name="y", **CODES)
    model.operator("FULLY_CONNECTED", [x, w], [y])
    return model.build([x], [y])


def shared_weights(layers: int, size: int = 256) -> bytes:
    """Return dense layers in a row that share weights and bias."""
    model = TfliteBuilder()
    x = last = model.tensor((1, size), name="x", **CODES)
    w = model.constant(np.ones((size, size), np.int8), scale=0.5, name="w")
    b = model.constant(np.zeros(size, np.int32), scale=0.25, name="b")
    for index in range(layers):
        made = model.tensor((1, size), name=f"y{index}", **CODES)
        model.operator("FULLY_CONNECTED", [last, w, b], [made])
        last = made
    return model.build([x], [last])


def bare_options(code: str, out: tuple[int, ...] = (2, 3)) -> bytes:
    """Return an operator with two inputs and without its table of options."""
    model = TfliteBuilder()
    given = [model.tensor((2, 3), name=n, **CODES) for n in "ab"]
    made = model.tensor(out, name="y", **CODES)
    model.operator(code, given, [made])
    operator = model.graph.operators[0]
    operator.builtinOptions, operator.builtinOptionsType = None, 0
    return model.build(given, [made])


def broken_name() -> bytes:
    """Return the sound model with bytes in a name that are not UTF-8."""
    return sound_model().replace(b"pooled", b"p\xff\xfe\x80ed")


def unnamed() -> bytes:
    """Return the sound model without names."""

    def change(_: Any, graph: Any) -> None:
        for tensor in graph.tensors:
            tensor.name = None
        graph.name = None

    return changed(change)


def with_tensor(scale: float | None = None, **fields: Any) -> bytes:
    """Return the sound model with one more tensor, which nothing reads."""

    def change(_: Any, graph: Any) -> None:
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.name = np.array([2], np.int32), 9, "unused"
        tensor.quantization = schema.QuantizationParametersT()
        if scale is not None:
            tensor.quantization.scale = np.array([scale], np.float32)
            tensor.quantization.zeroPoint = np.array([0], np.int64)
        for name, value in fields.items():
            setattr(tensor, name, value)
        graph.tensors.append(tensor)

    return changed(change)


def with_code() -> bytes:
    """Return the sound model with an operator code that nothing uses."""

    def change(model: Any, _: Any) -> None:
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.customCode = 32, 32, "unused"
        model.operatorCodes.append(code)

    return changed(change)


def with_metadata() -> bytes:
    """Return the sound model with metadata and a signature."""

    def change(model: Any, _: Any) -> None:
        entry = schema.MetadataT()
        entry.name, entry.buffer = "min_runtime_version", 0
        model.metadata, model.metadataBuffer = [entry], [0]
        signature, given, made = schema.SignatureDefT(), schema.TensorMapT(), schema.TensorMapT()
        given.name, given.tensorIndex, made.name, made.tensorIndex = "x", X, "y", 10
        signature.inputs, signature.outputs = [given], [made]
        signature.signatureKey, signature.subgraphIndex = "serving_default", 0
        model.signatureDefs = [signature]

    return changed(change)


def set_versions(version: int) -> bytes:
    """Return the sound model with another version of every operator."""

    def change(model: Any, _: Any) -> None:
        for code in model.operatorCodes:
            code.version = version

    return changed(change)


def deprecated_codes() -> bytes:
    """Return the sound model with the old field for operator codes only."""

    def change(model: Any, _: Any) -> None:
        for code in model.operatorCodes:
            code.deprecatedBuiltinCode, code.builtinCode = code.builtinCode, 0

    return changed(change)


def variable(
    *,
    initial: tuple[int, ...] | None = (7, 7, 7),
    extra: str | None = None,
    called: int = 1,
    late: bool = False,
    assigned: bool = True,
    shape: tuple[int, ...] = (1, 3),
    scale: float = CODES["scale"],
    dtype: str = "int8",
    handle: bool = True,
) -> bytes:
    """Return a sum with what a resource variable keeps, as converters of streaming models write."""
    model = TfliteBuilder()
    x = model.tensor(shape, name="x", **CODES)
    kept = model.tensor((1, 3), dtype, name="kept", **CODES)
    y = model.tensor(shape, name="y", **{**CODES, "scale": scale})
    name = model.tensor((), "RESOURCE", name="handle")
    steps: list[tuple[str, list[int], list[int], dict[str, object]]] = [
        ("CALL_ONCE", [], [], {"initSubgraphIndex": called}),
        ("VAR_HANDLE", [], [name], {"sharedName": "v", "container": ""}),
        ("READ_VARIABLE", [name if handle else x], [kept], {}),
        ("ADD", [x, kept], [y], {}),
        ("ASSIGN_VARIABLE", [name, y], [], {}),
    ]
    if late:
        steps.append(steps.pop(0))
    for code, inputs, outputs, options in steps if assigned else steps[:-1]:
        model.operator(code, inputs, outputs, **options)
    main = model.graph
    model.graph = model.subgraph("init")
    value = model.tensor((3,), name="begin", data=None if initial is None else np.int8(initial))
    if extra is not None:
        model.operator(extra, [value], [model.tensor((3,), name="z")])
    name = model.tensor((), "RESOURCE", name="handle")
    model.operator("VAR_HANDLE", [], [name], sharedName="v", container="")
    model.operator("ASSIGN_VARIABLE", [name, value], [])
    model.graph = main
    return model.build([x], [y])


def no_outputs(code: str) -> bytes:
    """Return a model with an operator that writes nothing."""
    model = TfliteBuilder()
    x, y = (model.tensor((1, 3), name=n, **CODES) for n in "xy")
    model.operator(code, [x], [], custom_code="Print" if code == "CUSTOM" else None)
    model.operator("RELU", [x], [y])
    return model.build([x], [y])


def variable_output() -> bytes:
    """Return a model that gives out a variable that nothing writes."""
    model = TfliteBuilder()
    x, state, y = (model.tensor((1, 3), name=n, **CODES) for n in ("x", "state", "y"))
    model.graph.tensors[state].isVariable = True
    model.operator("RELU", [x], [y])
    return model.build([x], [state])
