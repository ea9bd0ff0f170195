"""Small files that ask for much: depth, width, memory, time."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import malformed.tflite_models as made
import numpy as np

from campaign import corpus
from campaign.sealed import sealed_document
from support.files.tflite_builder import TfliteBuilder, pack, schema, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEPTH: Final = 10_000
WIDTH: Final = 65_536
HUGE: Final = 2**31 - 1
SIDE: Final = 16_384
"""A square of this side has as many elements as a tensor may have."""
GIANT: Final = 46_340
"""A square of this side has just under 2^31 elements."""

_CODES: Final = made.CODES


def chain(
    code: str, *constants: Any, shape: tuple[int, ...] = (1, 2, 2, 2), **options: Any
) -> bytes:
    """Return 10,000 operators of one kind, one behind the other; constants are shared."""
    model = TfliteBuilder()
    codes = {"scale": 1 / 256, "zero_point": -128}
    shared = [_constant(model, c) for c in constants]
    value = first = model.tensor(shape, name="x", **codes)
    for _ in range(DEPTH):
        given, value = value, model.tensor(shape, name="", **codes)
        model.operator(
            code, [given, *(given if s is None else s for s in shared)], [value], **options
        )
    return model.build([first], [value])


def _constant(model: TfliteBuilder, value: Any) -> int | None:
    """Return the tensor of a constant; None means the value itself as second operand."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype == np.int8:
        scale = [0.5] * len(array) if array.ndim == 4 else 0.5
        return model.constant(array, scale=scale)
    return model.constant(array.astype(np.int32))


def wide(*, inputs: int = 1, outputs: int = 1, tensors: int = 0) -> bytes:
    """Return many inputs, each with an operator, outputs, or tensors that nothing reads."""
    model = TfliteBuilder()
    x = [model.tensor((1, 2), name="", **_CODES) for _ in range(inputs)]
    y = [model.tensor((1, 2), name="", **_CODES) for _ in range(max(inputs, outputs))]
    for _ in range(tensors):
        model.tensor((1, 2), name="", **_CODES)
    for place, value in enumerate(y):
        model.operator("RELU", [x[place % inputs]], [value])
    return model.build(x, y[:outputs])


def concatenation(operands: int) -> bytes:
    """Return a concatenation of one value with itself, many times."""
    model = TfliteBuilder()
    x = model.tensor((1, 1), name="x", **_CODES)
    y = model.tensor((1, operands), name="y", **_CODES)
    model.operator("CONCATENATION", [x] * operands, [y], axis=1)
    return model.build([x], [y])


def parts(count: int) -> bytes:
    """Return a value unpacked into its elements."""
    model = TfliteBuilder()
    x = model.tensor((count, 1), name="x", **_CODES)
    y = [model.tensor((1,), name="", **_CODES) for _ in range(count)]
    model.operator("UNPACK", [x], y, num=count, axis=0)
    return model.build([x], y)


def conv(kind: str, *, image: int = 4, kernel: int = 1, out: int = 4, **options: Any) -> bytes:
    """Return a convolution with extreme numbers."""
    model = TfliteBuilder()
    x = model.tensor((1, image, image, 1), name="x", **_CODES)
    w = model.constant(np.ones((1, kernel, kernel, 1), np.int8), scale=[0.5], name="w")
    y = model.tensor((1, out, out, 1), name="y", **_CODES)
    model.operator(kind, [x, w, -1], [y], **{"strideH": 1, "strideW": 1, **options})
    return model.build([x], [y])


def transposed(side: int, stride: int) -> bytes:
    """Return a transposed convolution of one element to a square."""
    model = TfliteBuilder()
    shape = model.constant(np.array([1, side, side, 1], np.int32), name="shape")
    w = model.constant(np.ones((1, 1, 1, 1), np.int8), scale=[0.5], name="w")
    x = model.tensor((1, 1, 1, 1), name="x", **_CODES)
    y = model.tensor((1, side, side, 1), name="y", **_CODES)
    model.operator(
        "TRANSPOSE_CONV", [shape, w, x], [y], strideH=stride, strideW=stride, padding="SAME"
    )
    return model.build([x], [y])


def pool(code: str, image: int = 4, out: int = 4, **options: Any) -> bytes:
    """Return a pool with extreme numbers."""
    numbers = {"filterHeight": 1, "filterWidth": 1, "strideH": 1, "strideW": 1, **options}
    return made.one(code, (1, image, image, 1), (1, out, out, 1), **numbers)


