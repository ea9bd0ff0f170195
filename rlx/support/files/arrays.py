"""Read arrays from untrusted ``.npy`` and ``.npz`` files.

NumPy's own reader allocates the size in a header and evaluates the header as Python. Here a header
is matched, its element type and shape are checked against the bytes that are there, and the size
that a compressed array unpacks to is limited, before anything is allocated. ``stored_arrays`` reads
large files a block at a time.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from rlx.support.errors import FrontendError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_UNPACKED_BYTES: Final = 256 << 20
"""Bytes to which the arrays of a compressed file may unpack, or the file's size if that is more."""

_NPY: Final = b"\x93NUMPY"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_MAX_HEADER_BYTES: Final = 10_000
"""Bytes of a header: the limit of ``numpy.load`` (``max_header_size``)."""
_MAX_DIMENSIONS: Final = 32
"""Maximum number of dimensions of an array, that of NumPy 1."""
_MAX_DIGITS: Final = 18
"""Maximum number of digits of a size: they fit 63 bits."""
_KINDS: Final = "biuf"
_METHODS: Final = {
    zipfile.ZIP_BZIP2: "bzip2",
    zipfile.ZIP_LZMA: "LZMA",
}  # fmt: skip
_ITEM: Final = re.compile(
    r"""\s*(['"])(?P<key>descr|fortran_order|shape)\1\s*:\s*
    (?P<value>'[^'\\]*'|"[^"\\]*"|True|False|\([\d\s,]*\))\s*(?:,|$)""",
    re.VERBOSE,
)
_LOCAL: Final = struct.Struct("<26xHH")
"""The header before a member of a .zip file, and there the lengths of name and extra field."""

_KEYS: Final = frozenset({"descr", "fortran_order", "shape"})

_AS_NPY: Final = "write it with numpy.save"
_AS_NPZ: Final = "write it with numpy.savez"
_NUMBERS: Final = "store integers or floats, as the model's inputs are"


def read_arrays(path: Path) -> dict[str, Array] | Array:
    """Return the array of a ``.npy`` file, or the arrays of a ``.npz`` file by name.

    Members of a ``.npz`` file that do not end in ``.npy`` are left out.

    Raises:
        FrontendError: The file cannot be read, is neither, is damaged, holds no numbers, or
            unpacks to more than :data:`MAX_UNPACKED_BYTES`.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(_NPY))
            file.seek(0)
            if start == _NPY:
                return _read_npy(file, path.stat().st_size, path.name)
            if start[:4] in _ZIP:
                return _read_npz(file, path.stat().st_size, path.name)
    except OSError as error:
        raise FrontendError(
            f"cannot be read: {(error.strerror or str(error)).lower()}",
            where=path.name,
            hint="give a .npy or .npz file",
        ) from None
    raise FrontendError(
        "is neither a .npy nor a .npz file: " + ("it is empty" if not start else _begins(start)),
        where=path.name,
        hint="read it in Python (a .csv file with numpy.loadtxt) and " + _AS_NPY,
    )


def read_npy(path: Path) -> Array:
    """Return the array of a ``.npy`` file.

    Raises:
        FrontendError: As :func:`read_arrays`; and for a ``.npz`` file.
    """
    found = read_arrays(path)
    if isinstance(found, dict):
        raise FrontendError("is a .npz file, not a .npy file", where=path.name, hint=_AS_NPY)
    return found


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a file that is read block by block, any number of times.

    Attributes:
        path: A ``.npy`` or ``.npz`` file.
        member: Name within a ``.npz`` file; None for a ``.npy`` file.
        dtype: Element type.
        shape: Shape.
        fortran: Whether the first index runs fastest; then the array is one block.
        offset: Place of the first element in the file, which can be mapped into memory from there;
            None if the array is compressed or of another byte order.
    """

    path: Path
    member: str | None
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int | None = None

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield the array in blocks of ``rows`` along the first axis, the last one shorter.

        Raises:
            FrontendError: The file is damaged or was changed.
        """
        where = self.path.name if self.member is None else f"{self.path.name}: {self.member}"
        if self.fortran or not self.shape:
            arrays = read_arrays(self.path)
            whole = arrays[(self.member or "").removesuffix(".npy")] if self.member else arrays
            assert isinstance(whole, np.ndarray)
            whole = whole.reshape(len(self), *self.shape[1:])
            yield from (whole[i : i + rows] for i in range(0, len(self), rows))
            return
        with _opened(self.path, self.member, where) as (file, _):
            _read_header(file, where)
            for start in range(0, len(self), rows):
                shape = (min(rows, len(self) - start), *self.shape[1:])
                byte_count = math.prod(shape) * self.dtype.itemsize
                content = bytearray(file.read(byte_count))
                if len(content) != byte_count:
                    raise FrontendError("ends too early", where=where, hint=_AS_NPY)
                array = np.frombuffer(content, self.dtype).reshape(shape)
                yield array.astype(self.dtype.newbyteorder("="), copy=False)


def stored_arrays(path: Path) -> dict[str, StoredArray]:
    """Return the arrays of a ``.npz`` file by name, or that of a ``.npy`` file as ``""``.

    Only headers are read. Compressed members may unpack to any size, because they are never
    unpacked as a whole.

    Raises:
        FrontendError: The file cannot be read, is neither, is damaged, or holds no numbers.
    """
    with path.open("rb") as file:
        start = file.read(len(_NPY))
    if start[:4] not in _ZIP:
        if start != _NPY:
            read_arrays(path)  # raises
        with _opened(path, None, path.name) as (file, size):
            return {"": _stored(file, size, path, None, 0)}
    arrays = {}
    with _archive(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        _check_members(members, sum(member.file_size for member in members), path.name)
    for member in members:
        member_path = f"{path.name}: {member.filename}"
        with _opened(path, member.filename, member_path) as (file, size):
            begin = _content_place(path, member)
            stored = _stored(file, size, path, member.filename, begin)
            arrays[member.filename.removesuffix(".npy")] = stored
    return arrays


def _content_place(path: Path, member: zipfile.ZipInfo) -> int | None:
    """Return the place of a member's content in the file; None if it is compressed."""
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        return None
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(_LOCAL.size)
    if len(header) != _LOCAL.size:
        return None
    name, extra = _LOCAL.unpack(header)
    return member.header_offset + _LOCAL.size + int(name) + int(extra)


