"""An artifact as bytes: a checked JSON header, and sections that are checked when used.

    prelude    magic, version, header length, file length, SHA-256 of these and the header
    header     JSON: the manifest, and the table of the sections
    sections   each from a multiple of 4096 on, with zeros between them

The header holds the SHA-256 of every section, so the prelude's digest stands
for the whole file. Digests find damage. They do not find malice: the sections
hold machine code, and whoever writes a file can write digests that fit.

Files may change while they are in use. One of ordinary size is read into memory
when it is opened. Of a larger one, sections are read when they are asked for,
checked in memory and kept there; only large weights are used where they are
mapped, and change, or end the process, with their file.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import struct
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from stagec.compiler.cache_file import HEADER_LIMIT, PAGE, read_aligned, write_whole
from stagec.core.errors import ArtifactError, message

MAGIC = b"STAGEC\r\n"  # a transfer in text mode would change the line ending
VERSION = 6

_FIELDS = struct.Struct("<8sIIQ")
_DIGEST_BYTES = 32
_PRELUDE_BYTES = _FIELDS.size + _DIGEST_BYTES
_INTEGER_DIGITS = 19
# Files up to this size are read whole, and weights from this size on are mapped where the file is not.
_WHOLE_BYTES = 16 << 20
_MAPPED_BYTES = 1 << 20
_TRANSFER = "copy or download the file again, in binary mode, and compare its size with the original's"


def refuse(path: str, what: str, fix: str = _TRANSFER) -> ArtifactError:
    """The error for a file that is not used; `what` continues the sentence that its name begins."""
    return ArtifactError(message(f"{path} is not loaded: {what}", fix=fix))


# Writing.


class SectionTable:
    """Sections to be written, each content once.

    >>> table = SectionTable()
    >>> table.add(b"code"), table.add(b"weights"), table.add(b"code")
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self.contents: list[memoryview] = []
        self._digests: list[bytes] = []
        self._known: dict[bytes, int] = {}

    def add(self, content: Any) -> int:
        """The number of the section with this content, made if it is new."""
        view = memoryview(content).cast("B")
        digest = hashlib.sha256(view).digest()
        number = self._known.get(digest)
        if number is None:
            number = self._known[digest] = len(self.contents)
            self.contents.append(view)
            self._digests.append(digest)
        return number

    def rows(self) -> list[list[Any]]:
        """`[offset, length, digest]` of each section; offsets count from the first page after the header."""
        rows: list[list[Any]] = []
        offset = 0
        for content, digest in zip(self.contents, self._digests):
            rows.append([offset, content.nbytes, digest.hex()])
            offset = _paged(offset + content.nbytes)
        return rows


def encode(manifest: Mapping[str, Any], table: SectionTable) -> list[Any]:
    """The parts of a file in their order, to be written one after the other.

    Raises:
      ArtifactError: the header is larger than readers accept.
    """
    rows = table.rows()
    text = json.dumps({"manifest": dict(manifest), "sections": rows}, separators=(",", ":"), allow_nan=False)
    header = text.encode("ascii")
    if len(header) > HEADER_LIMIT:
        raise ArtifactError(
            message(
                f"the header would have {len(header)} bytes, more than the {HEADER_LIMIT} that are read",
                fix="save the functions to several files",
            )
        )
    start = _paged(_PRELUDE_BYTES + len(header))
    length = start + (rows[-1][0] + rows[-1][1] if rows else 0)
    fields = _FIELDS.pack(MAGIC, VERSION, len(header), length)
    parts: list[Any] = [fields, hashlib.sha256(fields + header).digest(), header]
    at = _PRELUDE_BYTES + len(header)
    for (offset, size, _), content in zip(rows, table.contents):
        parts += [bytes(start + offset - at), content]
        at = start + offset + size
    if not rows:
        parts.append(bytes(start - at))
    return parts


