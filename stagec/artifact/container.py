"""A file of stagec as bytes: a checked JSON header, and sections that are checked when used.

Artifacts are such files, and so are entries of the disk cache.

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

import contextlib
import hashlib
import json
import mmap
import os
import stat
import struct
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from stagec.core.cached import cached_property
from stagec.core.errors import ArtifactError, message
from stagec.runtime.memory import aligned_empty

PAGE = 4096
HEADER_LIMIT = 16 << 20

_FIELDS = struct.Struct("<8sIIQ")
_DIGEST_BYTES = 32
_PRELUDE_BYTES = _FIELDS.size + _DIGEST_BYTES
_INTEGER_DIGITS = 19
_HEXADECIMAL = frozenset("0123456789abcdef")
# Files up to this size are read whole, and weights from this size on are mapped where the file is not.
_WHOLE_BYTES = 16 << 20
_MAPPED_BYTES = 1 << 20
_TRANSFER = "copy or download the file again, in binary mode, and compare its size with the original's"


class Format(NamedTuple):
    """A kind of file.

    Attributes:
      magic: its first bytes, with a line ending that a transfer in text mode would change.
      name: what such a file is called.
      refuse: `(path, what, fix) -> error`, for a file that is not used; `what` continues the sentence that its name
        begins.
      another, older: what helps where a file is of another kind, or of another version.
    """

    magic: bytes
    version: int
    name: str
    refuse: Callable[..., Exception]
    another: str = ""
    older: str = ""


def refuse(path: str, what: str, fix: str = _TRANSFER) -> ArtifactError:
    """The error for an artifact that is not used; `what` continues the sentence that its name begins."""
    return ArtifactError(message(f"{path} is not loaded: {what}", fix=fix))


ARTIFACT = Format(
    b"STAGEC\r\n",
    6,
    "an artifact",
    refuse,
    "name a file that `stagec compile` or `.save` made",
    "load it with the version of stagec that made it, or export the function again",
)


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


def encode(manifest: Mapping[str, Any], table: SectionTable, form: Format = ARTIFACT) -> list[Any]:
    """The parts of a file in their order, to be written one after the other.

    Raises:
      TypeError: the manifest holds something that JSON cannot.
      OverflowError: the header is larger than readers accept.
    """
    rows = table.rows()
    text = json.dumps({"manifest": dict(manifest), "sections": rows}, separators=(",", ":"), allow_nan=False)
    header = text.encode("ascii")
    if len(header) > HEADER_LIMIT:
        raise OverflowError(f"the header would have {len(header)} bytes, more than the {HEADER_LIMIT} that are read")
    start = _paged(_PRELUDE_BYTES + len(header))
    length = start + (rows[-1][0] + rows[-1][1] if rows else 0)
    fields = _FIELDS.pack(form.magic, form.version, len(header), length)
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


def write_whole(path: str, temporary: str, parts: Iterable[Any], mode: int, lasting: bool = False) -> None:
    """Write a file so that a reader sees all of it or what was there before.

    Args:
      temporary: the file's name until all of it is written.
      mode: the permissions of a new file.
      lasting: whether all of it is on the disk before the file has its name.

    Raises:
      OSError: the file cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    fd = os.open(temporary, flags, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            for part in parts:
                file.write(part)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read_aligned(fd: int, size: int, offset: int = 0) -> memoryview:
    """A part of a file at an address where compiled code may run; shorter where the file ends before."""
    memory: Any = memoryview(aligned_empty((size,), np.dtype(np.uint8)))  # type: ignore[arg-type]
    done = 0
    while done < size:
        # Not from the descriptor's own position, which a forked child shares.
        count = _read_into(fd, memory[done:], offset + done)
        if not count:
            break
        done += count
    return memory[:done].toreadonly()


def _read_into(fd: int, memory: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(fd, [memory], offset)
    os.lseek(fd, offset, os.SEEK_SET)  # Windows, which has no fork
    chunk = os.read(fd, memory.nbytes)
    memory[: len(chunk)] = chunk
    return len(chunk)


# Reading.


class _Memory:
    """The content of a file in memory."""

    def __init__(self, view: memoryview) -> None:
        self._view = view.toreadonly()
        self.nbytes = view.nbytes

    def read(self, start: int, size: int) -> memoryview:
        return self._view[start : start + size]

    mapped = read


class File:
    """A file that is read in parts. If it has become shorter, less is returned."""

    def __init__(self, fd: int, size: int) -> None:
        self.nbytes = size
        # A descriptor of its own, which is closed with the object.
        self._fd = os.dup(fd)
        weakref.finalize(self, os.close, self._fd)

    def read(self, start: int, size: int) -> memoryview:
        return read_aligned(self._fd, size, start)

    def mapped(self, start: int, size: int) -> memoryview:
        try:
            return memoryview(self._map)[start : start + size]
        except ValueError:  # it has become shorter
            return self.read(start, size)

    @cached_property
    def _map(self) -> mmap.mmap:
        return mmap.mmap(self._fd, self.nbytes, access=mmap.ACCESS_READ)


class Container:
    """An opened file: its manifest, and its sections, which are checked when they are asked for.

    Attributes:
      form: the kind of file that it has to be.
      path: the file's name in messages.
      source: the file's absolute path, or empty for content that came from elsewhere.
      manifest: the JSON value that was written.
      digest: SHA-256 that stands for the whole content.
    """

    def __init__(self, content: memoryview | File, path: str, source: str = "", form: Format = ARTIFACT) -> None:
        self.form = form
        self.path = path
        self.source = source
        self._content = content if isinstance(content, File) else _Memory(content)
        self.nbytes = self._content.nbytes
        prelude = self._content.read(0, _PRELUDE_BYTES)
        header_bytes, digest = self._prelude(prelude)
        header = self._content.read(_PRELUDE_BYTES, header_bytes)
        found = hashlib.sha256(prelude[: _FIELDS.size])
        found.update(header)
        if found.digest() != digest:
            raise self._refused("its header does not match its checksum, so the file is damaged")
        self.digest = digest.hex()
        value = self._json(bytes(header))
        if not isinstance(value, dict) or value.keys() != {"manifest", "sections"}:
            raise self._refused("its header is not a manifest with a table of sections")
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
          Exception: it does not match its checksum; as all errors here, as `form` says.
        """
        found = self._sound.get(number)
        if found is None:
            found = self._sound[number] = self._checked(number, what, weight)
        return found

    def _checked(self, number: int, what: str, may_map: bool) -> memoryview:
        start, size, digest = self._rows[number]
        found = (self._content.mapped if may_map and size >= _MAPPED_BYTES else self._content.read)(start, size)
        if hashlib.sha256(found).hexdigest() != digest:
            raise self._refused(f"{what} does not match its checksum, so the file is damaged, or was changed")
        return found

    def check_all(self) -> None:
        """Check every section.

        Raises:
          Exception: one does not match its checksum.
        """
        for number in range(len(self)):
            self._checked(number, f"section {number}", True)

    def _refused(self, what: str, fix: str = _TRANSFER) -> Exception:
        return self.form.refuse(self.path, what, fix)

    def _prelude(self, prelude: memoryview) -> tuple[int, bytes]:
        form, nbytes = self.form, self.nbytes
        if prelude.nbytes < _PRELUDE_BYTES:
            what = f"it ends after {prelude.nbytes} bytes" if prelude.nbytes else "it is empty"
            raise self._refused(f"{what}, so it is not {form.name}")
        magic, version, header_bytes, file_bytes = _FIELDS.unpack(prelude[: _FIELDS.size])
        if magic != form.magic:
            if bytes(magic[:6]) == form.magic[:6]:
                raise self._refused("its line endings were changed, so the file is damaged")
            raise self._refused(f"it is not {form.name}", form.another)
        if version != form.version:
            raise self._refused(f"it has format {version}, and this stagec reads format {form.version}", form.older)
        if file_bytes != nbytes:
            raise self._refused(f"it has {nbytes} bytes instead of {file_bytes}, so it is truncated or damaged")
        if header_bytes > HEADER_LIMIT or _PRELUDE_BYTES + header_bytes > nbytes:
            raise self._refused(f"its header claims {header_bytes} bytes")
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
            if type(offset) is not int or type(size) is not int or not is_digest(digest) or size < 0:
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

    def _bad_table(self) -> Exception:
        return self._refused("its table of sections does not describe the file")

    def _check_padding(self, start: int, end: int) -> None:
        if self._content.read(start, end - start).tobytes().strip(b"\0"):
            raise self._refused("the padding between its sections is not zero, so the file is damaged")

    def _json(self, data: bytes) -> Any:
        """A JSON value; raises for duplicate keys and for numbers that readers could interpret differently."""
        try:
            return json.loads(data, object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)
        except (ValueError, RecursionError) as error:
            what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise self._refused(f"its header is not the JSON that stagec writes ({what[:80]})") from None


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
        return Container(File(fd, status.st_size), name, os.path.abspath(name))
    finally:
        os.close(fd)


def _paged(offset: int) -> int:
    return -(-offset // PAGE) * PAGE


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 in lower-case hexadecimal."""
    return isinstance(value, str) and len(value) == 64 and _HEXADECIMAL.issuperset(value)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is given twice")
    return made


def _integer(text: str) -> int:
    if len(text) > _INTEGER_DIGITS:
        raise ValueError("an integer is too large")
    return int(text)


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not allowed")
