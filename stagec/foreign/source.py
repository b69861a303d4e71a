"""Reads a StableHLO module from what users have: text, bytes, a path, or a file of `jax.export`. Nothing is parsed."""

from __future__ import annotations

import os
import stat
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
        self.exported = jax_export.read(content, name) if isinstance(content, bytes) else None
        self.text: str | bytes = self.content if self.exported is None else self.exported.module
        if not self.text.startswith(_BYTECODE):
            self.text = self.text.decode("utf-8", "replace")
            if self.text.encode() != self.content:
                self.path = ""  # MLIR would read other strings from the file

    def is_unchanged(self) -> bool:
        """Whether there is a file, with the content that was read."""
        try:
            return _content(self.path) == self.content
        except (OSError, ValueError):
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
        path = os.fsdecode(given)
        name = os.path.basename(path)
        try:
            given = _content(path)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
    if isinstance(given, (bytearray, memoryview)):
        given = bytes(given)
    if not isinstance(given, (str, bytes)):
        raise location.error(
            errors.ArgumentTypeError,
            f"from_stablehlo takes MLIR as text, as bytes, or as the path of a file, not {brief(given)}",
            fix="pass str(module) of an MLIR module, exported.serialize() of jax.export, or a path",
        )
    return Source(given, name, path)


def _content(path: str) -> bytes:
    """The content of a regular file; a device might never end, and a pipe might block.

    Raises:
      OSError: it cannot be opened.
      ValueError: it is not a regular file, or no path.
    """
    flags = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        return file.read()


def _unreadable(path: str, error: OSError | ValueError) -> Exception:
    if isinstance(error, ValueError):
        what, fix = f"from_stablehlo: {brief(path)} cannot be read: {error}", "copy its content to a file"
        return location.error(errors.ArtifactError, what, fix=fix)
    if isinstance(error, PermissionError):
        what = f"from_stablehlo: {brief(path)} cannot be read: {error.strerror}"
        return location.error(PermissionError, what, fix="allow this user to read it")
    return location.error(
        type(error),
        f"from_stablehlo: there is no file {brief(path)}, and it is not the text of a module",
        fix="pass the path of a file, or MLIR, as jax.jit(f).lower(...).as_text() returns it",
    )
