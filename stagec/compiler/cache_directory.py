"""One directory of cache entries: its contents, and whether its programs may be run."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from stagec.artifact.container import is_digest
from stagec.compiler.cache_file import Entry, EntryError, EntryHeader, read_entry, read_header
from stagec.core.errors import CacheWarning, message

# Of files with programs, and of those with kernels.
SUFFIX, KERNEL = ".stagec", ".kernel"
_ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.(stagec|kernel)")
_TEMPORARY_NAME = re.compile(r"[0-9a-f]{64}\.([0-9a-f]{16}\.tmp|claim)")

# (time of last use, bytes, name) of a file.
Row = tuple[float, int, str]


class CacheDirectory:
    """The part that the writable cache and the read-only layers have in common: reading."""

    # In messages: what it is called, and what helps where it is not used.
    _name: str
    _fix: str

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        # Absolute, so that a later chdir does not move the cache.
        self.directory = os.path.abspath(os.path.expanduser(os.fspath(directory)))
        self._warned: set[str] = set()

    def holds(self, key: str) -> bool:
        """Whether there is an entry for `key`; it may be damaged."""
        return not self._refusal() and os.path.exists(self._path(key))

    def _own_entries(self) -> Iterator[EntryHeader]:
        """The headers of all sound programs here, the most recently used first"""
        for _, _, name in sorted(self._programs(), reverse=True):
            with contextlib.suppress(OSError, EntryError):
                header = read_header(os.path.join(self.directory, name))
                if header.key + SUFFIX == name:
                    yield header

    def _path(self, key: str, suffix: str = SUFFIX) -> str:
        if not is_digest(key):  # the only form that may become a file name
            raise ValueError(f"a cache key is a SHA-256 in lower-case hexadecimal, not {key!r}")
        return os.path.join(self.directory, key + suffix)

    def _refusal(self) -> str:
        """Why programs from this directory must not be executed, or an empty string"""
        try:
            status = os.stat(self.directory)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return error.strerror or type(error).__name__
        if not stat.S_ISDIR(status.st_mode):
            return "its path is not a directory"
        if hasattr(os, "geteuid"):
            if status.st_uid not in (os.geteuid(), 0):
                return f"its directory belongs to user {status.st_uid}"
            if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
                return "every user may write to its directory"
        return ""

    def _refused(self) -> bool:
        reason = self._refusal()
        if reason:
            self._warn("refused", f"{self._name} is not used: {reason}", self._fix)
        return bool(reason)

    def _read(self, path: str, key: str) -> Entry | None:
        """The entry for `key` in a file, checked and in memory, or None; what is wrong is said once."""
        if self._refused():
            return None
        try:
            return read_entry(path, key)
        except FileNotFoundError:
            pass
        except EntryError as error:
            self._skip(path, error)
        except OSError as error:  # such as too many open files: the entry itself is not damaged
            reason = error.strerror or type(error).__name__
            self._warn("read", f"{self._name} cannot be read: {reason}", self._fix, path)
        return None

    def _skip(self, path: str, error: EntryError) -> None:
        """Say that a file is not a sound entry."""
        self._warn("damaged", f"an entry of {self._name} is skipped: {error}", f"replace or remove {path}", path)

    def _programs(self) -> list[Row]:
        return [row for row in self._scan()[0] if row[2].endswith(SUFFIX)]

    def _scan(self, entries: bool = True) -> tuple[list[Row], list[Row]]:
        """The entries, programs and kernels, and the temporary files"""
        found: list[Row] = []
        temporary: list[Row] = []
        with contextlib.suppress(OSError), os.scandir(self.directory) as items:
            for item in items:
                if entries and _ENTRY_NAME.fullmatch(item.name):
                    rows = found
                elif _TEMPORARY_NAME.fullmatch(item.name):
                    rows = temporary
                else:
                    continue
                with contextlib.suppress(OSError):
                    status = item.stat(follow_symlinks=False)
                    rows.append((status.st_mtime, status.st_size, item.name))
        return found, temporary

    def _warn(self, kind: str, what: str, fix: str, path: str = "") -> None:
        if kind in self._warned:
            return
        self._warned.add(kind)
        text = message(what, where=path or self.directory, fix=fix)
        warnings.warn(text, CacheWarning, stacklevel=3)


class LayerInfo(NamedTuple):
    """A read-only layer at one moment; `hits` counts what this process found in it"""

    directory: str
    refusal: str
    entries: int
    bytes: int
    hits: int


class Layer(CacheDirectory):
    """Compiled programs that somebody else put into a directory, such as an image's build: looked at, never written.

    Nothing in the directory is created, touched, or removed. What is wrong with it or with an entry is a miss;
    each kind of trouble is one warning.
    """

    hits = 0
    _name = "a cache layer"
    _fix = "let the directory and its files belong to root or to this user, readable, and writable by nobody else"

    def __repr__(self) -> str:
        return f"Layer({self.directory!r})"

    def get(self, key: str) -> Entry | None:
        """The entry for `key`, checked and in memory, or None."""
        entry = self._read(self._path(key), key)
        self.hits += entry is not None
        return entry

    def entries(self) -> Iterator[EntryHeader]:
        """The headers of all sound entries, the most recently used first"""
        return self._own_entries()

    def info(self) -> LayerInfo:
        """How much is in the layer; `refusal` says why it is not used"""
        entries = self._programs()
        refusal = self._refusal()
        if not refusal and not os.path.isdir(self.directory):
            refusal = "there is no such directory"
        return LayerInfo(self.directory, refusal, len(entries), sum(size for _, size, _ in entries), self.hits)
