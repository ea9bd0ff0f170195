"""Results of a comparison of two networks: figures of outputs, of layers and of the whole.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import printable
from rlx.metrics.criteria import criteria_of
from rlx.support.errors import DifferenceError, UsageError
from rlx.support.text.notebook import report_html, table_html
from rlx.support.text.tables import Column, Table, lay_out, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.metrics.classes import Classes
    from rlx.metrics.criteria import Criteria
    from rlx.metrics.figures import Closeness

    Pair = tuple[float, float]

MAX_WORST_LAYERS: Final = 3
"""Layers that a report names as the ones that lose most."""


@dataclass(frozen=True, slots=True, repr=False)
class OutputFigures:
    """Closeness of an output in both networks.

    Attributes:
        name: Its name in the first network.
        closeness: The figures.
        failures: Criteria that are not kept, a sentence each.
        classes: Agreement of both on the class; None where the output has none.
        span: Magnitude that its values reach by definition, such as 1 of a sigmoid; 0 if unknown.
    """

    name: str
    closeness: Closeness
    failures: tuple[str, ...] = ()
    classes: Classes | None = None
    span: float = 0.0

    def __repr__(self) -> str:
        failures = "".join(f"; {text}" for text in self.failures)
        return f"<output {printable(self.name)!r}: {self.closeness}{failures}>"

    @property
    def agreement(self) -> float | None:
        """Share of classes that are the same; None where the output has none."""
        return None if self.classes is None else self.classes.agreement

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        own = {"name": self.name, "failures": list(self.failures), "agreement": self.agreement}
        return own | self.closeness.details()


@dataclass(frozen=True, slots=True, repr=False)
class LayerFigures:
    """Closeness of a layer's results in both networks.

    Attributes:
        name: Its one name.
        place: Its origin, such as ``operator 3 CONV_2D``.
        op: The op of its main node in the first network.
        closeness: The figures.
        key: Its name in the model and its origin, which identify it.
        origins: Nodes of the model of which it was made.
        moves_only: Whether it moves values and computes none.
    """

    name: str
    place: str
    op: str
    closeness: Closeness
    key: tuple[str, str] = ("", "")
    origins: tuple[str, ...] = ()
    moves_only: bool = False

    def __repr__(self) -> str:
        return f"<{self.op} {printable(self.name)!r}: {self.closeness}>"

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        own = {
            "name": self.name,
            "place": self.place,
            "origins": list(self.origins),
            "op": self.op,
        }
        return own | self.closeness.details()


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Results of the comparison of two networks.

    Attributes:
        samples: Samples compared.
        agreement: Share of samples for which both have the same class, of the output where it is
            smallest; None without classes.
        top1: Shares of correct classes, of the first and the second network; None without labels.
        auc: Areas under the receiver operating characteristic, where labels are 0 and 1; else None.
        reconstruction: Mean squared difference between input and output of both, where the output
            has the input's shape; else None.
        outputs: Closeness of each output.
        layers: Layers with the same name in both, and other nodes that were matched, in order.
        criteria: Criteria that the outputs must keep; None if nothing was asked for.
        main: Place of the output that labels, if any, are compared with.
        equalized: Layers that are not compared: one network has their channels scaled on purpose.
    """

    samples: int
    agreement: float | None
    top1: tuple[float, float] | None
    auc: tuple[float, float] | None
    reconstruction: tuple[float, float] | None
    outputs: tuple[OutputFigures, ...]
    layers: tuple[LayerFigures, ...]
    criteria: Criteria | None = None
    main: int = 0
    equalized: tuple[str, ...] = ()

    @property
    def output(self) -> Closeness:
        """Closeness of the first outputs."""
        return self.outputs[0].closeness

    @property
    def passed(self) -> bool | None:
        """Whether every output keeps the criteria; None if there are none."""
        return None if self.criteria is None else not any(o.failures for o in self.outputs)

    def judged(self, criteria: Criteria | str) -> Comparison:
        """Return the same with other criteria."""
        wanted = criteria_of(criteria)
        outputs = tuple(replace(o, failures=wanted.failures(o.closeness)) for o in self.outputs)
        return replace(self, criteria=wanted, outputs=outputs)

    def require(self, criteria: Criteria | str | None = None) -> Comparison:
        """Return the comparison if every output keeps the criteria.

        Args:
            criteria: Others than those of the comparison.

        Raises:
            DifferenceError: An output does not; the message has every reason.
            UsageError: No criterion is given.
        """
        judged = self if criteria is None else self.judged(criteria)
        if judged.criteria is None:
            raise UsageError(
                "expected criteria, got none",
                where="comparison",
                hint="give some: require('strict'), or Criteria(max_abs=1e-3)",
            )
        reasons = [
            f"output {printable(o.name)!r}: {text}" for o in judged.outputs for text in o.failures
        ]
        if reasons:
            raise DifferenceError("\n  ".join(reasons), where="comparison")
        return judged

    @property
    def worst(self) -> tuple[LayerFigures, ...]:
        """The layers that differ with the lowest ratios of signal to noise, the lowest first.

        Layers that only move values are left out: they lose nothing.
        """
        lossy = [one for one in self.layers if not one.moves_only and not one.closeness.exact]
        ranked = sorted(lossy, key=lambda layer: layer.closeness.sqnr_db)
        return tuple(ranked[:MAX_WORST_LAYERS])

    @property
    def drop(self) -> float:
        """Loss of the second network, as a share: of the output that loses most.

        Of correct classes, and of AUC where there are two classes (the one that loses more: with
        few samples a worse network may be right as often by chance); of reconstruction; without
        labels of agreement, else of precision.
        """
        labelled = [pair for pair in (self.top1, self.auc) if pair is not None]
        if (self.reconstruction is not None and self.auc is not None) or not labelled:
            return max(self._unlabelled_drop(), self._drop_of_others())
        return max(*(before - after for before, after in labelled), self._drop_of_others())

    def _unlabelled_drop(self) -> float:
        if self.reconstruction is not None:
            before, after = self.reconstruction
            return after / before - 1 if before else 0.0
        if self.agreement is not None:
            return 1 - self.agreement
        return _imprecision(self.outputs[self.main])

    def _drop_of_others(self) -> float:
        """Return the largest loss of outputs that neither labels nor classes judge."""
        others = [o for k, o in enumerate(self.outputs) if k != self.main]
        return max((_imprecision(o) for o in others if o.classes is None), default=0.0)

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures().items())
        return f"<Comparison: {figures}>"

    def __str__(self) -> str:
        return "\n".join(line.text for table in self.tables() for line in lay_out(table).lines)

    def _repr_html_(self) -> str:
        """Return the figures, and the tables of outputs and layers, that notebooks show."""
        facts = report_html("Comparison of two networks", self.figures())
        return facts + "".join(table_html(table) for table in self.tables())

    def tables(self) -> tuple[Table, ...]:
        """Return a row for each output, and one for each layer if some were compared."""
        outputs = [(o.name, *_cells(o.closeness)) for o in self.outputs]
        layers = [(v.name, v.op, *_cells(v.closeness)) for v in self.layers]
        shown = Table("outputs", (Column("output", shortest=12), *_FIGURES), tuple(outputs))
        heads = Column("layer", shortest=16), Column("op", priority=3)
        return (shown, *([Table("layers", (*heads, *_FIGURES), tuple(layers))] if layers else []))

    def figures(self) -> dict[str, str]:
        """Return the figures of the whole as text, by name."""
        pairs = {"top-1": self.top1, "AUC": self.auc, "reconstruction error": self.reconstruction}
        known = {
            name: f"{text_of(a)} and {text_of(b)}" for name, (a, b) in _present_pairs(pairs).items()
        }
        if self.agreement is not None:
            known["agreement"] = f"{self.agreement:.2%}"
        ratio = f"{min(o.closeness.sqnr_db for o in self.outputs):.1f} dB"
        verdict = {} if self.passed is None else {"passed": "yes" if self.passed else "no"}
        bad = sum(any(o.closeness.nonfinite) for o in self.outputs)
        broken = {"outputs with NaN or infinity": str(bad)} if bad else {}
        scaled = {"equalized layers, not compared": ", ".join(self.equalized)}
        return {
            "samples": f"{self.samples:,}",
            **known,
            "SQNR of the output": ratio,
            **broken,
            **(scaled if self.equalized else {}),
            **verdict,
        }

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "samples": self.samples,
            "agreement": self.agreement,
            "top1": _pair(self.top1),
            "auc": _pair(self.auc),
            "reconstruction": _pair(self.reconstruction),
            "drop": self.drop,
            "output": self.output.as_json(),
            "outputs": [output.as_json() for output in self.outputs],
            "criteria": None if self.criteria is None else str(self.criteria),
            "passed": self.passed,
            "layers": [layer.as_json() for layer in self.layers],
            "worst": [layer.name for layer in self.worst],
        }


