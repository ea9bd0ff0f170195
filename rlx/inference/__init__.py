"""Networks on data, on the host: outputs, classes, accuracy, and what every layer gives."""

from rlx.inference.accuracy import Accuracy
from rlx.inference.data import Inputs
from rlx.inference.result import Output, Ranked, Result
from rlx.inference.running import run
from rlx.inference.statistics import Counts, Layers, LayerValues, layers

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
