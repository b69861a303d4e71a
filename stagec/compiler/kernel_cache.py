"""The machine code of single kernels, which programs that differ elsewhere share: in memory, and in the disk cache.

After an edit of a function, most of its kernels are those of the program before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from stagec.compiler import key
from stagec.compiler.cache import default_cache

T = TypeVar("T")

# What is kept in memory; more is forgotten all at once.
_BYTES = 16 << 20
_memory: dict[tuple[str, ...], Any] = {}
_used = 0


def find(kernel: tuple[str, ...], read: Callable[[dict[str, Any], bytes], T]) -> T | None:
    """The code of a kernel, or None.

    Args:
      kernel: a digest of the kernel, and what describes the processor.
      read: makes the code of what `keep` got.
    """
    found: T | None = _memory.get(kernel)
    store = default_cache() if found is None else None
    if store is not None:
        entry = store.kernel(key.digest(_contributors(kernel)))
        if entry is not None:
            found = read(entry.meta, bytes(entry.payload))
            _remember(kernel, found, len(entry.payload))
    return found


def keep(kernel: tuple[str, ...], code: Any, meta: dict[str, Any], payload: bytes) -> None:
    """Keep the code of a kernel, in memory as it is, and on disk as `meta` and `payload`."""
    _remember(kernel, code, len(payload))
    store = default_cache()
    if store is not None:
        contributors = _contributors(kernel)
        store.put_kernel(key.digest(contributors), contributors, meta, payload)


def forget() -> None:
    """Forget what is in memory. The disk cache stays."""
    global _used
    _memory.clear()
    _used = 0


def _remember(kernel: tuple[str, ...], code: Any, size: int) -> None:
    global _used
    if _used + size > _BYTES:
        forget()
    _memory[kernel] = code
    _used += size


def _contributors(kernel: tuple[str, ...]) -> dict[str, str]:
    digest, *target = kernel
    return {"kernel": digest, "target": " ".join(target), **key.environment_contributors()}
