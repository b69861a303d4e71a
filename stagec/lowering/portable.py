"""Portable artifacts of StableHLO: VHLO in MLIR's bytecode, under the name of the version that it is written for."""

from __future__ import annotations

import io
import re
from typing import Any

from stagec.core import location
from stagec.core.errors import brief
from stagec.lowering import vhlo

# The first version of StableHLO whose readers have a version of MLIR's bytecode.
_BYTECODE: list[tuple[vhlo.Version, int]] = [((0, 15, 0), 6), ((0, 14, 0), 4), ((0, 12, 0), 3), ((0, 10, 0), 1)]
# The default version, which every reader of StableHLO 1 reads.
_USUAL: vhlo.Version = (1, 0, 0)


def serialized(module: Any, version: str | None = None, locations: bool = False) -> bytes:
    """A module as a portable artifact.

    Args:
      module: an `ir.Module` in StableHLO, which is changed: its CHLO operations are legalized.
      version: the oldest StableHLO version that must read it; by default 1.0.0, or the first with all its operations.
      locations: keep the locations of the operations.

    Raises:
      UnsupportedError: an operation is newer than the version, or does not belong to StableHLO.
      ValueError: this is no version, or older than 0.9.0.
    """
    asked = None if version is None else _parsed(version)
    made = vhlo.Versioned(module, locations)
    chosen = max(_USUAL, made.needs) if asked is None else asked
    if chosen < made.needs:
        raise vhlo.refuse(
            made.because,
            f"is not in version {version} of StableHLO",
            f"serialize for version {_text(made.needs)} or a newer one",
        )
    bytecode = next((number for first, number in _BYTECODE if chosen >= first), 0)
    buffer = io.BytesIO()
    made.module.operation.write_bytecode(buffer, desired_version=bytecode)
    return _named(buffer.getvalue(), f"StableHLO_v{_text(chosen)}")


def _parsed(version: str) -> vhlo.Version:
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version) if isinstance(version, str) else None
    if found is None:
        raise location.error(
            ValueError, f"{brief(version)} is not a version of StableHLO", fix="give three numbers, such as '1.0.0'"
        )
    parsed = (int(found[1]), int(found[2]), int(found[3]))
    if parsed < vhlo.OLDEST:
        raise location.error(
            ValueError,
            f"StableHLO {version} has no portable artifacts",
            fix=f"serialize for version {_text(vhlo.OLDEST)} or a newer one",
        )
    return parsed


def _text(version: vhlo.Version) -> str:
    return ".".join(map(str, version))


def _named(bytecode: bytes, producer: str) -> bytes:
    """Bytecode with another producer name, which follows four bytes of magic and one of the version.

    Only modules with resources are aligned after it, and a module of VHLO has none.
    """
    return bytecode[:5] + producer.encode() + bytecode[bytecode.index(b"\0", 5) :]
