"""Networks that the functions of rlx accept: read, built, traced, or as files.

Level 7.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx import frontends
from rlx.frontends.open_shapes import DimensionSizes
from rlx.frontends.registry import with_sizes
from rlx.ir import Graph, supplied
from rlx.ir.file import save as write_module
from rlx.ir.layer_names import with_layer_names
from rlx.ir.module import GraphModule, HasModule, Stage
from rlx.ir.printer import summarize_graph
from rlx.metrics import inference
from rlx.passes.transforms.freeze import freeze
from rlx.samples import array_shapes
from rlx.support.annotations import described
from rlx.support.calls import checked_call
from rlx.support.errors import UsageError
from rlx.support.limits import limits_of
from rlx.support.named import Named
from rlx.tracing import Graph as Builder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import TensorType
    from rlx.metrics.inference import Inputs, Layers, Result
    from rlx.support.limits import Limits

Model: TypeAlias = "HasModule | GraphModule | Graph | Builder | str | PathLike[str]"
"""A network: as ``rlx.load`` or ``rlx.quantize`` returned it, a graph, or the path of a file."""


@dataclass(frozen=True, slots=True, repr=False)
class Network(HasModule):
    """A network as ``rlx.load`` returns it: its interface, its results on data, its picture.

    Attributes:
        module: The graph, its stage, and the interpreter whose bits it reproduces.
    """

    def __repr__(self) -> str:
        return f"<Network {summarize_graph(self.graph)}>"

    def _repr_html_(self) -> str | None:
        """Return the drawing and the table of layers that notebooks show."""
        return supplied.graph_html(self.graph)

    @property
    def graph(self) -> Graph:
        """Its ops."""
        return self.module.graph

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.graph.name

    @property
    def inputs(self) -> dict[str, TensorType]:
        """Type of each input by name, in order."""
        return Named(((value.name, value.type) for value in self.graph.inputs), "input")

    @property
    def outputs(self) -> dict[str, TensorType]:
        """Type of each output by name, in order."""
        types = (value.type for value in self.graph.outputs)
        return Named(zip(self.graph.output_names, types, strict=True), "output")

    def picture(self) -> str:
        """Return its layers as SVG, a text that notebooks show as a picture."""
        return supplied.graph_picture(self.graph)

    def run(self, data: Inputs) -> Result:
        """Return the outputs for a sample or a batch of samples, as ``rlx.run`` does."""
        return inference.run(bound_module(self, data)[0].graph, data)

    def layers(self, data: Inputs, *, against: Model | None = None) -> Layers:
        """Return the figures of each layer on data, as ``rlx.layers`` does."""
        other = None if against is None else bound_module(against, data)[0].graph
        return inference.layers(bound_module(self, data)[0].graph, data, against=other)


@checked_call
def load(
    path: str | Path,
    format: str = "auto",
    *,
    options: Any = None,  # noqa: ANN401 - the format's own class
    limits: Limits | Mapping[str, float] | None = None,
    **settings: Any,  # noqa: ANN401 - each format's own
) -> Network:
    """Read a model file: ``.tflite``, ``.onnx``, ``.rlx``, or one of a plug-in's format.

    Args:
        path: Model file, such as ``"net.onnx"``.
        format: Name of its format, or ``auto`` for that of its first bytes and name.
        options: All options of the format at once: a mapping, or an object of its own class.
        limits: Largest model to accept, such as ``{"nodes": 100_000}``; None for the defaults.
        settings: Options of the format, such as ``input_shape={"x": (1, 3, 224, 224)}`` or
            ``channels_last=True``.

    Raises:
        UsageError: The file cannot be read, or the format has no such option.
        FormatError: rlx does not read this format.
        FrontendError: The file is malformed or over a limit.
        UnsupportedOpError: It holds an op that rlx does not import.

    Example:
        >>> rlx.load("digits/digits.tflite").name
        'digits'
        >>> list(rlx.load("onnx_to_firmware/digits.onnx", channels_last=True).inputs)
        ['image']
    """
    accepted = limits_of(limits)
    return Network(frontends.load(path, format, options=options, limits=accepted, **settings))


@checked_call
def save(module: GraphModule | Graph | HasModule | Builder, path: str | PathLike[str]) -> None:
    """Write a network to ``path``, which appears complete or not at all.

    Args:
        module: A network; a graph is written as one at the first stage. A graph made by hand or by
            ``rlx.trace`` is written with the values of its parameters; those without a value stay
            parameters.
        path: File to write, such as ``"net.rlx"``.

    Raises:
        UsageError: It is none of these, or the suffix is that of another model format.
        VerifyError: The module breaks an invariant of its stage.
        OutputError: The file cannot be written.

    Example:
        >>> rlx.save(rlx.load("digits/digits.tflite"), "copy.rlx")
        >>> rlx.load("copy.rlx").name
        'digits'
    """
    if isinstance(module, Builder):
        module = freeze(module.graph, module.parameters)
    write_module(module, path)


def module_of(model: Model) -> tuple[GraphModule, str | None]:
    """Return a model as a module, and the hash of its file if it is one.

    Raises:
        UsageError: It is none of these, or the file is missing.
        FrontendError: The file is malformed.
    """
    return _module_of(model, None)


def bound_module(model: Model, data: Any = None) -> tuple[GraphModule, str | None]:  # noqa: ANN401
    """Return a model whose dimensions are integers, and the hash of its file if it is one.

    Open dimensions of a file have the sizes of the samples; the first dimension of an input is the
    batch, and 1.

    Args:
        model: As for :func:`module_of`.
        data: Samples: a file, an array, or arrays by name; None for none.

    Raises:
        UsageError: As :func:`module_of`, or nothing says how large a dimension is.
        FrontendError: The file is malformed.
    """
    return _module_of(model, DimensionSizes({} if data is None else array_shapes(data)))


def _module_of(model: Model, sizes: DimensionSizes | None) -> tuple[GraphModule, str | None]:
    if isinstance(model, HasModule):
        model = model.module
    if isinstance(model, GraphModule):
        return model if sizes is None else with_sizes(model, sizes), None
    if isinstance(model, Builder):
        model = freeze(model.graph, model.parameters)
    if isinstance(model, Graph):
        return _module_of(GraphModule(with_layer_names(model), Stage.HIR), sizes)
    if not isinstance(model, str | PathLike):
        raise UsageError(
            f"expected a network, got {described(model)}",
            where="model",
            hint="give what rlx.load returned, a graph, or a path; @rlx.model makes a function one",
        )
    path = Path(model)
    return frontends.load(path, sizes=sizes), hashlib.sha256(path.read_bytes()).hexdigest()
