"""Constant words outside of the netlist: in files, or as Verilog modules generated here.

Amaranth writes each word of a memory into the netlist bit by bit: megabytes and minutes for a
network of some hundred thousand weights. :class:`Constants` replaces each read-only memory by an
instance and keeps its words. Once the design is elaborated, every instance is named after the layer
and the part that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from amaranth import ClockSignal, Instance
from amaranth.hdl import Shape

from rlx.support.text.names import mangle
from rlx_fpga.cells.rom import BANK
from rlx_fpga.packaging.render import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from amaranth.hdl import Fragment
    from amaranth.lib.memory import Memory

_MEMORY: Final = "memory"
"""Name of the memory in a cell that has only that; the cell's name is used instead."""

_SUFFIX: Final = ".mem"
"""Suffix of files of words."""

_MODULES: Final = ("rom", "core", "control", "top", "top_pins", "tb")
"""Suffixes of the other modules of a design; submodules of the netlist begin with the core's."""


@dataclass(frozen=True)
class _Words:
    """Content of a memory; equal memories of a layer share one.

    Attributes:
        width: Bits of a word.
        words: Words, as unsigned integers.
        attributes: Synthesis attributes.
    """

    width: int
    words: tuple[int, ...]
    attributes: tuple[tuple[str, str], ...]

    @property
    def digits(self) -> Iterator[str]:
        """The words as hexadecimal numbers of the same length."""
        length = -(-self.width // 4)
        return (f"{word:0{length}x}" for word in self.words)


class Constants:
    """Replaces the read-only memories of a design while Amaranth elaborates it.

    Args:
        prefix: Prefix of file and module names.
        in_files: Write words to files that the module ``<prefix>_rom`` reads; else each memory
            becomes a module of its own. Memories with synthesis attributes always become modules.

    Attributes:
        files: Content of each file by its path in the folder, in the order of the hierarchy.
        modules: SystemVerilog of each module, by its name.
    """

    def __init__(self, prefix: str, *, in_files: bool) -> None:
        self.prefix = prefix
        self.in_files = in_files
        self.files: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        self._taken: dict[Instance, _Words] = {}

    def take(self, memory: Memory) -> Instance | None:
        """Return the instance that replaces ``memory``, or None if it must stay.

        Only read-only memories with one synchronous read port are replaced.
        """
        shape = memory.shape
        plain = isinstance(shape, int | Shape) and memory.depth > 1
        ports = memory.read_ports
        if not plain or memory.write_ports or len(ports) != 1 or ports[0].domain != "sync":
            return None
        width = Shape.cast(shape).width
        if not width:
            return None
        mask = (1 << width) - 1
        words = _Words(
            width,
            tuple(word & mask for word in memory.init),
            tuple((str(name), str(value)) for name, value in memory.attrs.items()),
        )
        instance = Instance(
            "constants",
            i_clk_i=ClockSignal(),
            i_step_i=ports[0].en,
            i_address_i=ports[0].addr,
            o_data_o=ports[0].data,
        )
        self._taken[instance] = words
        return instance

    def name(self, design: Fragment) -> None:
        """Name all instances after their position in ``design``, and write their words.

        Call it once, between elaboration and conversion.
        """
        known: dict[tuple[str, _Words], str] = {}
        names = {f"{self.prefix}_{word}" for word in _MODULES}
        for path, instance in _instances(design, ()):
            words = self._taken.get(instance)
            if words is None:
                continue
            key = (path[0], words)
            if key not in known:
                known[key] = mangle(_plain(path), reserved=names, prefix=self.prefix)
                names.add(known[key])
                self._write(known[key], words)
            self._refer(instance, path[0], known[key], words)

    def _is_file(self, words: _Words) -> bool:
        return self.in_files and not words.attributes

    def _refer(
        self,
        instance: Any,  # noqa: ANN401 - no stubs
        layer: str,
        name: str,
        words: _Words,
    ) -> None:
        """Make ``instance`` refer to the memory called ``name``, of ``layer``."""
        if self._is_file(words):
            instance.type = f"{self.prefix}_rom"
            # A layer hands down the common prefix of the names of its files; shortened names lack
            # it. Yosys cannot join empty strings.
            common = f"mem/{self.prefix}_{layer}"
            whole = _path(name).removesuffix(_SUFFIX)
            first = common if whole.startswith(f"{common}_") else whole
            instance.parameters |= {
                "Width": words.width, "Depth": len(words.words),
                "File": first, "Part": _path(name).removeprefix(first),
            }  # fmt: skip
        else:
            instance.type = name

    def _write(self, name: str, words: _Words) -> None:
        if self._is_file(words):
            self.files[_path(name)] = "".join(f"{word}\n" for word in words.digits)
        else:
            self.modules[name] = render("words.v.j2", name=name, words=words)


def _path(name: str) -> str:
    return f"mem/{name}{_SUFFIX}"


def _plain(path: tuple[str, ...]) -> str:
    """Return a name from the layer and the part of it that has the memory."""
    parts = path[:-1] if path[-1] == _MEMORY and len(path) > 1 else path
    own = parts[-2:] if parts[-1].startswith(BANK) else parts[-1:]
    return "_".join(dict.fromkeys((parts[0], *own)))


def _instances(
    design: Fragment, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Instance]]:
    """Yield every instance with its hierarchical path."""
    for part, name, _ in design.subfragments:
        here = (*path, str(name))
        if isinstance(part, Instance):
            yield here, part
        else:
            yield from _instances(part, here)
