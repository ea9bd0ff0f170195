"""Every error that rlx raises on purpose, and the exit status of each one on the command line.

A message has three parts, in this order: what is wrong (with the found and the expected value),
where (op, node or file), and what to do about it: ``hint``. Classes whose errors have one cause
have a hint of their own, ``default_hint``; a test checks that all others are raised with one.

Tests: tests/unit/test_hints.py
"""

from __future__ import annotations

from typing import Any, ClassVar

from rlx.support.spelling import spelled, spelled_option


class RlxError(Exception):
    """Base of all errors that a caller of rlx may catch.

    Its texts name options and commands as their reader writes them, on the command line or in
    Python (:mod:`rlx.support.spelling`).

    Attributes:
        own_hint: The hint that was given, or None: for those who raise the error as another class.
        code: Stable identifier that the command line prints, ``RLX-Ennn``.
        exit_status: Exit status of the command line for this class.
    """

    code: ClassVar[str] = "RLX-E000"
    exit_status: ClassVar[int] = 2
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self._message = message
        self._where = where
        self.own_hint = hint
        self._hint = hint or self.default_hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts of a pickled error: that of a worker is raised in the process it is of.

        Classes may have other arguments than the base class.
        """
        return _unpickled, (type(self), self.args, self.__dict__)

    @property
    def message(self) -> str:
        """Description of the problem."""
        return spelled(self._message)

    @property
    def where(self) -> str | None:
        """Op, node, file or option concerned, or None."""
        return self._where and spelled_option(self._where)

    @property
    def hint(self) -> str:
        """Advice about it; that of the class if none was given."""
        return spelled(self._hint)

    @hint.setter
    def hint(self, text: str) -> None:
        self._hint = text

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = [indented("  hint: ", self.hint)] if self.own_hint else []
        return "\n".join([f"{place}{self.message}", *advice])


def _unpickled(kind: type[RlxError], args: tuple[Any, ...], state: dict[str, Any]) -> RlxError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def indented(label: str, text: str) -> str:
    """Return ``text`` after ``label``, its further lines two columns to the right of the first."""
    first, *others = text.split("\n")
    margin = " " * (len(label) + 2)
    return "\n".join([label + first, *(margin + line for line in others)])


class UsageError(RlxError):
    """An option or argument of the user does not make sense."""

    code = "RLX-E001"
    exit_status = 2


class ShapeError(RlxError):
    """Operand shapes, element types or attributes do not fit an op."""

    code = "RLX-E010"
    exit_status = 4
    default_hint = (
        "compare the operands with what the op takes; the docstring of its class says what that is"
    )


class VerifyError(RlxError):
    """A graph breaks an invariant of its stage."""

    code = "RLX-E011"
    exit_status = 4
    default_hint = (
        "if your own program made or changed the graph, correct what is named; otherwise "
        "import the model again, and report it if that does not help"
    )


class TextFormError(RlxError):
    """The text form of a graph cannot be read."""

    code = "RLX-E012"
    exit_status = 4
    default_hint = "write it as 'rlx inspect MODEL --text' prints it"


class FrontendError(RlxError):
    """A model file is malformed: truncated, inconsistent or over a limit."""

    code = "RLX-E007"
    exit_status = 4


class FormatError(FrontendError):
    """A file is sound as far as anyone can see, but of a format that rlx does not read."""

    code = "RLX-E008"
    exit_status = 4


class QuantizationError(RlxError):
    """No valid scale, range or calibration."""

    code = "RLX-E030"
    exit_status = 5
    default_hint = (
        "calibrate with inputs like those in use: rlx quantize MODEL --calib SAMPLES.npz -o "
        "MODEL.q.rlx"
    )


class UnsupportedOpError(RlxError):
    """A frontend or a target has no rule for an op (the reason is in the message)."""

    code = "RLX-E041"
    exit_status = 5
    default_hint = (
        "express the layer by other operators, or take another target: 'rlx check MODEL "
        "--target NAME' shows what becomes of each op"
    )


class EmitError(RlxError):
    """The design cannot be emitted as asked: ports, widths, names."""

    code = "RLX-E050"
    exit_status = 5


class DoesNotFitError(RlxError):
    """The design needs more memory or resources than the limits given."""

    code = "RLX-E112"
    exit_status = 3


class TargetNotFoundError(RlxError):
    """No installed package provides the named target or plug-in, or it cannot be loaded."""

    code = "RLX-E060"
    exit_status = 6


class ToolMissingError(RlxError):
    """An external program that the task needs is not installed."""

    code = "RLX-E061"
    exit_status = 6


class OutputError(RlxError):
    """The output folder cannot be written, or is not ours to replace."""

    code = "RLX-E070"
    exit_status = 2


class StreamError(OutputError):
    """Output of a command cannot be written: the device is full, or its reader has ended."""

    code = "RLX-E071"
    exit_status = 2


class SimulationError(RlxError):
    """A compiler or simulator failed or had unreadable output; carries its last lines."""

    code = "RLX-E080"
    exit_status = 1
    default_hint = (
        "'rlx doctor' shows the tools and their versions; if they are those that rlx was "
        "tested with, report it with the lines above"
    )


class TimeLimitError(SimulationError):
    """A compiler or simulator exceeded its time limit and was ended."""

    code = "RLX-E081"
    exit_status = 7


class WorkerError(RlxError):
    """A task of ``--executor`` ended every worker that ran it, or its executor is gone."""

    code = "RLX-E082"
    exit_status = 1


class DifferenceError(RlxError):
    """Two networks are further apart than allowed, or results are not the expected ones."""

    code = "RLX-E090"
    exit_status = 1
    default_hint = (
        "'rlx compare' shows the layers: look at the first one that is far apart, or allow more"
    )


class InternalError(RlxError):
    """A fault of rlx itself."""

    code = "RLX-E900"
    exit_status = 70


class EndedError(RlxError):
    """A signal ended the command; the exit status is 128 plus its number."""

    code = "RLX-E901"
    exit_status = 130


class PluginWarning(UserWarning):
    """A plug-in of another package cannot be used, and is left out."""


class BackendWarning(UserWarning):
    """A backend cannot be used, or not be trusted with a network; another one runs it."""


class CacheWarning(UserWarning):
    """A cache of compiled code, or one of its entries, cannot be used; work continues without."""


class GoldenWarning(UserWarning):
    """Golden results are too alike to test a network."""


class ModelWarning(UserWarning):
    """The interpreter of a model ignores something that the file states, and so does rlx."""