def pads(rounds: int) -> bytes:
    """Return paddings that double a square, again and again."""
    model = TfliteBuilder()
    side = 1
    first = value = model.tensor((1, 1, 1, 1), name="x", **_CODES)
    for _ in range(rounds):
        widths = model.constant(np.array([[0, 0], [0, side], [0, side], [0, 0]], np.int32))
        side *= 2
        given, value = value, model.tensor((1, side, side, 1), name="", **_CODES)
        model.operator("PAD", [given, widths], [value])
    return model.build([first], [value])


def doubled(rounds: int) -> bytes:
    """Return concatenations of a value with itself: each doubles it."""
    model = TfliteBuilder()
    first = value = model.tensor((1, 1), name="x", **_CODES)
    for number in range(rounds):
        given, value = value, model.tensor((1, 2 << number), name="", **_CODES)
        model.operator("CONCATENATION", [given, given], [value], axis=1)
    return model.build([first], [value])


def shared_weights(layers: int, side: int) -> bytes:
    """Return dense layers that all read the same weights."""
    model = TfliteBuilder()
    w = model.constant(np.ones((side, side), np.int8), scale=0.5, name="w")
    first = value = model.tensor((1, side), name="x", **_CODES)
    for _ in range(layers):
        given, value = value, model.tensor((1, side), name="", **_CODES)
        model.operator("FULLY_CONNECTED", [given, w, -1], [value])
    return model.build([first], [value])


def many(field: str, make: Callable[[], Any]) -> bytes:
    """Return the sound model with 65,536 more tables in a field of its root."""
    model = unpack(made.sound_model())
    setattr(model, field, [*(getattr(model, field) or ()), *(make() for _ in range(WIDTH))])
    return pack(model)


def nested_table() -> bytes:
    """Return a tensor whose list of tensors holds itself."""
    surgeon = made.Surgeon()
    start = len(surgeon.data) + -len(surgeon.data) % 4
    surgeon.data += bytes(start - len(surgeon.data))
    # A vtable of eight fields, the last one variant_tensors, whose only element is the table.
    vtable = struct.pack("<HH10H", 24, 8, *([0] * 9), 4)
    surgeon.data += vtable
    table = start + len(vtable)
    surgeon.data += struct.pack("<iIIi", len(vtable), 4, 1, 0)
    struct.pack_into("<I", surgeon.data, table + 12, (table - table - 12) & 0xFFFFFFFF)
    place = surgeon.vector(surgeon.graph, 0) + 4
    return surgeon.put32(place, table - place)


def npy(shape: str, data: bytes = b"", dtype: str = "|i1") -> bytes:
    """Return a ``.npy`` file whose header says what it likes."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x02\0" + struct.pack("<I", len(header)) + header + data


def npz(claimed: int) -> bytes:
    """Return a ``.npz`` file of zeros that unpacks to ``claimed`` MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    head = npy(f"({claimed << 20},)")
    size = len(head) + (claimed << 20)
    start = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = start.compress(head) + start.flush(zlib.Z_FULL_FLUSH) + block * claimed + b"\3\0"
    name = b"x.npy"
    fields = struct.pack("<5H3I2H", 20, 0, 8, 0, 33, 0, len(packed), size, len(name), 0)
    local = b"PK\3\4" + fields + name + packed
    central = b"PK\1\2" + struct.pack("<H", 20) + fields + bytes(14) + name
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def many_members() -> bytes:
    """Return a ``.npz`` file of 65,536 arrays."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(WIDTH - 1):
            archive.writestr(f"{number}.npy", npy("(1,)", b"\0"))
    return stream.getvalue()


def rlx(header: bytes, length: int | None = None) -> bytes:
    """Return a safetensors file with a header as it is given."""
    return struct.pack("<Q", len(header) if length is None else length) + header


def rlx_document(text: str) -> bytes:
    """Return a ``.rlx`` file with a text in the place of its document."""
    content = json.dumps(
        {"__metadata__": {"rlx": f'{{"version":1,"sha256":"","document":{text}}}'}}
    )
    return rlx(content.encode())


def resealed(change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the ``.rlx`` file of a clamp with a changed document and a right checksum."""
    return sealed_document(corpus.rlx_files()[-3], change)


def _set_shape(document: dict[str, Any], shape: list[int]) -> None:
    for node in document["nodes"]:
        for type_ in node["types"]:
            type_["shape"] = shape


def _repeat_node(document: dict[str, Any]) -> None:
    """Make a chain of the last node."""
    nodes = document["nodes"]
    for _ in range(DEPTH):
        nodes.append({**nodes[-1], "operands": [[len(nodes) - 1, 0]]})
    document["outputs"] = [[len(nodes) - 1, 0]]


