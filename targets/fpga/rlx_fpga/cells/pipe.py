"""Registers of pipelines.

Tests: tests/targets/fpga/cells/test_credit.py
"""

from __future__ import annotations

from amaranth import Const, Module, Signal, Value


def register(m: Module, enable: Value, value: Value, name: str, *, reset: bool = False) -> Value:
    """Return a register that loads ``value`` at the end of each cycle in which ``enable`` is high.

    Data need no reset, flags do. A zero-width value is returned unchanged: Verilog does not have
    such signals.
    """
    value = Value.cast(value)
    if len(value) == 0:
        return value
    result = Signal(value.shape(), name=name, reset_less=not reset)
    with m.If(enable):
        m.d.sync += result.eq(value)
    return result


def follow(m: Module, value: Value, name: str, stages: int = 1, *, reset: bool = False) -> Value:
    """Return ``value`` delayed by ``stages`` cycles, in a pipeline that never stalls.

    Data need no reset, flags do. Constants need no registers.
    """
    value = Value.cast(value)
    if isinstance(value, Const):
        return value
    for stage in range(stages):
        label = name if stages == 1 else f"{name}_{stage + 1}"
        value = register(m, Const(1), value, label, reset=reset)
    return value