def _stored(
    file: IO[bytes], size: int, path: Path, member: str | None, begin: int | None
) -> StoredArray:
    """Return the array that a header describes; its file form begins at ``begin``."""
    where = path.name if member is None else f"{path.name}: {member}"
    dtype, fortran, shape, used = _read_header(file, where)
    wanted = _check_size(dtype, shape, size - used, where)
    place = begin + used if begin is not None and dtype.isnative else None
    if place is not None and place + wanted > path.stat().st_size:
        raise FrontendError("ends too early", where=where, hint=_AS_NPY)
    return StoredArray(path, member, dtype, shape, fortran, place)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as error:
        raise FrontendError(
            f"is a damaged .npz file: {error}", where=path.name, hint=_AS_NPZ
        ) from None


@contextmanager
def _opened(path: Path, member: str | None, where: str) -> Iterator[tuple[IO[bytes], int]]:
    """Open an array's bytes; yield them and their number."""
    if member is None:
        with path.open("rb") as file:
            yield file, path.stat().st_size
        return
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream, archive.getinfo(member).file_size
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error) as error:
        raise FrontendError(f"is damaged: {error}", where=where, hint=_AS_NPZ) from None


def _read_npz(file: IO[bytes], size: int, where: str) -> dict[str, Array]:
    limit = max(MAX_UNPACKED_BYTES, size)
    try:
        with zipfile.ZipFile(file) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
            _check_members(members, limit, where)
            return {
                one.filename.removesuffix(".npy"): _read_member(archive, one, where)
                for one in members
            }
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as error:
        raise FrontendError(f"is a damaged .npz file: {error}", where=where, hint=_AS_NPZ) from None


def _check_members(members: list[zipfile.ZipInfo], limit: int, where: str) -> None:
    for member in members:
        member_path = f"{where}: {member.filename}"
        # Bit 0 of the general purpose flags: encrypted (ZIP file format specification, 4.4.4).
        if member.flag_bits & 1:
            raise FrontendError("is encrypted", where=member_path, hint=_AS_NPZ)
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            method = _METHODS.get(member.compress_type, f"method {member.compress_type}")
            raise FrontendError(f"is compressed by {method}", where=member_path, hint=_AS_NPZ)
    names: set[str] = set()
    for member in members:
        if member.filename in names:
            raise FrontendError("is there twice", where=f"{where}: {member.filename}", hint=_AS_NPZ)
        names.add(member.filename)
    total = sum(member.file_size for member in members)
    if total > limit:
        raise FrontendError(
            f"unpacks to {total} bytes, more than the {limit} that are read",
            where=where,
            hint="give fewer frames, or write it with numpy.savez (not compressed)",
        )


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> Array:
    member_path = f"{where}: {member.filename}"
    try:
        with archive.open(member) as file:
            array = _read_npy(file, member.file_size, member_path)
            file.read(1)  # at the end the checksum is compared
            return array
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error) as error:
        raise FrontendError(f"is damaged: {error}", where=member_path, hint=_AS_NPZ) from None