_FIGURES: Final = (
    Column("largest", priority=2, meaning="largest difference of a value"),
    Column(
        "of largest",
        priority=4,
        meaning="the same, relative to the largest value of the first model",
    ),
    Column("mean", priority=2, meaning="mean difference"),
    Column("cosine", priority=1),
    Column("SQNR", "dB", meaning="ratio of signal to quantization noise"),
    Column("unequal", priority=3, meaning="values that are not the same"),
    Column("worst", priority=5, meaning="index of the largest difference, the sample first"),
    Column("NaN", priority=4, meaning="values that are NaN or infinite, in both models together"),
)


def _cells(figures: Closeness) -> tuple[object, ...]:
    worst = None if figures.worst is None else str(list(figures.worst.index))
    bad = sum(figures.nonfinite)
    return (
        figures.maximum,
        figures.relative_to_largest,
        figures.mean,
        figures.cosine,
        figures.as_json()["sqnr_db"],
        figures.unequal,
        worst,
        bad or None,
    )


def _imprecision(output: OutputFigures) -> float:
    """Return the noise of an output as a share of its signal, or of its range."""
    return min(output.closeness.noise_to(output.span), 1.0)


def _present_pairs(pairs: Mapping[str, Pair | None]) -> dict[str, Pair]:
    return {name: pair for name, pair in pairs.items() if pair is not None}


def _pair(figures: tuple[float, float] | None) -> dict[str, float] | None:
    return None if figures is None else {"first": figures[0], "second": figures[1]}
