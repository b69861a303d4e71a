"""Live arrays as a profile that `pprof` reads: a gzipped message of Protocol Buffers (`profile.proto` of pprof)."""

from __future__ import annotations

import collections
import gzip
import time

from stagec.api.environment import live_arrays

__all__ = ["device_memory_profile"]


def _number(n: int) -> bytes:
    """A number of seven bits a byte, the lowest ones first."""
    return bytes([n & 127 | 128]) + _number(n >> 7) if n > 127 else bytes([n])


def _field(number: int, value: int | bytes) -> bytes:
    """A field of a message."""
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    return _number(number << 3 | 2) + _number(len(value)) + value


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    return b"".join([_field(*field) for field in fields])


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays that are alive, as a file for `pprof`: how many there are of each type and device, and their bytes.

    Where arrays were made is not known, so the name of a place is the type. What the runtime has allocated is
    `Device.memory_stats`.

    Args:
      backend: a platform, such as `"cpu"`; by default all.

    >>> import stagec.numpy as snp
    >>> x = snp.ones((3, 4))
    >>> b"float32[3,4]" in gzip.decompress(device_memory_profile())
    True
    """
    count, size = collections.Counter[tuple[str, str]](), collections.Counter[tuple[str, str]]()
    for array in live_arrays(backend):
        kind = array.aval.long(), str(array.home)
        count[kind] += 1
        size[kind] += array.nbytes
    texts: dict[str, int] = {"": 0}

    def text(of: str) -> int:
        return texts.setdefault(of, len(texts))

    parts = [
        (1, _message((1, text(name)), (2, text(unit)))) for name, unit in (("allocations", "count"), ("space", "bytes"))
    ]
    for place, kind in enumerate(sorted(size), 1):
        labels = [(3, _message((1, text(k)), (2, text(v)))) for k, v in (("kind", "buffer"), ("device", kind[1]))]
        parts += [
            (2, _message((1, place), (2, count[kind]), (2, size[kind]), *labels)),
            (4, _message((1, place), (4, _message((1, place))))),
            (5, _message((1, place), (2, text(kind[0])))),
        ]
    parts += [(6, of.encode()) for of in texts]
    return gzip.compress(_message(*parts, (9, time.time_ns())))