PROBABILITY = {"scale": 1 / 256, "zero_point": -128}
ONE = np.ones((2, 1, 1, 2), np.int8)
SQUARE = (1, SIDE, SIDE, 1)
WIDTHS = [[0, 0], [0, SIDE - 1], [0, SIDE - 1], [0, 0]]

BOMBS: Final[Mapping[str, Callable[[], bytes]]] = {
    **{
        f"depth {name}.tflite": make
        for name, make in {
            "relu": partial(chain, "RELU"),
            "relu6": partial(chain, "RELU6"),
            "add": partial(chain, "ADD", None),
            "mul": partial(chain, "MUL", np.ones((2,), np.int8)),
            "maximum": partial(chain, "MAXIMUM", None),
            "max pool": partial(
                chain, "MAX_POOL_2D", filterHeight=1, filterWidth=1, strideH=1, strideW=1
            ),
            "average pool": partial(
                chain, "AVERAGE_POOL_2D", filterHeight=1, filterWidth=1, strideH=1, strideW=1
            ),
            "dense": partial(chain, "FULLY_CONNECTED", np.ones((2, 2), np.int8), shape=(1, 2)),
            "conv": partial(chain, "CONV_2D", ONE, strideH=1, strideW=1),
            "logistic": partial(chain, "LOGISTIC"),
            "softmax": partial(chain, "SOFTMAX", shape=(1, 2), beta=1.0),
            "reshape": partial(chain, "RESHAPE", [1, 2, 2, 2]),
            "transpose": partial(chain, "TRANSPOSE", [0, 2, 1, 3]),
            "concatenation": partial(chain, "CONCATENATION", axis=3),
            "pad": partial(chain, "PAD", [[0, 0]] * 4),
            "quantize": partial(chain, "QUANTIZE"),
        }.items()
    },
    "width inputs.tflite": partial(wide, inputs=WIDTH, outputs=WIDTH),
    "width outputs.tflite": partial(wide, outputs=WIDTH),
    "width tensors.tflite": partial(wide, tensors=WIDTH),
    "width operands.tflite": partial(concatenation, WIDTH),
    "width parts.tflite": partial(parts, WIDTH),
    "width channels.tflite": partial(made.one, "RELU", (1, 1, 1, WIDTH), (1, 1, 1, WIDTH)),
    "width classes.tflite": partial(
        made.one, "SOFTMAX", (1, WIDTH), (1, WIDTH), y=PROBABILITY, beta=1.0
    ),
    "width rank.tflite": partial(made.one, "RELU", (1,) * WIDTH, (1,) * WIDTH),
    "width buffers.tflite": partial(many, "buffers", schema.BufferT),
    "width codes.tflite": partial(many, "operatorCodes", schema.OperatorCodeT),
    "width signatures.tflite": partial(many, "signatureDefs", schema.SignatureDefT),
    "width metadata.tflite": partial(many, "metadata", schema.MetadataT),
    "memory relu.tflite": partial(made.one, "RELU", SQUARE, SQUARE),
    "memory giant relu.tflite": partial(
        made.one, "RELU", (1, GIANT, GIANT, 1), (1, GIANT, GIANT, 1)
    ),
    "memory giant pad.tflite": partial(
        made.one, "PAD", (1, 1, 1, 1), (1, GIANT, GIANT, 1),
        [[0, 0], [0, GIANT - 1], [0, GIANT - 1], [0, 0]],
    ),
    "memory batch.tflite": partial(made.one, "RELU", (HUGE, 1), (HUGE, 1)),
    "memory pad.tflite": partial(made.one, "PAD", (1, 1, 1, 1), SQUARE, WIDTHS),
    "memory pad 4096.tflite": partial(
        made.one, "PAD", (1, 1, 1, 16), (1, 4096, 4096, 16), [[0, 0], [0, 4095], [0, 4095], [0, 0]]
    ),
    "memory pads.tflite": partial(pads, 14),
    "memory doubled.tflite": partial(doubled, 24),
    "memory broadcast.tflite": partial(made.two, "ADD", (1, SIDE, 1, 1), (1, 1, SIDE, 1), SQUARE),
    "memory broadcast 4096.tflite": partial(
        made.two, "MUL", (1, 4096, 1, 1), (1, 1, 4096, 1), (1, 4096, 4096, 1)
    ),
    "memory broadcast to.tflite": partial(
        made.one, "BROADCAST_TO", (1, 1, 1, 1), SQUARE, [1, SIDE, SIDE, 1]
    ),
    "memory tile.tflite": partial(made.one, "TILE", (1, 1, 1, 1), SQUARE, [1, SIDE, SIDE, 1]),
    "memory resize.tflite": partial(
        made.one, "RESIZE_NEAREST_NEIGHBOR", (1, 1, 1, 1), SQUARE, [SIDE, SIDE]
    ),
    "memory transposed.tflite": partial(transposed, SIDE, SIDE),
    "memory transpose.tflite": partial(
        made.one, "TRANSPOSE", (1, 16384, 16384), (1, 16384, 16384), [0, 2, 1]
    ),
    "memory mean.tflite": partial(made.one, "MEAN", SQUARE, (1, 1), [1, 2]),
    "memory reshape.tflite": partial(made.one, "RESHAPE", SQUARE, (SIDE, SIDE), [SIDE, SIDE]),
    "memory weights.tflite": partial(shared_weights, 5_000, 512),
    "number dilation.tflite": partial(
        conv, "CONV_2D", kernel=2, dilationHFactor=1 << 30, dilationWFactor=1 << 30
    ),
    "number dilation depthwise.tflite": partial(
        conv, "DEPTHWISE_CONV_2D", kernel=2, depthMultiplier=1,
        dilationHFactor=HUGE, dilationWFactor=HUGE,
    ),
    "number stride.tflite": partial(conv, "CONV_2D", out=1, strideH=HUGE, strideW=HUGE),
    "number multiplier.tflite": partial(conv, "DEPTHWISE_CONV_2D", depthMultiplier=HUGE),
    "number stride transposed.tflite": partial(transposed, 4, HUGE),
    "number filter average.tflite": partial(
        pool, "AVERAGE_POOL_2D", filterHeight=HUGE, filterWidth=HUGE
    ),
    "number filter maximum.tflite": partial(
        pool, "MAX_POOL_2D", filterHeight=HUGE, filterWidth=HUGE
    ),
    "number filter 3000.tflite": partial(
        pool, "AVERAGE_POOL_2D", image=64, out=64, filterHeight=3000, filterWidth=3000
    ),
    "number stride pool.tflite": partial(pool, "MAX_POOL_2D", out=1, strideH=HUGE, strideW=HUGE),
    "number axis.tflite": partial(made.two, "CONCATENATION", (1, 2), (1, 2), (1, 4), axis=HUGE),
    "number beta.tflite": partial(
        made.one, "SOFTMAX", (1, 2), (1, 2), y=PROBABILITY, beta=3e38
    ),
    "number alpha.tflite": partial(made.one, "LEAKY_RELU", (1, 2), (1, 2), alpha=3e38),
    "number slice.tflite": partial(
        made.one, "STRIDED_SLICE", (4, 6), (1, 1), [-HUGE, -HUGE], [HUGE, HUGE], [HUGE, HUGE]
    ),
    "number padding.tflite": partial(
        made.one, "PAD", (1, 1), (1, 1), [[HUGE, HUGE], [HUGE, HUGE]]
    ),
    "table overlapping.tflite": made.overlapping,
    "table in itself.tflite": nested_table,
    "header 2^40 bytes.rlx": partial(rlx, b"{}", 1 << 40),
    "header 2^31 bytes.rlx": partial(rlx, b"{}", 1 << 31),
    "header nested.rlx": partial(rlx, b'{"a":' * 200_000),
    "header keys.rlx": partial(
        rlx, json.dumps({f"k{k}": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}
                         for k in range(WIDTH)}).encode()
    ),
    "header tensor of 2^40.rlx": partial(
        rlx, b'{"a":{"dtype":"I8","shape":[1099511627776],"data_offsets":[0,1099511627776]}}'
    ),
    "document nested.rlx": partial(rlx_document, "[" * 500_000 + "]" * 500_000),
    "document digits.rlx": partial(rlx_document, "9" * 1_000_000),
    "document keys.rlx": partial(rlx_document, json.dumps(dict.fromkeys(map(str, range(WIDTH))))),
    "document shape.rlx": partial(resealed, partial(_set_shape, shape=[1, HUGE])),
    "document sizes.rlx": partial(resealed, partial(_set_shape, shape=[HUGE] * 64)),
    "document rank.rlx": partial(resealed, partial(_set_shape, shape=[1] * WIDTH)),
    "document depth.rlx": partial(resealed, _repeat_node),
    "2^62 elements.npy": partial(npy, f"({1 << 62},)"),
    "2^36 elements.npy": partial(npy, f"({1 << 36},)"),
    "frames of nothing.npy": partial(npy, f"({1 << 40}, 0)"),
    "rank.npy": partial(npy, f"({'1,' * 200})", b"\0"),
    "nested.npy": partial(npy, "(" * 20_000),
    "3 GB in 3 MB.npz": partial(npz, 3000),
    "members.npz": many_members,
}  # fmt: skip
"""By the name of the file; the end of it says which reader it is for."""
