"""The disk cache: compiled programs that outlive the process.

One file an entry, written under a temporary name and renamed, so that a reader
sees all of it or none. No locks: processes meet only in atomic renames and in
one counter file that grows by appends. Whatever goes wrong with the disk is a
miss and at most one warning, never an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stagec.compiler.cache_file import (
    PAGE,
    Entry,
    EntryError,
    EntryHeader,
    encode_head,
    is_key,
    read_entry,
    read_header,
)
from stagec.core.config import config
from stagec.core.errors import CacheWarning, message

_SUFFIX = ".stagec"
_ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.stagec")
_TEMPORARY_NAME = re.compile(r"[0-9a-f]{64}\.[0-9a-f]{16}\.tmp")
_LEDGER = "usage.ledger"
_STALE_SECONDS = 3600
_NEAREST_LIMIT = 1000


class CacheInfo(NamedTuple):
    """A disk cache at one moment; the last three count what this process did."""

    directory: str
    refusal: str
    entries: int
    bytes: int
    temporary_files: int
    max_bytes: int
    hits: int
    misses: int
    writes: int


class DiskCache:
    """Compiled programs in one directory, bounded in bytes, the least recently used ones leaving first.

    Args:
      directory: created on the first `put`, for this user only.
      max_bytes: the bound on all files together.

    >>> import tempfile
    >>> from stagec.compiler.cache import DiskCache
    >>> from stagec.compiler.key import digest
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     cache = DiskCache(directory, max_bytes=1 << 20)
    ...     contributors = {"program": "add", "target": "cpu"}
    ...     entry = cache.put(digest(contributors), contributors, {"rung": "fast"}, b"compiled")
    ...     found = cache.get(digest(contributors))
    ...     bytes(found.payload), found.meta
    (b'compiled', {'rung': 'fast'})
    """

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int) -> None:
        # Absolute, so that a later chdir does not move the cache.
        self.directory = os.path.abspath(os.path.expanduser(os.fspath(directory)))
        self.max_bytes = max_bytes
        self.hits = self.misses = self.writes = 0
        self._warned: set[str] = set()
        self._cleaned = False

    def __repr__(self) -> str:
        return f"DiskCache({self.directory!r}, max_bytes={self.max_bytes})"

    def get(self, key: str) -> Entry | None:
        """The entry for `key`, checked and mapped, or None; it becomes the most recently used.

        Raises:
          ValueError: `key` is not a digest from `stagec.compiler.key`.
        """
        path = self._path(key)
        entry = None
        if not self._refused():
            try:
                entry = read_entry(path, key)
            except FileNotFoundError:
                pass
            except EntryError as error:
                self._discard(path, error)
            except OSError as error:  # too many open files, say: nothing is wrong with the entry
                reason = error.strerror or type(error).__name__
                self._warn("read", f"the disk cache cannot be read: {reason}", self._elsewhere())
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        with contextlib.suppress(OSError):
            os.utime(path)
        return entry

    def put(
        self,
        key: str,
        contributors: Mapping[str, str],
        meta: Mapping[str, Any],
        payload: bytes | bytearray | memoryview,
    ) -> Entry | None:
        """Store a program; returns what `get` now would, or None where the disk does not take it.

        Args:
          key: `stagec.compiler.key.digest(contributors)`.
          contributors: kept beside the program, to explain later misses.
          meta: values that JSON can hold; tuples come back as lists.
          payload: the compiled program.

        Raises:
          ValueError: `key` is not a digest.
          TypeError: `meta` holds something that JSON cannot.
        """
        path = self._path(key)
        view = memoryview(payload).cast("B")
        try:
            head = encode_head(key, contributors, meta, view)
            if len(head) + view.nbytes > self.max_bytes:
                raise EntryError(f"{len(head) + view.nbytes} bytes do not fit into cache_max_bytes={self.max_bytes}")
        except EntryError as error:
            self._warn("size", f"a program is too large for the disk cache: {error}", "raise STAGEC_CACHE_MAX_BYTES.")
            return None
        if self._refused():
            return None
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            if self._refused():
                return None
            self._clean_once()
            # Counted before it is written: what a killed process leaves is counted too.
            over = self._count(len(head) + view.nbytes)
            self._write(path, head, view)
            if over:
                self._evict(keep=os.path.basename(path))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self._warn("write", f"the disk cache cannot be written: {reason}", self._elsewhere())
            return None
        self.writes += 1
        try:
            return read_entry(path, key)
        except (OSError, EntryError):  # another process removed it meanwhile, or the disk lies
            return None

    def entries(self) -> Iterator[EntryHeader]:
        """The headers of all sound entries, the most recently used first."""
        for _, _, name in sorted(self._scan()[0], reverse=True):
            with contextlib.suppress(OSError, EntryError):
                header = read_header(os.path.join(self.directory, name))
                if header.key + _SUFFIX == name:
                    yield header

    def nearest(self, contributors: Mapping[str, str]) -> tuple[EntryHeader, list[str]] | None:
        """The entry that differs from `contributors` in the fewest names, and those names, to explain a miss.

        Only the thousand most recently used entries are read. Of equals, the most recent one is taken.
        """
        best: tuple[EntryHeader, list[str]] | None = None
        for count, header in enumerate(self.entries()):
            names = contributors.keys() | header.contributors.keys()
            differing = sorted(n for n in names if contributors.get(n) != header.contributors.get(n))
            if best is None or len(differing) < len(best[1]):
                best = header, differing
            if not differing or count + 1 >= _NEAREST_LIMIT:
                break
        return best

    def info(self) -> CacheInfo:
        """How full the cache is, and what this process did with it; `refusal` says why it is not used."""
        entries, temporary = self._scan()
        size = sum(size for _, size, _ in entries) + sum(size for _, size, _ in temporary)
        return CacheInfo(
            self.directory,
            self._refusal(),
            len(entries),
            size,
            len(temporary),
            self.max_bytes,
            self.hits,
            self.misses,
            self.writes,
        )

    def clear(self) -> int:
        """Remove every entry and temporary file, and nothing else; returns how many entries went."""
        entries, temporary = self._scan()
        removed = sum(self._remove(name) for _, _, name in entries)
        for _, _, name in temporary:
            self._remove(name)
        self._remove(_LEDGER)
        return removed

    def _path(self, key: str) -> str:
        if not is_key(key):
            raise ValueError(f"a cache key is a SHA-256 in lower-case hexadecimal, not {key!r}")
        return os.path.join(self.directory, key + _SUFFIX)

    def _refused(self) -> bool:
        reason = self._refusal()
        if reason:
            self._warn("refused", f"the disk cache is not used: {reason}", self._elsewhere())
        return bool(reason)

    def _refusal(self) -> str:
        """Why programs from this directory must not be executed, or an empty string."""
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

    def _write(self, path: str, head: bytes, payload: memoryview) -> None:
        temporary = f"{path.removesuffix(_SUFFIX)}.{os.urandom(8).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        fd = os.open(temporary, flags, 0o600)
        try:
            # No fsync: after a power cut the checksum turns a torn file into a miss.
            with os.fdopen(fd, "wb") as file:
                file.write(head)
                file.write(payload)
            try:
                os.replace(temporary, path)
            except PermissionError:
                # Windows does not replace a file that is mapped; the one there is for the same key.
                if os.name != "nt" or not os.path.exists(path):
                    raise
                os.unlink(temporary)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _count(self, size: int) -> bool:
        """Add `size` to the ledger; returns whether the cache may be over its bound.

        The ledger is a file of one byte for each page in use, so processes add
        to it by appending, and its length is the sum: no lock, and no look at
        the other files until the bound is reached.
        """
        pages = -(-size // PAGE)
        try:
            with self._open_ledger() as ledger:
                ledger.write(bytes(pages))
                total = os.fstat(ledger.fileno()).st_size
        except OSError:
            return True
        # A new ledger knows nothing of entries that are already there.
        return total == pages or total * PAGE > self.max_bytes

    def _open_ledger(self) -> io.FileIO:
        # Never through a link: in a shared directory it may have been planted, to have another file truncated.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return io.FileIO(os.open(os.path.join(self.directory, _LEDGER), flags, 0o600), "wb")

    def _evict(self, keep: str) -> None:
        """Remove the least recently used entries until an eighth of the bound is free, and correct the ledger."""
        entries, temporary = self._scan()
        total = sum(_rounded(size) for _, size, _ in entries) + sum(_rounded(size) for _, size, _ in temporary)
        if total > self.max_bytes:
            # Other processes may do the same at once: they choose the same files, so a file that is gone counts.
            for _, size, name in sorted(entries):
                if total <= self.max_bytes - self.max_bytes // 8:
                    break
                if name != keep:
                    self._remove(name)
                    total -= _rounded(size)
        with contextlib.suppress(OSError), self._open_ledger() as ledger:
            ledger.truncate(total // PAGE)

    def _clean_once(self) -> None:
        """Remove what killed processes left, once per cache object; names alone are read, which is cheap."""
        if self._cleaned:
            return
        self._cleaned = True
        oldest = time.time() - _STALE_SECONDS
        for used, _, name in self._scan(entries=False)[1]:
            if used < oldest:
                self._remove(name)

    def _scan(self, entries: bool = True) -> tuple[list[tuple[float, int, str]], list[tuple[float, int, str]]]:
        """(time of last use, bytes, name) of the entries and of the temporary files."""
        found: list[tuple[float, int, str]] = []
        temporary: list[tuple[float, int, str]] = []
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

    def _remove(self, name: str) -> bool:
        try:
            os.unlink(os.path.join(self.directory, name))
        except OSError:
            return False
        return True

    def _discard(self, path: str, error: EntryError) -> None:
        removed = self._remove(os.path.basename(path))
        self._warn(
            "damaged",
            f"an entry of the disk cache is not sound: {error}",
            "none needed; it was removed and the program is compiled again." if removed else f"remove {path}.",
            path,
        )

    def _elsewhere(self) -> str:
        return "set STAGEC_CACHE_DIR to a directory of your own, or STAGEC_CACHE=0 to do without."

    def _warn(self, kind: str, what: str, fix: str, path: str = "") -> None:
        if kind in self._warned:
            return
        self._warned.add(kind)
        text = message(what, where=path or self.directory, fix=fix)
        warnings.warn(text, CacheWarning, stacklevel=3)


def _rounded(size: int) -> int:
    return -(-size // PAGE) * PAGE


_caches: dict[tuple[str, int], DiskCache] = {}
_no_home_warned = False


def default_cache() -> DiskCache | None:
    """The disk cache that the options ask for, or None where they turn it off.

    `enable_cache`, `cache_dir` and `cache_max_bytes` are read at each call, so
    a change takes effect at once; equal options give the same object.

    >>> from stagec.compiler.cache import default_cache
    >>> from stagec.core.config import config
    >>> with config.override(enable_cache=False):
    ...     print(default_cache())
    None
    """
    global _no_home_warned
    max_bytes = config.cache_max_bytes
    if not config.enable_cache or max_bytes <= 0:
        return None
    options = (os.fspath(config.cache_dir), max_bytes)
    cache = _caches.get(options)
    if cache is not None:
        return cache
    directory = options[0]
    if not directory:
        import platformdirs  # several ms, and not needed when the directory is given

        try:
            directory = platformdirs.user_cache_dir("stagec", appauthor=False)
            if not os.path.isabs(directory):
                raise RuntimeError(f"{directory!r} is not an absolute path")
        except (RuntimeError, OSError, KeyError) as error:
            if not _no_home_warned:
                _no_home_warned = True
                what = f"the disk cache is not used: this user has no cache directory ({error})"
                warnings.warn(message(what, fix="set STAGEC_CACHE_DIR."), CacheWarning, stacklevel=2)
            return None
    return _caches.setdefault(options, DiskCache(directory, max_bytes))
