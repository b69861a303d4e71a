"""One cache entry as bytes: a file as artifacts are (`artifact/container.py`), with one section, the program.

The manifest is the key, the contributors to the key, and the caller's notes. A
change to any bit of the file is noticed, and a header can be trusted without
reading the program. The digests find damage, not malice: entries are executed,
so files that others may have written are refused.

An entry is read into memory once, checked there, and run from there: later
changes of the file do not affect the process.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stagec.artifact.container import Container, File, Format, SectionTable, encode, is_digest, read_aligned
from stagec.runtime.memory import aligned_empty


class EntryError(Exception):
    """A file is not a sound cache entry; the cache turns it into a miss."""


ENTRY = Format(b"stagec\r\n", 2, "a cache entry", lambda path, what, fix: EntryError(what))


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


def encode_head(key: str, contributors: Mapping[str, str], meta: Mapping[str, Any], payload: memoryview) -> bytes:
    """Everything of an entry that comes before its payload.

    Raises:
      TypeError: `meta` holds something that JSON cannot.
      EntryError: the header is larger than readers accept.
    """
    table = SectionTable()
    table.add(payload)
    try:
        parts = encode({"key": key, "contributors": dict(contributors), "meta": dict(meta)}, table, ENTRY)
    except OverflowError as error:
        raise EntryError(str(error)) from None
    return b"".join(parts[:-1])


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
    container = Container(view, path, form=ENTRY)
    header = _header(container)
    payload = container.section(0, "its payload")
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
    try:
        container = Container(File(fd, status.st_size), path, form=ENTRY)
    finally:
        os.close(fd)
    header = _header(container)
    size = container.size(0)
    return EntryHeader(
        header["key"], header["contributors"], header["meta"], path, size, status.st_size, status.st_mtime
    )


def _header(container: Container) -> dict[str, Any]:
    header = container.manifest
    if not (
        isinstance(header, dict)
        and is_digest(header.get("key"))
        and isinstance(header.get("meta"), dict)
        and isinstance(header.get("contributors"), dict)
        and all(isinstance(value, str) for value in header["contributors"].values())
        and len(container) == 1
    ):
        raise EntryError("its header lacks a field")
    return header
