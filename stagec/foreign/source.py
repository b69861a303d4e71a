"""Reads a StableHLO module from what users have: text, bytes, a path, or a file of `jax.export`."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from passes import bindings
from stagec.core import errors, location
from stagec.core.errors import brief
from stagec.foreign import jax_export, trial, vhlo
from stagec.foreign.bytecode import without_unknown
from stagec.foreign.damaged import Damaged

_BYTECODE = b"ML\xefR"


class Source(NamedTuple):
    """A module, and the further content of its container.

    Attributes:
      module: an `ir.Module`.
      name: the program's name in messages.
      exported: the other content of a file of `jax.export`, or None.
    """

    module: Any
    name: str
    exported: Any


def read(given: Any) -> Source:
    """Parse a module.

    Args:
      given: MLIR text, MLIR bytecode (such as portable artifacts), what `jax.export` serializes, or the path of a file
        with one of these.

    Raises:
      ArtifactError: it is none of these, or damaged.
      FileNotFoundError: there is no such file.
    """
    name, path = "the module", ""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "\n" not in given and "(" not in given):
        path = os.fspath(given)
        name = os.path.basename(path)
        with open(path, "rb") as file:
            given = file.read()
    if isinstance(given, (bytearray, memoryview)):
        given = bytes(given)
    if not isinstance(given, (str, bytes)):
        raise location.error(
            errors.ArgumentTypeError,
            f"from_stablehlo takes MLIR as text, as bytes, or as the path of a file, not {brief(given)}",
            fix="pass str(module) of an MLIR module, exported.serialize() of jax.export, or a path",
        )
    exported = None
    if isinstance(given, bytes) and not given.startswith(_BYTECODE):
        exported = jax_export.read(given, name)
        given = given.decode("utf-8", "replace") if exported is None else exported.module
    return Source(_parsed(given, name, path), name, exported)


def _parsed(given: str | bytes, name: str, path: str) -> Any:
    context = bindings.new_context()
    # Attributes of other dialects may stand in a module; their operations are refused one by one.
    context.allow_unregistered_dialects = True
    try:
        if isinstance(given, bytes):
            given = without_unknown(given, lambda dialect: _is_known(context, dialect))
            fault = trial.fault(given)
            if fault:
                raise _unreadable(name, fault)
            module = bindings.ir.Module.parse(given, context)
        elif path:
            # Operations then know the file, besides their lines.
            module = bindings.ir.Module.parseFile(path, context)
        else:
            module = bindings.ir.Module.parse(given, context)
    except (bindings.ir.MLIRError, Damaged) as error:
        raise _unreadable(name, str(error)) from None
    if any(op.operation.name.startswith("vhlo.") for op in module.body.operations):
        try:
            module = vhlo.as_stablehlo(module)
        except (bindings.ir.MLIRError, TypeError, ValueError, KeyError) as error:
            raise _unreadable(name, str(error)) from None
    return module


def _is_known(context: Any, dialect: str) -> bool:
    try:
        context.get_dialect_descriptor(dialect)
    except ValueError:
        return False
    return True


# What MLIR says of operations that this version of StableHLO does not have, or does not print in that form.
_NEWER = ("is unknown", "has no custom assembly form", "unregistered operation 'stablehlo.")


def _unreadable(name: str, fault: str) -> errors.ArtifactError:
    lines = [line.strip() for line in fault.splitlines() if line.strip()]
    return location.error(
        errors.ArtifactError,
        f"{name} is neither MLIR text nor bytecode that can be read here: {' '.join(lines[:3])[:400]}",
        fix="serialize the program for an older version of StableHLO"
        if "'stablehlo." in fault and any(text in fault for text in _NEWER)
        else "give StableHLO as `jax.jit(f).lower(...).as_text()` or `jax.export` write it",
    )
