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
from passes.types import numpy_dtype
from stagec.core import errors, location
from stagec.foreign import trial, vhlo
from stagec.foreign.bytecode import without_unknown
from stagec.foreign.damaged import Damaged
from stagec.foreign.mistakes import mistake
from stagec.foreign.replay import Replay
from stagec.foreign.site import refuse
from stagec.foreign.source import Source


def replay_of(source: Source) -> Replay:
    """The functions of a module, which is parsed.

    Raises:
      ArtifactError: the module cannot be read, or is damaged.
    """
    module = _parsed(source.text, source.name, source.path if source.is_unchanged() else "")
    return Replay(module, source.name)


def described(replay: Replay, function: str, name: str) -> dict[str, Any]:
    """The types of a function of the module `name`, as JSON holds them."""
    if function not in replay.functions:
        names = list(replay.functions)
        raise location.error(
            errors.ArtifactError,
            f"{name} has no function {function!r}",
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
        raise _unreadable(name, str(error), given, path) from None
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
_NEWER = ("is unknown", "has no custom assembly form", "unregistered operation 'stablehlo.", "to be one of:")


def _unreadable(name: str, fault: str, given: str | bytes = b"", path: str = "") -> errors.ArtifactError:
    is_newer = "'stablehlo." in fault and any(text in fault for text in _NEWER)
    fix = "serialize the program for an older version of StableHLO" if is_newer else ""
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
