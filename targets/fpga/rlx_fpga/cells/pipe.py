"""Registers of a pipeline that moves as a whole."""

from __future__ import annotations

from amaranth import Module, Signal, Value


def register(m: Module, enable: Value, value: Value, name: str, *, reset: bool = False) -> Value:
    """Return a register that takes ``value`` at the end of each cycle in which ``enable`` is high.

    Data need no reset, flags do. A value without bits is its own register: Verilog has no signals
    of that size.
    """
    value = Value.cast(value)
    if len(value) == 0:
        return value
    result = Signal(value.shape(), name=name, reset_less=not reset)
    with m.If(enable):
        m.d.sync += result.eq(value)
    return result


def delayed(m: Module, enable: Value, value: Value, name: str, stages: int) -> Value:
    """Return ``value`` as it was ``stages`` steps of the pipeline ago; a flag, so with reset."""
    for stage in range(stages):
        value = register(m, enable, value, f"{name}_{stage + 1}", reset=True)
    return value
