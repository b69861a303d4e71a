"""Parses the module of `from_stablehlo`, and describes the types of its functions."""

from __future__ import annotations

from typing import Any

import stagec.foreign.collectives
import stagec.foreign.control
import stagec.foreign.custom_calls
import stagec.foreign.elementwise
import stagec.foreign.lapack
import stagec.foreign.products
import stagec.foreign.reductions
import stagec.foreign.scatters
import stagec.foreign.shapes
import stagec.foreign.sorting  # noqa: F401  each registers its rules
from passes import bindings
from passes.errors import StagecError
from passes.trial import Trial
from passes.types import numpy_dtype
from stagec.core import errors, location
from stagec.foreign import vhlo
from stagec.foreign.bytecode import without_unknown
from stagec.foreign.damaged import Damaged
from stagec.foreign.mistakes import mistake
from stagec.foreign.replay import Replay
from stagec.foreign.site import refuse
from stagec.foreign.source import Source


def replay_of(source: Source, trial: Trial) -> Replay:
    """The functions of a module, which is parsed, in the process of `trial` first.

    Raises:
      ArtifactError: the module cannot be read, or is damaged.
    """
    module = _parsed(source.text, source.name, source.path if source.is_unchanged() else "", trial)
    return Replay(module, source.name)


def text(artifact: bytes, name: str) -> str:
    """A portable artifact as StableHLO's text."""
    with Trial() as trial:
        return str(_parsed(artifact, name, "", trial))


def described(replay: Replay, function: str, name: str) -> dict[str, Any]:
    """The types of a function of the module `name`, as JSON holds them."""
    if function not in replay.functions:
        names = list(replay.functions)
        raise location.error(
            errors.ArtifactError,
            f"{name} {'only declares' if function in replay.only_declared else 'has no function'} {function!r}",
            [("functions", ", ".join(names) or "none", "")],
            f"pass one of these, as in function={names[0]!r}" if names else "give a module that defines a function",
        )
    op = replay.functions[function]
    type_ = op.attributes["function_type"].value
    return {
        "parameters": [_parameter(op, f"arg{i}", t) for i, t in enumerate(type_.inputs)],
        "results": [str(t) for t in type_.results],
    }


def _parameter(op: Any, name: str, type_: Any) -> Any:
    """A description of a parameter, as JSON holds it."""
    if isinstance(type_, bindings.ir.TupleType):
        parts = [_parameter(op, f"{name}[{i}]", type_.get_type(i)) for i in range(type_.num_types)]
        return ["tuple", name, str(type_), parts]
    if str(type_) == "!stablehlo.token":
        return ["token", name, str(type_)]
    if not isinstance(type_, bindings.ir.RankedTensorType):
        what = f"has a parameter of type {type_}, which is not an array of known rank"
        raise refuse(op, what, "export a function of arrays of known rank")
    try:
        dtype = numpy_dtype(type_.element_type)
    except TypeError as error:
        what = f"has a parameter of a type that stagec does not have: {error}"
        raise refuse(op, what, "convert it before the function, and take another dtype") from None
    shape = [None if type_.is_dynamic_dim(i) else type_.shape[i] for i in range(type_.rank)]
    return ["array", name, str(type_), dtype.name, shape]


def _parsed(given: str | bytes, name: str, path: str, trial: Trial) -> Any:
    ir, context = bindings.ir, bindings.new_context()
    # Attributes of other dialects may stand in a module; their operations are refused one by one.
    context.allow_unregistered_dialects = True

    def parsed(given: str | bytes, path: str) -> Any:
        fault = trial.fault(given.encode() if isinstance(given, str) else given)
        if fault:
            raise _unreadable(name, fault, given, path)
        try:
            # Operations of a file know its path, besides their lines.
            return ir.Module.parseFile(path, context) if path else ir.Module.parse(given, context)
        except ir.MLIRError as error:
            raise _unreadable(name, str(error), given, path) from None

    if isinstance(given, bytes):
        path = ""
        try:
            given = without_unknown(given, lambda dialect: _is_known(context, dialect))
        except Damaged as error:
            raise _unreadable(name, str(error)) from None
    module = parsed(given, path)
    if any(op.operation.name.startswith("vhlo.") for op in module.body.operations):
        try:
            text = vhlo.as_stablehlo(module)
        except StagecError:
            raise
        except Exception as error:  # what MLIR does not check may have any form
            raise _unreadable(name, f"{type(error).__name__}: {error}") from error
        module = parsed(text, "")
    return module


def _is_known(context: Any, dialect: str) -> bool:
    try:
        context.get_dialect_descriptor(dialect)
    except ValueError:
        return False
    return True


# What MLIR says of operations that this version of StableHLO does not have, or does not print in that form.
_NEWER = ("is unknown", "has no custom assembly form", "unregistered operation 'stablehlo.", "to be one of:")


def _unreadable(name: str, fault: str, given: str | bytes = b"", path: str = "") -> errors.ArtifactError:
    is_newer = "'stablehlo." in fault and any(text in fault for text in _NEWER)
    fix = "serialize the program for an older version of StableHLO" if is_newer else ""
    if fault.startswith("it nests"):
        fix = "write inner parts of the program as functions of the module, and call them"
    found = mistake(fault, given, path) if isinstance(given, str) else None
    if found is not None:
        what = f"{name} has {found.what}"
        return location.error(errors.ArtifactError, what, found.rows, fix or "correct the text of the module")
    lines = [line.strip() for line in fault.splitlines() if line.strip()]
    return location.error(
        errors.ArtifactError,
        f"{name} is neither MLIR text nor bytecode that can be read here: {' '.join(lines[:3])[:400]}",
        fix=fix or "give StableHLO as `jax.jit(f).lower(...).as_text()` or `jax.export` write it",
    )
