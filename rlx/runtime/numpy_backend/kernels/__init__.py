"""NumPy kernels that compute each op into given arrays; importing them fills the table.

In the order of their needs: ``common`` and ``element`` know arrays only, the other modules ops.
"""

from rlx.runtime.numpy_backend.kernels import (
    control,
    conv,
    elementwise,
    fused,
    index,
    integer,
    linear,
    pool,
    quantize,
    reduce,
    refused,
    shape,
)

__all__ = [
    "control",
    "conv",
    "elementwise",
    "fused",
    "index",
    "integer",
    "linear",
    "pool",
    "quantize",
    "reduce",
    "refused",
    "shape",
]
