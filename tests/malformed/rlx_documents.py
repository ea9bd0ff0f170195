"""``.rlx`` files whose graph was edited and whose checksum is right again."""

from __future__ import annotations

import numpy as np

from malformed.case import Accepted, Case, Refused
from malformed.rlx_models import changed, edited, op, sound_file
from rlx.support.errors import FrontendError, VerifyError

CASES: dict[str, Case] = {
    "stage unknown": Refused(
        lambda: edited("stage", value={"@": "xir"}),
        FrontendError,
        "document",
        "stage must be one of hir, mir, lir, got xir",
    ),
    "stage with a plan missing": Refused(
        lambda: edited("stage", value={"@": "lir"}),
        VerifyError,
        "graph",
        "stage lir needs a memory plan",
    ),
    "field unknown": Refused(
        lambda: edited("extra", value=1),
        FrontendError,
        "document",
        "extra is unknown; _Document has stage, name, nodes, outputs, output_names, plan",
    ),
    "nodes are a number": Refused(
        lambda: edited("nodes", value=3),
        FrontendError,
        "document",
        "nodes must be a list, each item _Node(...), got 3",
    ),
    "node is a string": Refused(
        lambda: edited("nodes", 0, value="x"),
        FrontendError,
        "document",
        "nodes[0] must be _Node(...), got 'x'",
    ),
    "op unknown": Refused(
        lambda: op("q.conv2d", "@", value="q.conv9d"),
        FrontendError,
        "node 3",
        "no op is called 'q.conv9d'",
    ),
    "op of another class": Refused(
        lambda: op("q.reshape", "@", value="q.softmax"),
        FrontendError,
        "node 5",
        "q.softmax: shape is unknown; QSoftmax has multiplier, left_shift, diff_min",
    ),
    "attribute missing": Refused(
        lambda: changed(lambda _, d: d["nodes"][3]["op"].pop("zero_point")),
        FrontendError,
        "node 3",
        "q.conv2d: zero_point is missing",
    ),
    "attribute unknown": Refused(
        lambda: op("q.conv2d", "colour", value=1),
        FrontendError,
        "node 3",
        (
            "q.conv2d: colour is unknown; QConv2d has window, groups, x_zero_point, "
            "rescale, zero_point, low, high"
        ),
    ),
    "attribute of a source": Refused(
        lambda: op("core.input", "x", value=1),
        FrontendError,
        "node 0",
        "core.input takes nothing only",
    ),
    "groups 0": Refused(
        lambda: op("q.conv2d", "groups", value=0),
        FrontendError,
        "node 3",
        "q.conv2d: groups must divide 2 input and 3 output channels, got 0",
    ),
    "groups a string": Refused(
        lambda: op("q.conv2d", "groups", value="1"),
        FrontendError,
        "node 3",
        "q.conv2d: groups must be an integer, got '1'",
    ),
    "groups true": Refused(
        lambda: op("q.conv2d", "groups", value=True),
        FrontendError,
        "node 3",
        "q.conv2d: groups must be an integer, got True",
    ),
    "groups 2^64": Refused(
        lambda: op("q.conv2d", "groups", value=2**64),
        FrontendError,
        "node 3",
        "q.conv2d: groups is 18446744073709551616; the limit is 8388608",
    ),
    "stride 0": Refused(
        lambda: op("q.conv2d", "window", "stride", value=[0, 1]),
        FrontendError,
        "node 3",
        "q.conv2d: stride must be at least 1, got (0, 1)",
    ),
    "stride 2^31": Refused(
        lambda: op("q.conv2d", "window", "stride", value=[2**31, 1]),
        FrontendError,
        "node 3",
        "q.conv2d: window.stride[0] is 2147483648; the limit is 8388608",
    ),
    "kernel of three": Refused(
        lambda: op("q.conv2d", "window", "kernel", value=[3, 3, 3]),
        FrontendError,
        "node 3",
        "q.conv2d: window.kernel must be a list of 2 (an integer, an integer), got (3, 3, 3)",
    ),
    "kernel 2^31": Refused(
        lambda: op("q.max_pool2d", "window", "kernel", value=[2**31 - 1, 2]),
        FrontendError,
        "node 4",
        "q.max_pool2d: window.kernel[0] is 2147483647; the limit is 8388608",
    ),
    "dilation 2^40": Refused(
        lambda: op("q.max_pool2d", "window", "dilation", value=[2**40, 1]),
        FrontendError,
        "node 4",
        "q.max_pool2d: window.dilation[0] is 1099511627776; the limit is 8388608",
    ),
    "padding 2^31": Refused(
        lambda: op("q.max_pool2d", "window", "padding", value=[[0, 0], [0, 2**31]]),
        FrontendError,
        "node 4",
        "q.max_pool2d: window.padding[1][1] is 2147483648; the limit is 8388608",
    ),
    "padding 2^63": Refused(
        lambda: op("q.max_pool2d", "window", "padding", value=[[2**63, 0], [0, 0]]),
        FrontendError,
        "node 4",
        "q.max_pool2d: window.padding[0][0] is 9223372036854775808; the limit is 8388608",
    ),
    "padding negative": Refused(
        lambda: op("q.max_pool2d", "window", "padding", value=[[0, 0], [0, -1]]),
        FrontendError,
        "node 4",
        "q.max_pool2d: padding must not be negative, got ((0, 0), (0, -1))",
    ),
    "padding and kernel 2^23": Refused(
        lambda: op(
            "q.max_pool2d",
            "window",
            value={
                "@": "Window",
                "kernel": [2**23, 2**10],
                "stride": [2, 2],
                "dilation": [1, 1],
                "padding": [[2**23 - 2, 0], [2**10 - 2, 0]],
            },
        ),
        FrontendError,
        "operator 1 MAX_POOL_2D",
        ("a tensor has 25820141580 elements, its padding counted; the limit is 8388608"),
    ),
    "window of another class": Refused(
        lambda: op("q.conv2d", "window", value={"@": "Popen", "args": "x"}),
        FrontendError,
        "node 3",
        "q.conv2d: window must be Window(...), got Popen",
    ),
    "rescale without a shift": Refused(
        lambda: op("q.dense", "rescale", "shift", value=[]),
        FrontendError,
        "node 8",
        "q.dense: rescale is not a Rescale: 1 multipliers but 0 shifts",
    ),
    "rescale shift 99": Refused(
        lambda: op("q.dense", "rescale", "shift", value=[99]),
        FrontendError,
        "node 8",
        "q.dense: rescale is not a Rescale: expected shifts in [-31, 30], got",
    ),
    "rescale multiplier negative": Refused(
        lambda: op("q.dense", "rescale", "multiplier", value=[-1]),
        FrontendError,
        "node 8",
        "q.dense: rescale is not a Rescale: expected multipliers in [0, 2^31 - 1], got",
    ),
    "zero point 300": Refused(
        lambda: op("q.dense", "zero_point", value=300),
        FrontendError,
        "node 8",
        "q.dense: expected a zero point in [-128, 127], got 300",
    ),
    "zero point beside its tensor": Refused(
        lambda: op("q.dense", "x_zero_point", value=5),
        VerifyError,
        "graph",
        "%8 'dense': x_zero_point is 5, but operand 0 is i8[1, 12] q(0.5, -128)",
    ),
    "clamp empty": Refused(
        lambda: op("q.dense", "high", value=-200),
        FrontendError,
        "node 8",
        "q.dense: bounds must satisfy -128 <= low <= high <= 127, not low -128 and high -200",
    ),
    "softmax multiplier 2^40": Refused(
        lambda: op("q.softmax", "multiplier", value=2**40),
        FrontendError,
        "node 9",
        "q.softmax: multiplier 1099511627776 or left shift 25 is out of range",
    ),
    "reshape to other elements": Refused(
        lambda: op("q.reshape", "shape", value=[1, 13]),
        FrontendError,
        "node 5",
        "q.reshape: i8[1, 2, 2, 3] q(0.5, -128) does not have the elements of shape [1, 13]",
    ),
    "reshape to 10^30": Refused(
        lambda: op("q.reshape", "shape", value=[10**30, 12]),
        FrontendError,
        "node 5",
        "q.reshape: shape[0] is 1000000000000000000000000000000; the limit is 8388608",
    ),
    "operand not there yet": Refused(
        lambda: edited("nodes", 3, "operands", value=[[0, 0], [1, 0], [9, 0]]),
        FrontendError,
        "node 3",
        "value [9, 0] does not exist yet",
    ),
    "operand itself": Refused(
        lambda: edited("nodes", 3, "operands", value=[[3, 0], [1, 0], [2, 0]]),
        FrontendError,
        "node 3",
        "value [3, 0] does not exist yet",
    ),
    "operand negative": Refused(
        lambda: edited("nodes", 3, "operands", value=[[-1, 0], [1, 0], [2, 0]]),
        FrontendError,
        "node 3",
        "value [-1, 0] does not exist yet",
    ),
    "second result of one": Refused(
        lambda: edited("nodes", 3, "operands", value=[[0, 1], [1, 0], [2, 0]]),
        FrontendError,
        "node 3",
        "value [0, 1] does not exist yet",
    ),
    "operands missing": Refused(
        lambda: edited("nodes", 3, "operands", value=[[0, 0]]),
        FrontendError,
        "node 3",
        "q.conv2d: expected 3 operands, got 1",
    ),
    "result type missing": Refused(
        lambda: edited("nodes", 3, "types", value=[]),
        FrontendError,
        "node 3",
        "q.conv2d: expected i8[1, 4, 4, 3], got ",
    ),
    "result of another shape": Refused(
        lambda: edited("nodes", 3, "types", 0, "shape", value=[1, 4, 4, 4]),
        FrontendError,
        "node 3",
        "q.conv2d: expected i8[1, 4, 4, 3] q(0.5, -128), got i8[1, 4, 4, 4] q(0.5, -128)",
    ),
    "dimension negative": Refused(
        lambda: edited("nodes", 3, "types", 0, "shape", value=[1, 4, 4, -3]),
        FrontendError,
        "node 3",
        "a dimension must not be negative, got -3",
    ),
    "dimension 10^30": Refused(
        lambda: edited("nodes", 0, "types", 0, "shape", value=[10**30]),
        FrontendError,
        "node 0",
        "a dimension is 1000000000000000000000000000000; the limit is 8388608",
    ),
    "nine dimensions": Refused(
        lambda: edited("nodes", 0, "types", 0, "shape", value=[1] * 9),
        FrontendError,
        "node 0",
        "a tensor has 9 dimensions; the limit is 8",
    ),
    "2^46 elements": Refused(
        lambda: edited("nodes", 0, "types", 0, "shape", value=[2**23, 2**23]),
        FrontendError,
        "node 0",
        "a tensor has 70368744177664 elements; the limit is 8388608",
    ),
    "element type unknown": Refused(
        lambda: edited("nodes", 3, "types", 0, "dtype", value={"@": "i128"}),
        FrontendError,
        "document",
        (
            "nodes[3].types[0].dtype must be one of f64, f32, f16, bf16, f8e4m3, f8e5m2, "
            "i64, i32, i16, i8, i4, i2, u64, u32, u16, u8, bool, c64, got i128"
        ),
    ),
    "scale infinite": Refused(
        lambda: edited("nodes", 3, "types", 0, "quant", "scale", value=[{"@": "inf"}]),
        FrontendError,
        "document",
        "nodes[3].types[0].quant is not a QuantParams: every scale must be positive and finite",
    ),
    "scale 0": Refused(
        lambda: edited("nodes", 0, "types", 0, "quant", "scale", value=[0.0]),
        FrontendError,
        "document",
        "nodes[0].types[0].quant is not a QuantParams: every scale must be positive and finite",
    ),
    "zero point beyond its type": Refused(
        lambda: edited("nodes", 0, "types", 0, "quant", "zero_point", value=[4096]),
        VerifyError,
        "graph",
        (
            "2 problems\n"
            "  %0 'x': a zero point of i8[1, 4, 4, 2] q(0.5, 4096) is outside i8\n"
            "  %3 'conv': x_zero_point is -1, but operand 0 is i8[1, 4, 4, 2] q(0.5, "
            "4096)"
        ),
    ),
    "axis of scales outside": Refused(
        lambda: edited("nodes", 1, "types", 0, "quant", "axis", value=7),
        VerifyError,
        "graph",
        (
            "%1 'w': the axis of the scales is outside i8[3, 3, 3, 2] q(axis=7, "
            "0.10000000149011612:0, 0.20000000298023224:0, 0.30000001192092896:0)"
        ),
    ),
    "constant of another type": Refused(
        lambda: edited("nodes", 1, "types", 0, "dtype", value={"@": "i32"}),
        FrontendError,
        "node 1",
        (
            "tensor constant.1 is not stored as i32[3, 3, 3, 2] q(axis=0, "
            "0.10000000149011612:0, 0.20000000298023224:0, 0.30000001192092896:0)"
        ),
    ),
    "constant of another shape": Refused(
        lambda: edited("nodes", 1, "types", 0, "shape", value=[3, 3, 6]),
        FrontendError,
        "node 1",
        (
            "tensor constant.1 is not stored as i8[3, 3, 6] q(axis=0, "
            "0.10000000149011612:0, 0.20000000298023224:0, 0.30000001192092896:0)"
        ),
    ),
    "constant without its tensor": Refused(
        lambda: changed(lambda t, _: t.pop("constant.1")),
        FrontendError,
        "tensors",
        "the tensors are not those of the graph's constants",
    ),
    "tensor without its constant": Refused(
        lambda: changed(lambda t, _: t.update({"constant.99": np.zeros(1, np.int8)})),
        FrontendError,
        "tensors",
        "the tensors are not those of the graph's constants",
    ),
    "no outputs": Refused(
        lambda: changed(lambda _, d: d.update(outputs=[], output_names=[])),
        VerifyError,
        "graph",
        "the graph has no output",
    ),
    "output not there": Refused(
        lambda: edited("outputs", value=[[99, 0]]),
        FrontendError,
        "outputs",
        "value [99, 0] does not exist yet",
    ),
    "output without a name": Refused(
        lambda: edited("outputs", value=[[0, 0], [0, 0]]),
        FrontendError,
        "outputs",
        "every output needs a name",
    ),
    "input without a name": Refused(
        lambda: edited("nodes", 0, "name", value=""),
        VerifyError,
        "graph",
        "%0 needs a name, since its value is given by name",
    ),
    "plan of a number": Refused(
        lambda: edited("plan", value=3),
        FrontendError,
        "document",
        "plan must be _Plan(...) or none, got 3",
    ),
    "accumulator out of range": Refused(
        lambda: changed(lambda t, _: t.update({"constant.2": np.full(3, 2**31 - 1, np.int32)})),
        VerifyError,
        "graph",
        "%3 'conv': the accumulator of channel 0 can reach 2147485969, beyond int32",
    ),
    "the sound file": Accepted(
        lambda: sound_file(), "it has no defect; every other file differs from it in one place"
    ),
    "name of 5,000 characters": Accepted(
        lambda: edited("nodes", 3, "name", value="n" * 5000), "names may be of any length"
    ),
}