def _read_npy(file: IO[bytes], size: int, where: str) -> Array:
    """Return the array in a stream of ``size`` bytes."""
    dtype, fortran, shape, used = _read_header(file, where)
    wanted = _check_size(dtype, shape, size - used, where)
    content = bytearray(file.read(wanted))
    if len(content) != wanted:
        raise FrontendError(f"ends after {len(content)} bytes", where=where, hint=_AS_NPY)
    array = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _check_size(dtype: np.dtype[Any], shape: tuple[int, ...], size: int, where: str) -> int:
    """Return the bytes of an array's elements after checking that ``size`` bytes hold them."""
    byte_count = math.prod(shape) * dtype.itemsize
    if byte_count != size:
        raise FrontendError(
            f"expected {byte_count} bytes after its header, for {dtype}{list(shape)}, got {size}",
            where=where,
            hint=_AS_NPY,
        )
    return byte_count


def _read_header(file: IO[bytes], where: str) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """Return element type, whether in Fortran's order, shape, and bytes of a header."""
    start = file.read(8)
    if start[:6] != _NPY or len(start) < 8:
        raise FrontendError("expected an array in NumPy's format", where=where, hint=_AS_NPY)
    lengths = {1: "<H", 2: "<I", 3: "<I"}
    form = lengths.get(start[6])
    if form is None:
        raise FrontendError(
            f"has version {start[6]}.{start[7]} of NumPy's form, known are 1 to 3",
            where=where, hint=_AS_NPY,
        )  # fmt: skip
    field = file.read(struct.calcsize(form))
    length = struct.unpack(form, field)[0] if len(field) == struct.calcsize(form) else None
    text = b"" if length is None or length > _MAX_HEADER_BYTES else file.read(length)
    if length is None or len(text) != length:
        raise FrontendError("has a header that is cut or too long", where=where, hint=_AS_NPY)
    values = _header_values(text.decode("utf-8", errors="replace"), where)
    shape = tuple(int(part) for part in values["shape"].strip("()").split(",") if part.strip())
    if len(shape) > _MAX_DIMENSIONS:
        raise FrontendError(
            f"has {len(shape)} dimensions, at most {_MAX_DIMENSIONS} are read",
            where=where, hint=_AS_NPY,
        )  # fmt: skip
    # Eight bytes of magic and version, then the length of the header, then the header.
    used = 8 + len(field) + length
    return _dtype(values["descr"][1:-1], where), values["fortran_order"] == "True", shape, used


def _header_values(text: str, where: str) -> dict[str, str]:
    """Return the three entries of a header as text; evaluates nothing."""
    body = text.strip()
    inner = body[1:-1].strip() if body[:1] == "{" and body[-1:] == "}" else "?"
    values: dict[str, str] = {}
    while inner and (match := _ITEM.match(inner)):
        values[match["key"]] = match["value"]
        inner = inner[match.end() :].strip()
    kinds = {"descr": "'\"", "fortran_order": "TF", "shape": "("}
    wrong = inner or values.keys() != _KEYS
    wrong = wrong or any(value[0] not in kinds[key] for key, value in values.items())
    wrong = wrong or not _is_shape(values["shape"])
    if wrong:
        raise FrontendError(
            f"has a header that is not NumPy's: {text.strip()[:60]!a}", where=where, hint=_AS_NPY
        )
    return values


def _is_shape(text: str) -> bool:
    """Return whether a text is a tuple of sizes, none of them of absurd length."""
    parts = [part.strip() for part in text.strip("()").split(",")]
    sizes = parts[:-1] if parts[-1] == "" else parts
    one = len(sizes) == 1 and parts[-1] != ""  # "(3)" is an integer, not a tuple
    return not one and all(part.isdecimal() and len(part) <= _MAX_DIGITS for part in sizes)


def _dtype(text: str, where: str) -> np.dtype[Any]:
    if not re.fullmatch(r"[<>=|]?[a-zA-Z?]\d{0,2}", text) or text.lstrip("<>=|")[0] not in "?biuf":
        kind = "Python objects" if text.lstrip("<>=|")[:1] == "O" else f"elements {text[:20]!a}"
        raise FrontendError(f"holds {kind}, not numbers", where=where, hint=_NUMBERS)
    try:
        dtype = np.dtype(text)
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in _KINDS or dtype.itemsize > 8:
        raise FrontendError(f"holds elements {text!a}, not numbers", where=where, hint=_NUMBERS)
    return dtype


def _begins(start: bytes) -> str:
    return f"it begins with {start!r}"
