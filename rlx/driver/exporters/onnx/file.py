"""Nodes and constants of an ``.onnx`` file while it is put together.

Tests: tests/unit/driver/exporters/test_onnx.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir import DType
from rlx.support.errors import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.ir import Array, TensorType

MIN_OPSET: Final = 13
"""Version of ai.onnx from which QuantizeLinear and DequantizeLinear have scales per channel."""

MAX_OPSET: Final = 25
"""Version of ai.onnx up to which the operators used are known not to have changed."""

INT4_OPSET: Final = 21
"""Version of ai.onnx that has 4-bit integers."""


def onnx_package() -> Any:  # noqa: ANN401 - a module without annotations
    """Return the package onnx.

    Raises:
        ToolMissingError: It is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise ToolMissingError("onnx is not installed", hint="pip install 'rlx[export]'") from None
    return onnx


class OnnxFile:
    """A graph whose nodes are in the order in which they are added.

    Attributes:
        opset: Version of the standard operators.
    """

    def __init__(self, name: str, opset: int) -> None:
        self.opset = opset
        self._onnx = onnx_package()
        self._name = name
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._shared: dict[tuple[str, bytes, tuple[int, ...]], str] = {}
        self._taken: set[str] = set()

    def name(self, base: str) -> str:
        """Return a name that no other tensor has: ``base``, or it with a number."""
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def constant(self, name: str, data: Array, *, bits: int = 0) -> str:
        """Add a constant and return its name.

        Args:
            name: The requested name.
            data: Its contents.
            bits: 4 to store int8 contents as 4-bit integers; else their own type.
        """
        name, helper = self.name(name), self._onnx.helper
        if bits == 4:
            kind = self._onnx.TensorProto.INT4
            tensor = helper.make_tensor(name, kind, data.shape, _packed(data), raw=True)
        else:
            tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(data), name)
        self._constants[name] = tensor
        return name

    def shared(self, kind: str, data: Array) -> str:
        """Return the name of a small constant, such as a scale; equal ones are stored once."""
        key = data.dtype.str, data.tobytes(), data.shape
        if key not in self._shared:
            self._shared[key] = self.constant(kind, data)
        return self._shared[key]

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str,
        **attributes: Any,  # noqa: ANN401 - attributes of the operator
    ) -> str:
        """Add a node and return the name of its output."""
        node = self._onnx.helper.make_node(
            operator, list(inputs), [output], name=f"{operator}_{len(self._nodes)}", **attributes
        )
        self._nodes.append(node)
        return output

    def build(
        self, inputs: Iterable[tuple[str, TensorType]], outputs: Iterable[tuple[str, TensorType]]
    ) -> bytes:
        """Return the bytes of the file."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [self._typed(*each) for each in inputs],
            [self._typed(*each) for each in outputs],
            list(self._constants.values()),
        )
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(
            graph,
            opset_imports=[opset],
            ir_version=helper.find_min_ir_version_for([opset]),
            producer_name="rlx",
        )
        self._onnx.checker.check_model(model, full_check=True)
        written: bytes = model.SerializeToString(deterministic=True)
        return written

    def _typed(self, name: str, type_: TensorType) -> Any:  # noqa: ANN401 - a message of onnx
        helper = self._onnx.helper
        element = helper.np_dtype_to_tensor_dtype(np.dtype(type_.dtype.numpy))
        return helper.make_tensor_value_info(name, element, type_.static_shape)


def _packed(data: Array) -> bytes:
    """Return small integers as 4 bits each, the first of two in the low bits."""
    nibbles = np.append(data.astype(np.uint8).reshape(-1) & 0xF, np.zeros(data.size % 2, np.uint8))
    return bytes(nibbles[::2] | nibbles[1::2] << 4)


def code_dtype(dtype: DType) -> np.dtype[Any]:
    """Return NumPy's type of the values that ONNX stores: 4- and 2-bit integers as int8."""
    return np.dtype(np.int8) if dtype in (DType.I4, DType.I2) else np.dtype(dtype.numpy)
