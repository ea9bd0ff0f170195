"""Changes of element type, and the bridge to real numbers at inputs and outputs."""

from __future__ import annotations

from rlx.ops.q import QConvert
from rlx.ops.real import RealCast, RealDequantize, RealQuantize
from rlx_cortexm.kernels.cast.tactic import CAST, CAST_REAL
from rlx_cortexm.kernels.convert.tactic import CONVERT
from rlx_cortexm.kernels.dequantize.tactic import DEQUANTIZE
from rlx_cortexm.kernels.quantize.tactic import QUANTIZE
from rlx_cortexm.lower.rules import RULES

RULES.rule(QConvert)((CONVERT,))
RULES.rule(RealCast)((CAST_REAL, CAST))
RULES.rule(RealDequantize)((DEQUANTIZE,))
RULES.rule(RealQuantize)((QUANTIZE,))
