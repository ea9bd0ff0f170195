"""Order of execution, and a place in memory for every tensor: from MIR to LIR.

Searches are bounded by counts, not by time.

Level 4.
"""

from rlx.memory.chart import memory_picture
from rlx.memory.host import host_in_place
from rlx.memory.lifetimes import InPlace, Lifetime, Scratch, elementwise_in_place, lifetimes
from rlx.memory.memory import moves_nothing, plan_memory, to_lir
from rlx.memory.picture import ScratchPlace, alive_bytes, memory_table, memory_text
from rlx.memory.schedule import peak_bytes, schedule

__all__ = [
    "InPlace",
    "Lifetime",
    "Scratch",
    "ScratchPlace",
    "alive_bytes",
    "elementwise_in_place",
    "host_in_place",
    "lifetimes",
    "memory_picture",
    "memory_table",
    "memory_text",
    "moves_nothing",
    "peak_bytes",
    "plan_memory",
    "schedule",
    "to_lir",
]
