"""WGSL text of kernels.

A kernel computes the elements of one array. Each invocation computes the elements of one word and
writes it, so that no two write the same word. Operands are read by functions of an element's index.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.support.files.paths import template_root
from rlx.support.text.templates import environment
from rlx_wgpu.layout import WORD, Slot

if TYPE_CHECKING:
    from rlx.ir import Array, Node, Value
    from rlx_wgpu.layout import Layout

ENV: Final = environment(template_root() / "wgpu")

GROUP: Final = 64
"""Invocations of a workgroup."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A kernel, ready to be dispatched.

    Attributes:
        text: WGSL module with the function ``main``.
        words: Words that it writes, one by each invocation.
    """

    text: str
    words: int


class Writer:
    """Writer of the kernels of one graph.

    Attributes:
        layout: Slots of the values.
        dispatches: Kernels written so far.
        wide: Whether 64-bit integers are used; otherwise pairs of 32-bit ones.
    """

    def __init__(self, layout: Layout, *, wide: bool) -> None:
        self.layout = layout
        self.wide = wide
        self.dispatches: list[Dispatch] = []

    def kernel(self) -> Kernel:
        """Return an empty kernel."""
        return Kernel(self)

    def write(self, kernel: Kernel, slot: Slot, element: str) -> None:
        """Add a kernel that computes the array at ``slot``.

        Args:
            kernel: Kernel with the functions that ``element`` calls.
            slot: Slot of the result.
            element: Statements that return element ``i`` as i32.
        """
        if not slot.words:
            return
        text = ENV.get_template("kernel.wgsl.j2").render(
            functions=kernel.functions,
            element=element,
            slot=slot,
            bits=8 * slot.dtype.itemsize,
            per_word=WORD // slot.dtype.itemsize,
            scales=kernel.scales,
            wide=self.wide,
            group=GROUP,
        )
        self.dispatches.append(Dispatch(text, slot.words))

    def write_result(self, kernel: Kernel, node: Node, element: str) -> None:
        """Add a kernel that computes the only result of a node."""
        self.write(kernel, self.layout.of(node.result), element)


class Kernel:
    """Functions of a kernel.

    Attributes:
        functions: Their WGSL text.
        scales: Whether they call those of fixed-point arithmetic in ``templates/wgpu``.
    """

    def __init__(self, writer: Writer) -> None:
        self.functions: list[str] = []
        self.scales = False
        self._writer = writer

    def operand(self, name: str, value: Value) -> None:
        """Define ``name(i)``, element ``i`` of a value as i32."""
        self.read(name, self._writer.layout.of(value))

    def operand_words(self, name: str, value: Value) -> None:
        """Define ``name(w)``, word ``w`` of a value as u32."""
        slot = self._writer.layout.of(value)
        self.define(f"fn {name}(w: u32) -> u32 {{ return {slot.buffer}[{slot.offset}u + w]; }}")

    def table(self, name: str, array: Array) -> None:
        """Define ``name(i)``, element ``i`` of a constant array as i32."""
        self.read(name, self._writer.layout.constants.add(array))

    def read(self, name: str, slot: Slot) -> None:
        """Define ``name(i)``, element ``i`` of an array as i32."""
        per_word = WORD // slot.dtype.itemsize
        bits = 8 * slot.dtype.itemsize
        if per_word == 1:
            element = f"bitcast<i32>({slot.buffer}[{slot.offset}u + i])"
        else:
            word = f"{slot.buffer}[{slot.offset}u + i / {per_word}u]"
            word = f"bitcast<i32>({word})" if slot.dtype.kind == "i" else word
            element = f"i32(extractBits({word}, {bits}u * (i % {per_word}u), {bits}u))"
        self.define(f"fn {name}(i: u32) -> i32 {{ return {element}; }}")

    def define(self, text: str) -> None:
        """Add a function."""
        self.functions.append(text)

    def render(self, template: str, **values: object) -> str:
        """Return the text of a template in ``templates/wgpu``."""
        return ENV.get_template(template).render(**values)