def write(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write a file so that a reader sees all of it or what was there before.

    Raises:
      OSError: the file cannot be written.
    """
    path = os.path.abspath(os.fspath(path))
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        write_whole(path, temporary, parts, 0o666, lasting=True)
    except OSError as error:
        if error.filename != temporary:
            raise
        # The user knows the name that they gave.
        raise type(error)(error.errno, error.strerror, path) from None


# Reading.


class _Memory:
    """The content of an artifact in memory."""

    def __init__(self, view: memoryview) -> None:
        self._view = view.toreadonly()
        self.nbytes = view.nbytes

    def read(self, start: int, size: int) -> memoryview:
        return self._view[start : start + size]

    mapped = read


class _File:
    """A large artifact, read in parts. If the file has become shorter, less is returned."""

    def __init__(self, fd: int, size: int) -> None:
        self.nbytes = size
        # A descriptor of its own, which is closed with the object.
        self._map = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        self._fd = os.dup(fd)
        weakref.finalize(self, os.close, self._fd)

    def read(self, start: int, size: int) -> memoryview:
        return read_aligned(self._fd, size, start)

    def mapped(self, start: int, size: int) -> memoryview:
        return memoryview(self._map)[start : start + size]


class Container:
    """An opened file: its manifest, and its sections, which are checked when they are asked for.

    Attributes:
      path: the file's name in messages.
      source: the file's absolute path, or empty for content that came from elsewhere.
      manifest: the JSON value that was written.
      digest: SHA-256 that stands for the whole content.
    """

    def __init__(self, content: memoryview | _File, path: str, source: str = "") -> None:
        self.path = path
        self.source = source
        self._content = content if isinstance(content, _File) else _Memory(content)
        self.nbytes = self._content.nbytes
        prelude = self._content.read(0, _PRELUDE_BYTES)
        header_bytes, digest = self._prelude(prelude)
        header = self._content.read(_PRELUDE_BYTES, header_bytes)
        found = hashlib.sha256(prelude[: _FIELDS.size])
        found.update(header)
        if found.digest() != digest:
            raise refuse(path, "its header does not match its checksum, so the file is damaged")
        self.digest = digest.hex()
        value = _json(bytes(header), path)
        if not isinstance(value, dict) or value.keys() != {"manifest", "sections"}:
            raise refuse(path, "its header is not a manifest with a table of sections")
        self.manifest: Any = value["manifest"]
        self._rows = self._table(value["sections"], _PRELUDE_BYTES + header_bytes)
        self._sound: dict[int, memoryview] = {}

    def content(self) -> memoryview:
        """All bytes, unchecked."""
        return self._content.read(0, self.nbytes)

    def __len__(self) -> int:
        return len(self._rows)

    def size(self, number: int) -> int:
        """Bytes of a section."""
        return self._rows[number][1]

    def section(self, number: int, what: str, *, weight: bool = False) -> memoryview:
        """A section's bytes, checked.

        Args:
          what: what it holds, for errors.
          weight: whether it may stay in the file if it is large.

        Raises:
          ArtifactError: it does not match its checksum.
        """
        found = self._sound.get(number)
        if found is None:
            found = self._sound[number] = self._checked(number, what, weight)
        return found

    def _checked(self, number: int, what: str, may_map: bool) -> memoryview:
        start, size, digest = self._rows[number]
        found = (self._content.mapped if may_map and size >= _MAPPED_BYTES else self._content.read)(start, size)
        if hashlib.sha256(found).hexdigest() != digest:
            raise refuse(self.path, f"{what} does not match its checksum, so the file is damaged, or was changed")
        return found

    def check_all(self) -> None:
        """Check every section.

        Raises:
          ArtifactError: one does not match its checksum.
        """
        for number in range(len(self)):
            self._checked(number, f"section {number}", True)

    def _prelude(self, prelude: memoryview) -> tuple[int, bytes]:
        path, nbytes = self.path, self.nbytes
        if prelude.nbytes < _PRELUDE_BYTES:
            what = f"it ends after {prelude.nbytes} bytes" if prelude.nbytes else "it is empty"
            raise refuse(path, f"{what}, so it is not an artifact")
        magic, version, header_bytes, file_bytes = _FIELDS.unpack(prelude[: _FIELDS.size])
        if magic != MAGIC:
            if bytes(magic[:6]) == MAGIC[:6]:
                raise refuse(path, "its line endings were changed, so the file is damaged")
            raise refuse(path, "it is not an artifact", "name a file that `stagec compile` or `.save` made")
        if version != VERSION:
            fix = "load it with the version of stagec that made it, or export the function again"
            raise refuse(path, f"it has format {version}, and this stagec reads format {VERSION}", fix)
        if file_bytes != nbytes:
            raise refuse(path, f"it has {nbytes} bytes instead of {file_bytes}, so it is truncated or damaged")
        if header_bytes > HEADER_LIMIT or _PRELUDE_BYTES + header_bytes > nbytes:
            raise refuse(path, f"its header claims {header_bytes} bytes")
        return header_bytes, bytes(prelude[_FIELDS.size :])

    def _table(self, rows: Any, header_end: int) -> list[tuple[int, int, str]]:
        """The rows with absolute offsets; raises unless the sections follow one another and fill the file."""
        if not isinstance(rows, list):
            raise self._bad_table()
        start = _paged(header_end)
        table: list[tuple[int, int, str]] = []
        end = header_end
        for row in rows:
            if not (isinstance(row, list) and len(row) == 3):
                raise self._bad_table()
            offset, size, digest = row
            if type(offset) is not int or type(size) is not int or not _is_digest(digest) or size < 0:
                raise self._bad_table()
            if offset != (_paged(end) - start) or start + offset + size > self.nbytes:
                raise self._bad_table()
            self._check_padding(end, start + offset)
            table.append((start + offset, size, digest))
            end = start + offset + size
        if not table:
            self._check_padding(end, min(start, self.nbytes))
            end = start
        if end != self.nbytes:
            raise self._bad_table()
        return table

    def _bad_table(self) -> ArtifactError:
        return refuse(self.path, "its table of sections does not describe the file")

    def _check_padding(self, start: int, end: int) -> None:
        if any(self._content.read(start, end - start)):
            raise refuse(self.path, "the padding between its sections is not zero, so the file is damaged")


def open_path(path: str | os.PathLike[str]) -> Container:
    """Read a file, or what is needed of a large one, and check its header.

    Raises:
      OSError: it cannot be opened.
      ArtifactError: it is not an artifact, or it is damaged.
    """
    name = os.fspath(path)
    # A pipe must not block.
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    fd = os.open(name, flags)
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(21, "Is a directory", name)
        if not stat.S_ISREG(status.st_mode):
            raise refuse(name, "it is not a regular file", "copy its content to a file")
        if status.st_size <= _WHOLE_BYTES:
            return Container(read_aligned(fd, status.st_size), name, os.path.abspath(name))
        try:
            return Container(_File(fd, status.st_size), name, os.path.abspath(name))
        except ValueError as error:  # it has just become shorter
            raise refuse(name, "it is truncated") from error
    finally:
        os.close(fd)


def _paged(offset: int) -> int:
    return -(-offset // PAGE) * PAGE


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _json(data: bytes, path: str) -> Any:
    """A JSON value; raises for duplicate keys and for numbers that readers could interpret differently."""

    def object_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a key is given twice")
        return made

    def integer(text: str) -> int:
        if len(text) > _INTEGER_DIGITS:
            raise ValueError("an integer is too large")
        return int(text)

    def other(text: str) -> NoReturn:
        raise ValueError(f"{text[:20]} is not allowed")

    try:
        return json.loads(
            data.decode("ascii"),
            object_pairs_hook=object_of,
            parse_int=integer,
            parse_float=other,
            parse_constant=other,
        )
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise refuse(path, f"its header is not the JSON that stagec writes ({what[:80]})") from None
