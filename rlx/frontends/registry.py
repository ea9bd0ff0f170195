"""Find the frontend of a model file: by its first bytes, then by the end of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rlx.frontends.foreign import foreign
from rlx.frontends.onnx.options import OnnxOptions
from rlx.frontends.open_shapes import OpenInput
from rlx.frontends.reading import check_size, read_start
from rlx.frontends.tflite.options import TfliteOptions
from rlx.ir.layer_names import with_named_layers
from rlx.support import plugins
from rlx.support.annotations import mismatch
from rlx.support.errors import (
    FormatError,
    FrontendError,
    InternalError,
    RlxError,
    TargetNotFoundError,
    UsageError,
)
from rlx.support.limits import DEFAULT_LIMITS, Limits
from rlx.support.text.names import printable, shorten
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.frontends.open_shapes import DimensionSizes
    from rlx.ir.module import GraphModule

GROUP: Final = "rlx.frontends"
_START_BYTES = 16
"""Bytes of a file that its frontend is found by."""


class Frontend(Protocol):
    """Interface of the entry points of the group ``rlx.frontends``.

    It may have an attribute ``api``, the version of this interface that it is written for
    (:data:`rlx.support.plugins.API`).
    """

    @property
    def name(self) -> str:
        """Name of the format, for ``format=``, ``--format`` and messages."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Ends of file names, with the dot, in lower case."""

    @property
    def options(self) -> type[Any]:
        """Frozen dataclass with a default for every field, as :class:`rlx.targets.Target` has one.

        Commands that read a model offer its fields as command-line options. :class:`NoOptions` is
        one without any.
        """

    def claims(self, start: bytes) -> bool:
        """Return whether a file that begins with ``start`` (up to 16 bytes) is of this format."""

    def load(self, path: Path, options: Any, limits: Limits) -> GraphModule:  # noqa: ANN401
        """Import a file; raises only errors of ``rlx.support.errors``.

        Args:
            path: The file.
            options: Instance of ``options``.
            limits: Limits on the size of the model.
        """


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a format that has none."""


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """A frontend of this package, imported when it is first used."""

    name: str
    suffixes: tuple[str, ...]
    claims: Callable[[bytes], bool]
    read: Callable[[Path, Any, Limits], GraphModule]
    options: type[Any] = NoOptions
    sized: Callable[[Path, Any, Limits, DimensionSizes], GraphModule] | None = None

    def load(self, path: Path, options: Any, limits: Limits) -> GraphModule:  # noqa: ANN401
        return self.read(path, options, limits)


def _load_onnx(
    path: Path, options: OnnxOptions, limits: Limits, sizes: DimensionSizes | None = None
) -> GraphModule:
    from rlx.frontends.onnx import frontend as onnx

    return onnx.load(path, options=options, limits=limits, sizes=sizes)


def _load_tflite(path: Path, options: TfliteOptions, limits: Limits) -> GraphModule:
    from rlx.frontends.tflite import frontend as tflite

    return tflite.load(path, options=options, limits=limits)


def _load_rlx(path: Path, options: NoOptions, limits: Limits) -> GraphModule:
    del options
    import rlx.ops  # noqa: F401 - a file may hold any of our ops
    from rlx.frontends.refusal import FileRefusedError
    from rlx.frontends.work import check_work
    from rlx.ir import file

    check_size(path, limits)
    module = file.read(path, limits=limits)
    try:
        # Before the module is verified, which looks at every weight of every layer.
        check_work(module.graph, limits)
    except FileRefusedError as error:
        raise error.public(shorten(printable(path.name))) from None
    file.verify_read(module, path)
    return module


def _is_safetensors(start: bytes) -> bool:
    """Return whether a file begins like safetensors: the length of a header, then JSON."""
    return start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32


def _is_onnx(start: bytes) -> bool:
    """Return whether a file begins like ONNX: the format's version, then another field of it."""
    # 0x08 is the tag of field 1, ir_version; opset_import came with its version 3.
    if start[:1] != b"\x08" or not 3 <= (start[1:2] or b"\0")[0] < 64:
        return False
    return start[2:3] in _FIELDS and not foreign.begins_like_core_ml(start)


