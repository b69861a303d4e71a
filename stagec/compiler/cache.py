"""The disk cache: compiled programs that outlive the process.

One file an entry, written under a temporary name and renamed, so that a reader
sees all of it or none. Reading and writing need no locks: processes meet only in
atomic renames and in one counter file that grows by appends. A lock saves work:
it keeps processes from compiling one program twice (`claim.py`). Whatever goes
wrong with the disk is a miss and at most one warning, never an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stagec.artifact.container import PAGE, write_whole
from stagec.compiler import log, refused
from stagec.compiler.cache_directory import KERNEL, SUFFIX, CacheDirectory, Layer, LayerInfo
from stagec.compiler.cache_file import Entry, EntryError, EntryHeader, encode_head, read_entry
from stagec.compiler.cache_remote import Remote
from stagec.compiler.claim import SUFFIX as CLAIM, claimed
from stagec.core.config import config
from stagec.core.errors import CacheWarning, message

_LEDGER = "usage.ledger"
# The folder for modules that the compiler refused.
_REFUSED = "refused"
_STALE_SECONDS = 3600


class CacheInfo(NamedTuple):
    """The state of a disk cache; `hits`, `misses` and `writes` count the programs that this process got and stored.

    Entries are programs; `bytes` are those of all files.
    """

    directory: str
    refusal: str
    entries: int
    bytes: int
    temporary_files: int
    max_bytes: int
    hits: int
    misses: int
    writes: int
    layers: tuple[LayerInfo, ...] = ()
    remote: str = ""
    kernels: int = 0


class DiskCache(CacheDirectory):
    """Compiled programs in one directory, bounded in bytes; the least recently used are evicted first.

    Args:
      directory: created on the first `put`, for this user only.
      max_bytes: the bound on all files together.
      layers: directories that are searched first, in this order, and never written to.
      remote: asked for programs that are missing here, before they are compiled.

    >>> import tempfile
    >>> from stagec.compiler.cache import DiskCache
    >>> from stagec.compiler.key import digest
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     cache = DiskCache(directory, max_bytes=1 << 20)
    ...     contributors = {"program": "add", "target": "cpu"}
    ...     entry = cache.put(digest(contributors), contributors, {"flag_set": "fast"}, b"compiled")
    ...     found = cache.get(digest(contributors))
    ...     bytes(found.payload), found.meta
    (b'compiled', {'flag_set': 'fast'})
    """

    _name = "the disk cache"
    _fix = "set STAGEC_CACHE_DIR to a directory of your own, or STAGEC_CACHE=0 to do without"

    def __init__(
        self,
        directory: str | os.PathLike[str],
        max_bytes: int,
        layers: Iterable[str | os.PathLike[str]] = (),
        remote: Remote | None = None,
    ) -> None:
        super().__init__(directory)
        self.remote = remote
        self.max_bytes = max_bytes
        found = dict.fromkeys(Layer(path).directory for path in layers)
        self.layers = tuple([Layer(path) for path in found if path != self.directory])
        self.hits = self.misses = self.writes = 0
        self._cleaned = False

    def __repr__(self) -> str:
        return f"DiskCache({self.directory!r}, max_bytes={self.max_bytes})"

    def get(self, key: str) -> Entry | None:
        """The entry for `key`, checked and in memory, or None; it becomes the most recently used.

        Raises:
          ValueError: `key` is not a digest from `stagec.compiler.key`.
        """
        path = self._path(key)
        entry = next((found for layer in self.layers if (found := layer.get(key)) is not None), None)
        if entry is None:
            entry = self._read(path, key)
        if entry is None:
            self.misses += 1
        else:
            self.hits += 1
        return entry

    def kernel(self, key: str) -> Entry | None:
        """The machine code of a kernel, checked and in memory, or None. There is none in layers."""
        return self._read(self._path(key, KERNEL), key)

    def _read(self, path: str, key: str) -> Entry | None:
        entry = super()._read(path, key)
        if entry is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
        return entry

    def holds(self, key: str) -> bool:
        """Whether there is an entry for `key`, here or in a layer; it may be damaged."""
        return any(layer.holds(key) for layer in self.layers) or super().holds(key)

    def put(
        self,
        key: str,
        contributors: Mapping[str, str],
        meta: Mapping[str, Any],
        payload: bytes | bytearray | memoryview,
    ) -> Entry | None:
        """Store a program; returns what `get` would return now, or None if it could not be stored.

        Args:
          key: `stagec.compiler.key.digest(contributors)`.
          contributors: stored with the program, to explain later misses.
          meta: values that JSON can hold; tuples come back as lists.
          payload: the compiled program.

        Raises:
          ValueError: `key` is not a digest.
          TypeError: `meta` holds something that JSON cannot.
        """
        path = self._path(key)
        if not self._store(path, key, contributors, meta, payload):
            return None
        self.writes += 1
        try:
            return read_entry(path, key)
        except (OSError, EntryError):  # another process removed it meanwhile, or the disk is faulty
            return None

    def put_kernel(
        self, key: str, contributors: Mapping[str, str], meta: Mapping[str, Any], payload: bytes | memoryview
    ) -> None:
        """Store the machine code of a kernel, as `put` stores a program."""
        self._store(self._path(key, KERNEL), key, contributors, meta, payload)

    def _store(
        self,
        path: str,
        key: str,
        contributors: Mapping[str, str],
        meta: Mapping[str, Any],
        payload: bytes | bytearray | memoryview,
    ) -> bool:
        view = memoryview(payload).cast("B")
        try:
            head = encode_head(key, contributors, meta, view)
            if len(head) + view.nbytes > self.max_bytes:
                raise EntryError(f"{len(head) + view.nbytes} bytes do not fit into cache_max_bytes={self.max_bytes}")
        except EntryError as error:
            self._warn("size", f"a program is too large for the disk cache: {error}", "raise STAGEC_CACHE_MAX_BYTES")
            return False
        if self._refused():
            return False
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            if self._refused():
                return False
            self._clean_once()
            # Counted before it is written, so that a file that a killed process leaves is counted too.
            over = self._count(len(head) + view.nbytes)
            self._write(path, head, view)
            if over:
                self._evict(keep=os.path.basename(path))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self._warn("write", f"the disk cache cannot be written: {reason}", self._fix)
            return False
        return True

    def claim(self, key: str, name: str) -> contextlib.AbstractContextManager[None]:
        """Let one process at a time run a block that makes the entry for `key`; others wait until it is done.

        The block begins with a call of `get_made`.
        """
        path = self._path(key)
        with contextlib.suppress(OSError):
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            if not self._refusal():
                return claimed(path.removesuffix(SUFFIX) + CLAIM, name, lambda: os.path.exists(path))
        return contextlib.nullcontext()

    def get_made(self, key: str) -> Entry | None:
        """An entry that was missing: another process has written it since, or the remote cache has it."""
        entry = self.get(key) if os.path.exists(self._path(key)) else None
        if entry is None and self.remote is not None:
            entry = self.remote.get(key)
            if entry is not None:
                log.event("cache", "found in the remote cache", key=key)
                return self.put(key, entry.contributors, entry.meta, entry.payload) or entry
        return entry

    def send(self, key: str, contributors: Mapping[str, str], meta: Mapping[str, Any], payload: Any) -> None:
        """Store a program in the remote cache, if it may be written."""
        if self.remote is not None:
            self.remote.put(key, contributors, meta, payload)

    def keep_refused(self, source: bytes, name: str) -> str:
        """Write a module that the compiler refused to a folder, where only the newest stay; returns its path.

        Raises:
          OSError: it cannot be written there.
        """
        if self._refusal():
            raise OSError(self._refusal())
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        folder = os.path.join(self.directory, _REFUSED)
        path = refused.keep(source, name, folder)
        refused.trim(folder)
        return path

    def entries(self) -> Iterator[EntryHeader]:
        """The headers of all sound programs, the most recently used first; those of the layers follow"""
        yield from self._own_entries()
        for layer in self.layers:
            yield from layer.entries()

    def info(self) -> CacheInfo:
        """How full the cache is, and what this process did with it; `refusal` says why it is not used."""
        entries, temporary = self._scan()
        size = sum(size for _, size, _ in entries) + sum(size for _, size, _ in temporary)
        programs = sum(name.endswith(SUFFIX) for _, _, name in entries)
        return CacheInfo(
            self.directory,
            self._refusal(),
            programs,
            size,
            len(temporary),
            self.max_bytes,
            self.hits,
            self.misses,
            self.writes,
            tuple([layer.info() for layer in self.layers]),
            self.remote.place if self.remote is not None else "",
            len(entries) - programs,
        )

    def clear(self) -> int:
        """Remove every entry, temporary file and refused module, and nothing else; returns how many programs went.

        Layers stay as they are.
        """
        entries, temporary = self._scan()
        removed = sum(self._remove(name) and name.endswith(SUFFIX) for _, _, name in entries)
        for _, _, name in temporary:
            self._remove(name)
        self._remove(_LEDGER)
        refused.clear(os.path.join(self.directory, _REFUSED))
        return removed

    def clear_kernels(self) -> None:
        """Remove the kernels alone, where only programs are asked for, as in a layer."""
        for _, _, name in self._scan()[0]:
            if name.endswith(KERNEL):
                self._remove(name)

    def _write(self, path: str, head: bytes, payload: memoryview) -> None:
        temporary = f"{os.path.splitext(path)[0]}.{os.urandom(8).hex()}.tmp"
        try:
            # After a power cut the checksum turns a torn file into a miss.
            write_whole(path, temporary, (head, payload), 0o600)
        except PermissionError:
            # Windows does not replace a file that is open; the one there is for the same key.
            if os.name != "nt" or not os.path.exists(path):
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
        """Remove the least recently used entries until an eighth of the bound is free, and correct the ledger"""
        entries, temporary = self._scan()
        total = sum(_rounded(size) for _, size, _ in entries) + sum(_rounded(size) for _, size, _ in temporary)
        if total > self.max_bytes:
            # Other processes may evict at the same time: they choose the same files, so a missing file counts as
            # removed.
            for _, size, name in sorted(entries):
                if total <= self.max_bytes - self.max_bytes // 8:
                    break
                if name != keep:
                    self._remove(name)
                    total -= _rounded(size)
        with contextlib.suppress(OSError), self._open_ledger() as ledger:
            ledger.truncate(total // PAGE)

    def _clean_once(self) -> None:
        """Remove the temporary files of killed processes, once per cache object; only names are read, which is
        cheap.
        """
        if self._cleaned:
            return
        self._cleaned = True
        oldest = time.time() - _STALE_SECONDS
        for used, _, name in self._scan(entries=False)[1]:
            if used < oldest:
                self._remove(name)

    def _remove(self, name: str) -> bool:
        try:
            os.unlink(os.path.join(self.directory, name))
        except OSError:
            return False
        return True

    def _skip(self, path: str, error: EntryError) -> None:
        removed = self._remove(os.path.basename(path))
        self._warn(
            "damaged",
            f"an entry of the disk cache is not sound: {error}",
            "none needed; it was removed and the program is compiled again" if removed else f"remove {path}",
            path,
        )


def _rounded(size: int) -> int:
    return -(-size // PAGE) * PAGE


_caches: dict[tuple[Any, ...], DiskCache] = {}
_no_home_warned = False


class _NoDirectory(DiskCache):
    """Read-only layers and a remote cache without a writable one, for a user who has no cache directory."""

    def _refusal(self) -> str:
        return "this user has no cache directory"


def default_cache() -> DiskCache | None:
    """The disk cache that the options ask for, or None where they turn it off.

    `enable_cache` and the options that begin with `cache_` are read at each
    call, so a change takes effect at once; equal options give the same object.

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
    given = os.fspath(config.cache_dir)
    # A relative path is relative to the current directory, not to that at the first use of the cache.
    directory, *layers_now = [
        os.path.abspath(os.path.expanduser(path)) if path else ""
        for path in (given, *layer_directories(config.cache_layers))
    ]
    layers = tuple(layers_now)
    # The key is no option, which would be shown where options are printed.
    url, key = str(config.cache_remote or ""), os.environ.get("STAGEC_CACHE_REMOTE_KEY", "")
    options = (directory, max_bytes, layers, url, config.cache_remote_write, key)
    cache = _caches.get(options)
    if cache is not None:
        return cache
    remote = Remote(url, config.cache_remote_write, key, max_bytes) if url else None
    kind = DiskCache
    if not directory:
        import platformdirs  # several ms, and not needed when the directory is given

        try:
            directory = platformdirs.user_cache_dir("stagec", appauthor=False)
            if not os.path.isabs(directory):
                raise RuntimeError(f"{directory!r} is not an absolute path")
        except (RuntimeError, OSError, KeyError) as error:
            if not layers and remote is None:
                if not _no_home_warned:
                    _no_home_warned = True
                    what = f"the disk cache is not used: this user has no cache directory ({error})"
                    warnings.warn(message(what, fix="set STAGEC_CACHE_DIR"), CacheWarning, stacklevel=2)
                return None
            kind, directory = _NoDirectory, os.devnull
    return _caches.setdefault(options, kind(directory, max_bytes, layers, remote))


def layer_directories(value: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The directories that `cache_layers` names.

    >>> import os
    >>> layer_directories(os.pathsep.join(["/opt/a", "/opt/b"])) == layer_directories(["/opt/a", "/opt/b"])
    True
    >>> layer_directories("")
    ()
    """
    if isinstance(value, str):
        value = value.split(os.pathsep)
    elif isinstance(value, os.PathLike):
        value = [value]
    return tuple([os.fspath(path) for path in value if os.fspath(path)])
