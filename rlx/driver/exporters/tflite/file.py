"""Tensors, operators and buffers of a ``.tflite`` file while it is put together.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.driver.exporters.tflite.flatbuffer import pack
from rlx.frontends.tflite.schema import (
    IDENTIFIER,
    MODEL,
    OPERATOR_CODES,
    OPTIONS_OF,
    VERSION,
    TensorType,
)
from rlx.ir import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, QuantParams

TYPES: Final = {
    DType.F32: TensorType.FLOAT32,
    DType.I8: TensorType.INT8,
    DType.U8: TensorType.UINT8,
    DType.I16: TensorType.INT16,
    DType.I32: TensorType.INT32,
}
"""Element types that operators of int8 networks read or write."""

_MAX_DEPRECATED_CODE: Final = 127
"""Larger numbers do not fit the field of old readers, which then holds this number."""


class TfliteFile:
    """One subgraph; tensors and operators are numbered in the order in which they are added."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tensors: list[dict[str, Any]] = []
        self._operators: list[dict[str, Any]] = []
        self._opcodes: dict[tuple[str, int], int] = {}
        # The first buffer is empty by convention: that of tensors without data.
        self._buffers: list[dict[str, Any]] = [{}]

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        type_: TensorType,
        quant: QuantParams | None = None,
        data: Array | None = None,
    ) -> int:
        """Add a tensor, constant if it has ``data``, and return its number."""
        tensor: dict[str, Any] = {"shape": shape, "type": type_, "name": name}
        if quant is not None:
            tensor["quantization"] = {
                "scale": quant.scale,
                "zero_point": quant.zero_point,
                "axis": quant.axis or 0,
            }
        if data is not None:
            little = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
            tensor["buffer"] = len(self._buffers)
            self._buffers.append({"data": np.frombuffer(little.tobytes(), np.uint8)})
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def constant(self, name: str, data: Array, quant: QuantParams | None = None) -> int:
        """Add a constant of the array's shape and element type, and return its number."""
        return self.tensor(name, data.shape, TYPES[DType.of(data)], quant, data)

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        version: int,
        **options: Any,  # noqa: ANN401 - fields of the operator's table of options
    ) -> None:
        """Add an operator; ``version`` is the first one that has the element types used."""
        code = self._opcodes.setdefault((name, version), len(self._opcodes))
        operator: dict[str, Any] = {"opcode_index": code, "inputs": inputs, "outputs": outputs}
        if name in OPTIONS_OF:
            operator["options"] = OPTIONS_OF[name], options
        self._operators.append(operator)

    def build(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """Return the bytes of the file.

        Raises:
            ToolMissingError: The package flatbuffers is not installed.
        """
        opcodes = [
            {
                "deprecated_builtin_code": min(OPERATOR_CODES[name], _MAX_DEPRECATED_CODE),
                "version": version,
                "builtin_code": OPERATOR_CODES[name],
            }
            for name, version in self._opcodes
        ]
        subgraph = {
            "tensors": self._tensors,
            "inputs": inputs,
            "outputs": outputs,
            "operators": self._operators,
            "name": self._name,
        }
        model = {
            "version": VERSION,
            "operator_codes": opcodes,
            "subgraphs": [subgraph],
            "buffers": self._buffers,
        }
        return pack(MODEL, model, IDENTIFIER)
