"""Constant words in files beside the netlist: what ``--weights mem`` elaborates with.

Amaranth writes each word of a memory as a line of the netlist, a bit at a time: megabytes and
minutes for a network of some hundred thousand weights, which no reader wants to see. Given as the
platform, :class:`MemoryFiles` takes the words instead, and puts an instance of ``<prefix>_rom`` in
their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import ClockSignal, Instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amaranth import Signal, Value


class MemoryFiles:
    """A platform, in Amaranth's sense, that takes constant words out of a design.

    Attributes:
        prefix: First part of the names of files and of the module that reads them.
        files: Content of each file by its path in the folder, in the order of elaboration.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.files: dict[str, str] = {}

    def memory(
        self, words: Sequence[int], width: int, *, address: Signal, step: Value, data: Value
    ) -> Instance:
        """Return a memory of ``words`` of ``width`` bits, at least two of them.

        Args:
            words: What it holds, not negative.
            width: Bits of a word.
            address: Read address.
            step: Read in this cycle.
            data: Gets the word in the next cycle.
        """
        path = f"mem/{self.prefix}_{len(self.files)}.mem"
        digits = -(-width // 4)
        self.files[path] = "".join(f"{word:0{digits}x}\n" for word in words)
        return Instance(
            f"{self.prefix}_rom",
            p_Width=width,
            p_Depth=len(words),
            p_File=path,
            i_clk_i=ClockSignal(),
            i_step_i=step,
            i_address_i=address,
            o_data_o=data,
        )
