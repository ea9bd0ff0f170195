"""Networks on data, on the host: outputs, classes, accuracy, and results of every layer."""

from rlx.metrics.inference.accuracy import Accuracy
from rlx.metrics.inference.data import Inputs
from rlx.metrics.inference.result import Output, Ranked, Result
from rlx.metrics.inference.running import run
from rlx.metrics.inference.statistics import Counts, Layers, LayerValues, layers

__all__ = [
    "Accuracy",
    "Counts",
    "Inputs",
    "LayerValues",
    "Layers",
    "Output",
    "Ranked",
    "Result",
    "layers",
    "run",
]
