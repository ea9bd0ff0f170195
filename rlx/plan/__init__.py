"""LIR: order of execution and a memory offset for every tensor."""

from rlx.plan.chart import memory_picture
from rlx.plan.host import host_in_place
from rlx.plan.lifetimes import InPlace, Lifetime, Scratch, elementwise_in_place, lifetimes
from rlx.plan.memory import moves_nothing, plan_memory, to_lir
from rlx.plan.picture import ScratchPlace, alive_bytes, memory_table, memory_text
from rlx.plan.schedule import peak_bytes, schedule

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
