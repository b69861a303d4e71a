"""One cache entry as bytes: how it is laid out, written, read and checked.

    prelude   magic, version, header length, payload length, two SHA-256 digests
    header    JSON: the key, the contributors to the key, and the caller's notes
    padding   zeros up to a multiple of 4096
    payload   the compiled program, to the end of the file

One digest covers the payload; the other covers everything before it, the
payload's digest included, so a change to any bit of the file is noticed and a
header can be trusted without reading the payload. The digests find damage, not
malice: entries are executed, so files that others may have written are refused.

An entry is read into memory once, checked there, and run from there: later
changes of the file do not affect the process.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stagec.runtime.memory import aligned_empty

MAGIC = b"stagec\r\n"  # a transfer in text mode would change the line ending
VERSION = 1
PAGE = 4096
HEADER_LIMIT = 16 << 20

_FIELDS = struct.Struct("<8sIIQ32s")
_DIGEST_BYTES = 32
_PRELUDE_BYTES = _FIELDS.size + _DIGEST_BYTES
_KEY = re.compile(r"[0-9a-f]{64}")


class EntryError(Exception):
    """A file is not a sound cache entry; the cache turns it into a miss."""


class Entry(NamedTuple):
    """A cached program, its payload in memory."""

    key: str
    contributors: dict[str, str]
    meta: dict[str, Any]
    payload: memoryview
    path: str


class EntryHeader(NamedTuple):
    """What a cache entry says about itself, without its payload."""

    key: str
    contributors: dict[str, str]
    meta: dict[str, Any]
    path: str
    payload_bytes: int
    file_bytes: int
    used: float


def is_key(key: object) -> bool:
    """Whether `key` is a SHA-256 in lower-case hexadecimal, the only form that may become a file name."""
    return isinstance(key, str) and _KEY.fullmatch(key) is not None


def encode_head(key: str, contributors: Mapping[str, str], meta: Mapping[str, Any], payload: memoryview) -> bytes:
    """Everything of an entry that comes before its payload.

    Raises:
      TypeError: `meta` holds something that JSON cannot.
      EntryError: the header is larger than readers accept.
    """
    text = json.dumps({"key": key, "contributors": dict(contributors), "meta": dict(meta)}, separators=(",", ":"))
    header = text.encode("ascii")
    if len(header) > HEADER_LIMIT:
        raise EntryError(f"the header has {len(header)} bytes, more than {HEADER_LIMIT}")
    fields = _FIELDS.pack(MAGIC, VERSION, len(header), payload.nbytes, hashlib.sha256(payload).digest())
    padding = bytes(_payload_offset(len(header)) - _PRELUDE_BYTES - len(header))
    digest = hashlib.sha256(fields)
    digest.update(header + padding)
    return fields + digest.digest() + header + padding


def open_entry(path: str) -> tuple[int, os.stat_result]:
    """Open a file for reading, if it is one that this user may execute code from.

    Raises:
      OSError: it cannot be opened; most often there is none.
      EntryError: it is a link, a pipe, or another user can write to it.
    """
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    # A pipe with an entry's name must not block, and a link may lead to files of other users.
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise EntryError("it is a link") from error
        raise
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise EntryError("it is not a regular file")
        if hasattr(os, "geteuid"):
            if status.st_uid not in (os.geteuid(), 0):
                raise EntryError(f"it belongs to user {status.st_uid}")
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise EntryError("other users may write to it")
    except BaseException:
        os.close(fd)
        raise
    return fd, status


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


def read_entry(path: str, key: str) -> Entry:
    """Read the entry for `key` and check all of it.

    The payload begins at a multiple of 4096 in the file, and at one of 64 in memory.

    Raises:
      OSError: it cannot be read; most often there is none.
      EntryError: it is damaged, foreign, or for another key.
    """
    fd, status = open_entry(path)
    try:
        view = read_aligned(fd, status.st_size)
    finally:
        os.close(fd)
    return _checked(view, key, path)


def parse_entry(content: memoryview, key: str, path: str) -> Entry:
    """The entry for `key` in a file's content, checked like a file, in memory of its own.

    Args:
      path: where it comes from.

    Raises:
      EntryError: it is damaged, foreign, or for another key.
    """
    memory: Any = memoryview(aligned_empty((content.nbytes,), np.dtype(np.uint8)))  # type: ignore[arg-type]
    memory[:] = content
    return _checked(memory.toreadonly(), key, path)


def _checked(view: memoryview, key: str, path: str) -> Entry:
    length, _, payload_digest = _fields(view[:_PRELUDE_BYTES], len(view))
    offset = _payload_offset(length)
    header = _header(view[:offset], length)
    payload = view[offset:]
    if hashlib.sha256(payload).digest() != payload_digest:
        raise EntryError("its payload does not match its checksum")
    if header["key"] != key:
        raise EntryError("it holds another key")
    return Entry(key, header["contributors"], header["meta"], payload, path)


def read_header(path: str) -> EntryHeader:
    """Read and check an entry's header, leaving its payload alone.

    Raises:
      OSError: it cannot be read; most often there is none.
      EntryError: it is damaged or foreign.
    """
    fd, status = open_entry(path)
    with os.fdopen(fd, "rb") as file:
        prelude = file.read(_PRELUDE_BYTES)
        length, payload_bytes, _ = _fields(memoryview(prelude), status.st_size)
        remainder = file.read(_payload_offset(length) - _PRELUDE_BYTES)
    header = _header(memoryview(prelude + remainder), length)
    return EntryHeader(
        header["key"], header["contributors"], header["meta"], path, payload_bytes, status.st_size, status.st_mtime
    )


def _payload_offset(header_bytes: int) -> int:
    return -(-(_PRELUDE_BYTES + header_bytes) // PAGE) * PAGE


def _fields(prelude: memoryview, file_bytes: int) -> tuple[int, int, bytes]:
    """The header's length, the payload's length and digest, once they fit the file."""
    if len(prelude) < _PRELUDE_BYTES:
        raise EntryError("it is truncated")
    magic, version, header_bytes, payload_bytes, payload_digest = _FIELDS.unpack_from(prelude)
    if magic != MAGIC:
        raise EntryError("it is not a cache entry")
    if version != VERSION:
        raise EntryError(f"it has format {version}, not {VERSION}")
    if header_bytes > HEADER_LIMIT:
        raise EntryError(f"its header claims {header_bytes} bytes")
    if _payload_offset(header_bytes) + payload_bytes != file_bytes:
        raise EntryError("its length is not what its header says")
    return header_bytes, payload_bytes, payload_digest


def _header(head: memoryview, header_bytes: int) -> dict[str, Any]:
    digest = hashlib.sha256(head[: _FIELDS.size])
    digest.update(head[_PRELUDE_BYTES:])
    if digest.digest() != head[_FIELDS.size : _PRELUDE_BYTES]:
        raise EntryError("its header does not match its checksum")
    try:
        header = json.loads(bytes(head[_PRELUDE_BYTES : _PRELUDE_BYTES + header_bytes]))
    except (ValueError, RecursionError) as error:
        raise EntryError("its header is not JSON") from error
    if not (
        isinstance(header, dict)
        and is_key(header.get("key"))
        and isinstance(header.get("meta"), dict)
        and isinstance(header.get("contributors"), dict)
        and all(isinstance(value, str) for value in header["contributors"].values())
    ):
        raise EntryError("its header lacks a field")
    return header
