"""Cases of layers with a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Array, DType, TensorType, Value
from rlx.ops.q import QSvdf, QSvdfState
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