# First bytes of the fields of ONNX's ModelProto that may follow its version.
_FIELDS = (b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42", b"\x72")

_BUILT_IN: tuple[Frontend, ...] = (
    _BuiltIn(
        "tflite", (".tflite", ".lite"), lambda s: s[4:8] == b"TFL3", _load_tflite, TfliteOptions
    ),
    _BuiltIn("rlx", (".rlx",), _is_safetensors, _load_rlx),
    _BuiltIn("onnx", (".onnx",), _is_onnx, _load_onnx, OnnxOptions, _load_onnx),
)


def formats() -> tuple[str, ...]:
    """Return the names of the formats that can be read, plug-ins included."""
    return tuple(f.name for f in frontends())


def frontends() -> tuple[Frontend, ...]:
    """Return the frontends of this package, then those of plug-ins by name."""
    return (*_BUILT_IN, *plugins.load_all(GROUP))


def load(
    path: str | Path,
    format: str = "auto",
    *,
    options: Any = None,  # noqa: ANN401 - the format's own class
    limits: Limits = DEFAULT_LIMITS,
    sizes: DimensionSizes | None = None,
    **settings: Any,  # noqa: ANN401 - each format's own
) -> GraphModule:
    """Import a model file.

    Args:
        path: The file.
        format: Name of its format, or ``auto`` to look at its first bytes and its name.
        options: Instance of the options class of the file's frontend, or a mapping; None for the
            defaults.
        limits: Limits on the size of the model.
        sizes: Fixes the dimensions that the file leaves open; None to keep them as symbols.
        settings: Options of the file's format by name, in place of ``options``: for TFLite and ONNX
            ``input_shape={"x": (1, 3, 224, 224)}``, for ONNX ``channels_last=True``,
            ``allow_external=True``, ``input_value={"rate": 16000}``, ``outputs=["scores"]``. A
            text is read as on the command line.

    Raises:
        UsageError: The file cannot be read, ``format`` is unknown, the options are those of
            another format, or nothing says how large a dimension is.
        TargetNotFoundError: The format's frontend cannot be used.
        FormatError: The file is of a format that rlx does not read.
        FrontendError: The file is malformed or over a limit.
        UnsupportedOpError: It holds operators that rlx does not import.
    """
    path = Path(path)
    frontend = find(path, format)
    if isinstance(options, Mapping):
        settings, options = {**options, **settings}, None
    if settings:
        options = _options_of(frontend, settings, path, options=options)
    elif options is None:
        options = frontend.options()
    elif not isinstance(options, frontend.options):
        raise UsageError(
            f"the options are {type(options).__name__}, but the format {frontend.name!r} takes "
            f"{frontend.options.__name__}",
            where=shorten(printable(path.name)),
            hint="give them by name, as rlx.load(path, channels_last=True)",
        )
    sized = getattr(frontend, "sized", None)
    if sizes is not None and sized is not None:
        read: GraphModule = sized(path, options, limits, sizes)
        return with_named_layers(read)
    module = with_named_layers(_read(frontend, path, options, limits))
    return module if sizes is None else with_sizes(module, sizes)


def _read(frontend: Frontend, path: Path, options: object, limits: Limits) -> GraphModule:
    """Return a file's graph; an unexpected error of a plug-in names its package."""
    try:
        return frontend.load(path, options, limits)
    except RlxError:
        raise
    except Exception as error:
        if frontend in _BUILT_IN:
            raise
        raise InternalError(
            f"the frontend {frontend.name!r} failed: {type(error).__name__}: {error}",
            where=shorten(printable(path.name)),
            hint="it is of another package than rlx: report it there, with the lines above",
        ) from error


def with_sizes(module: GraphModule, sizes: DimensionSizes) -> GraphModule:
    """Return a module with its symbols bound, as far as samples and batches fix them."""
    from rlx.passes.transforms.bind import bind, symbols

    names = symbols(module.graph)
    if not names:
        return module
    inputs = [
        OpenInput(v.name, tuple(d if isinstance(d, int) else str(d) for d in v.type.shape))
        for v in module.graph.inputs
    ]
    sizes_by_name = sizes.known(inputs)
    return bind(module, {name: size for name, size in sizes_by_name.items() if name in names})


def _options_of(
    frontend: Frontend, settings: dict[str, Any], path: Path, *, options: object
) -> Any:  # noqa: ANN401 - the format's own class
    """Return the options object of a format, of options by name.

    Raises:
        UsageError: The format has no such option, or the value is none of it.
    """
    where = shorten(printable(path.name))
    if options is not None:
        raise UsageError(
            f"got options and {next(iter(settings))!r}, expected one of them",
            where=where, hint="give one or the other",
        )  # fmt: skip
    known = {f.name: f for f in fields(frontend.options)}
    values = {}
    for name, value in settings.items():
        if name not in known:
            hint = did_you_mean(name, known, what="its options") if known else "leave it out"
            raise UsageError(
                f"the format {frontend.name!r} has no option {name!r}", where=where, hint=hint
            )
        parse = known[name].metadata.get("parse")
        try:
            values[name] = parse(value) if parse and isinstance(value, str) else value
        except ValueError as error:
            message, _, example = str(error).partition(": write ")
            hint = f"write {example}" if example else f"see {frontend.options.__name__}"
            raise UsageError(message, where=name, hint=hint) from None
        if problem := mismatch(known[name].type, values[name]):
            raise UsageError(problem, where=name, hint=known[name].metadata.get("help", ""))
    return frontend.options(**values)


def find(path: Path, format: str = "auto") -> Frontend:
    """Return the frontend of a file.

    Args:
        path: The file; it is read only if ``format`` is ``auto``.
        format: Name of its format, or ``auto`` to look at its first bytes and its name.

    Raises:
        UsageError: The file cannot be read or is a folder, or ``format`` is unknown.
        TargetNotFoundError: The frontend of ``format`` cannot be used.
        FormatError: The file, or the folder, is of a format that rlx does not read.
        FrontendError: The file is empty.
    """
    if format != "auto":
        return _named(format)
    known = frontends()
    if path.is_dir():
        raise foreign.refuse_folder(path)
    start = read_start(path, _START_BYTES)
    for frontend in known:
        if _claims(frontend, start):
            if frontend.name == "rlx" and foreign.is_weights(path):
                raise foreign.refuse_weights(path)
            return frontend
    return _by_name(path, known, empty=not start)


def _claims(frontend: Frontend, start: bytes) -> bool:
    """Return whether a file is of a format; one whose frontend fails is passed over."""
    if frontend in _BUILT_IN:
        return frontend.claims(start)
    try:
        return bool(frontend.claims(start))
    except Exception as error:  # code of other packages
        plugins.warn_of(plugins.failure(f"frontend {frontend.name!r}", "claims", error))
        return False


def _named(name: str) -> Frontend:
    """Return the frontend of a format that the user named."""
    if problem := plugins.problem_of(GROUP, name):
        raise TargetNotFoundError(str(problem), hint=problem.hint)
    known = frontends()
    for frontend in known:
        if frontend.name == name:
            return frontend
    raise UsageError(
        f"no format is called {name!r}",
        hint=did_you_mean(name, (f.name for f in known), what="formats"),
    )


def _by_name(path: Path, known: Sequence[Frontend], *, empty: bool) -> Frontend:
    """Return the frontend for the end of a file's name, unless its content is something else.

    Formats of plug-ins are tried before guesses by content, which may match them too.
    """
    where = shorten(printable(path.name))
    named = next((f for f in known if path.suffix.lower() in f.suffixes), None)
    if named is not None and named not in _BUILT_IN:
        return named
    if empty:
        raise FrontendError(
            "the file is empty",
            where=where,
            hint="copy or download it again, or convert the model again",
        )
    kind = foreign.kind_of(path)
    if kind is not None:
        raise foreign.refuse(path, kind)
    if named is not None:
        return named
    raise FormatError(
        f"neither the first bytes nor the name show what it is; {foreign.READS}",
        where=where,
        hint=f"if it is of a format that rlx reads, name that: --format {known[0].name};"
        f" formats: {', '.join(f.name for f in known)}",
    )
