"""Cases of layers with a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import Array, DType, TensorType, Value
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QLstmCell, QLstmOutput, QSvdf, QSvdfState
from strategies.table import strategy

if TYPE_CHECKING:
    from strategies.case import Case, Maker


def wide_codes(make: Maker, shape: tuple[int, ...]) -> Array:
    """Return int16 values: random ones, small ones, or the extremes only."""
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    kind = make.pick("random", "random", "small", "extremes")
    if kind == "extremes":
        return generator.choice(np.array([-32768, 32767], np.int16), shape)
    most = 32767 if kind == "random" else 300
    return generator.integers(-most - 1, most, shape, np.int16, endpoint=True)


def wide_input(make: Maker, shape: tuple[int, ...], name: str = "state") -> Value:
    """Append an input of int16 values."""
    make.inputs[name] = wide_codes(make, shape)
    return make.graph.input(name, TensorType(shape, DType.I16))


@strategy(QSvdfState)
def svdf_state(make: Maker) -> Case:
    """States of filters."""
    batch, inputs, filters = make.batch(), make.integer(1, 9), make.integer(1, 9)
    x_zero_point = make.zero_point()
    x = make.input((batch, inputs), zero_point=x_zero_point)
    state = wide_input(make, (batch, filters * make.integer(1, 5)))
    w = make.codes((filters, inputs))
    bound = 256 * int(np.abs(w.astype(np.int64)).sum(axis=1).max(initial=1))
    # Codes of a result fill 8 bits; those of a state fill 16.
    rescale = make.rescale(bound, typical=max(bound >> 10, 1))
    op = QSvdfState(x_zero_point=x_zero_point, rescale=rescale.take([0]))
    return make.finish(op, x, state, make.graph.constant(w, name="weights"))


@strategy(QSvdf)
def svdf(make: Maker) -> Case:
    """Weighted sums of the results of filters, which may wrap around."""
    batch, units, shared = make.batch(), make.integer(1, 6), make.integer(1, 3)
    memory = make.integer(1, 6)
    state = wide_input(make, (batch, units * shared * memory))
    w = wide_codes(make, (units * shared, memory))
    most = make.pick(0, 2**20, 2**31 - 1)
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    bias = generator.integers(-most, most, units, np.int32, endpoint=True)
    op = QSvdf(
        rescale=make.rescale(2**30 - 1, typical=2**28),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    constants = (make.graph.constant(w, name="weights"), make.graph.constant(bias, name="bias"))
    return make.finish(op, state, *constants)


def _lstm(make: Maker, gates: int) -> tuple[dict[str, Any], list[Value]]:
    """Return attributes and operands that both ops of an LSTM layer have."""
    batch, inputs, units = make.batch(), make.integer(1, 6), make.integer(1, 5)
    points = {"x_zero_point": make.zero_point(), "h_zero_point": make.zero_point()}
    x = make.input((batch, inputs), zero_point=points["x_zero_point"])
    h = make.input((batch, units), name="h", zero_point=points["h_zero_point"])
    c = wide_input(make, (batch, units), "c")
    w, r = make.codes((gates * units, inputs)), make.codes((gates * units, units))
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    bias = generator.integers(-9000, 9000, gates * units, np.int32, endpoint=True)
    names = ("input_rescale", "recurrent_rescale")
    rescales = {
        name: Rescale.of(*(make.pick(0.11, 0.7, 1.3, 2.0**-6) for _ in range(gates)))
        for name in names
    }
    constants = {"weights": w, "recurrent": r, "bias": bias}
    operands = [make.graph.constant(a, name=name) for name, a in constants.items()]
    return {**points, **rescales}, [x, h, c, *operands]


@strategy(QLstmCell)
def lstm_cell(make: Maker) -> Case:
    """Cell states."""
    attributes, operands = _lstm(make, 3)
    op = QLstmCell(
        **attributes,
        forget_rescale=Rescale.of(2.0**-15),
        update_rescale=Rescale.of(make.pick(2.0**-19, 1.3 * 2.0**-19, 2.0**-15)),
        clip=make.pick(32768, 32767, 900, 0),
    )
    return make.finish(op, *operands)


@strategy(QLstmOutput)
def lstm_output(make: Maker) -> Case:
    """Hidden states."""
    attributes, operands = _lstm(make, 1)
    op = QLstmOutput(
        **attributes,
        power=make.pick(-11, -12, -15, -9, -30, 2),
        rescale=Rescale.of(make.pick(2.0**-23, 1.1 * 2.0**-22)),
    )
    return make.finish(op, *operands)
