"""Modules that the compiler refused, kept in a folder for reports: each once, and only the newest."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re

from stagec.artifact.container import write_whole

_MOST_FILES = 32
_MOST_BYTES = 64 << 20
_NAME = re.compile(r"stagec-.*\.(mlir|mlirbc|tmp)")


def keep(source: bytes, name: str, folder: str) -> str:
    """Write a module to a folder, under a name that a program always has; returns its path.

    Raises:
      OSError: it cannot be written.
    """
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60] or "module"
    suffix = "mlirbc" if source[:4] == b"ML\xefR" else "mlir"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"stagec-{stem}-{hashlib.sha256(source).hexdigest()[:12]}.{suffix}")
    write_whole(path, f"{path}.{os.urandom(8).hex()}.tmp", [source], 0o666)
    return path


def trim(folder: str) -> None:
    """Remove the oldest modules until few are left; the newest one stays, whatever its size."""
    total = 0
    for i, (_, size, path) in enumerate(sorted(_modules(folder), reverse=True)):
        total += size
        if i and (i >= _MOST_FILES or total > _MOST_BYTES):
            _remove(path)


def clear(folder: str) -> None:
    """Remove the modules, and the folder if nothing else is in it."""
    for _, _, path in _modules(folder):
        _remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _modules(folder: str) -> list[tuple[int, int, str]]:
    """(time of writing, bytes, path) of each."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as items:
        for item in items:
            if _NAME.fullmatch(item.name):
                with contextlib.suppress(OSError):
                    status = item.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, item.path))
    return found


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
