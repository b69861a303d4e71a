"""Reads a StableHLO module from what users have: text, bytes, a path, or a file of `jax.export`. Nothing is parsed."""

from __future__ import annotations

import os
from typing import Any

from stagec.core import errors, location
from stagec.core.errors import brief
from stagec.foreign import jax_export

_BYTECODE = b"ML\xefR"
# What MLIR text has, and paths do not.
_MARKS = "\n({"


class Source:
    """A module, and the further content of its container.

    Attributes:
      content: what was given, or the content of the file.
      name: the program's name in messages.
      path: of the file; empty if there is none.
      text: MLIR text or bytecode.
      exported: the other content of a file of `jax.export`, or None.
    """

    def __init__(self, content: str | bytes, name: str, path: str) -> None:
        self.content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        self.name = name
        self.path = path
        self.text: str | bytes = content
        self.exported: jax_export.Exported | None = None
        if isinstance(content, bytes) and not content.startswith(_BYTECODE):
            self.exported = jax_export.read(content, name)
            self.text = content.decode("utf-8", "replace") if self.exported is None else self.exported.module

    def is_unchanged(self) -> bool:
        """Whether there is a file, with the content that was read."""
        try:
            with open(self.path, "rb") as file:
                return file.read() == self.content
        except OSError:
            return False


def read(given: Any) -> Source:
    """Read a module.

    Args:
      given: MLIR text, MLIR bytecode (such as portable artifacts), what `jax.export` serializes, or the path of a file
        with one of these.

    Raises:
      ArtifactError: it is a damaged file of `jax.export`.
      FileNotFoundError: there is no such file.
    """
    name, path = "the module", ""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and not any(mark in given for mark in _MARKS)):
        path = os.fspath(given)
        name = os.path.basename(path)
        try:
            with open(path, "rb") as file:
                given = file.read()
        except (FileNotFoundError, IsADirectoryError) as error:
            raise location.error(
                type(error),
                f"from_stablehlo: there is no file {path!r}, and it is not the text of a module",
                fix="pass the path of a file, or MLIR, as jax.jit(f).lower(...).as_text() returns it",
            ) from None
    if isinstance(given, (bytearray, memoryview)):
        given = bytes(given)
    if not isinstance(given, (str, bytes)):
        raise location.error(
            errors.ArgumentTypeError,
            f"from_stablehlo takes MLIR as text, as bytes, or as the path of a file, not {brief(given)}",
            fix="pass str(module) of an MLIR module, exported.serialize() of jax.export, or a path",
        )
    return Source(given, name, path)
