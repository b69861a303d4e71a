"""Runs a StableHLO module on values; on tracers, each operation is recorded as calls of `stagec.lax`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import bindings, match, printed
from passes.errors import InterpretError, StagecError
from passes.numeric.interpreter import evaluate
from passes.patterns import location_text
from stagec.core import location
from stagec.core.cached import cached_property
from stagec.core.location import Location
from stagec.foreign.site import RULES, Site, Value, refuse

# The most operations that a call may run: tracing a million takes about a minute.
_MOST_OPERATIONS = 1_000_000
# What names the functions that an operation calls.
_CALLS = ("callee", "decomposition", "called_computations")
_RETURNS = ("func.return", "stablehlo.return")
# The largest arrays that are computed while tracing, such as shapes; larger ones are left to the program.
_SMALL = 64
# Operations that are folded; they have no regions, and results of static shape.
_FOLDED = frozenset(
    f"stablehlo.{name}"
    for name in "add subtract multiply divide remainder maximum minimum convert reshape concatenate slice compare "
    "select broadcast_in_dim negate and or not xor clamp abs sign iota".split()
)


class Replay:
    """Runs functions of a module.

    Args:
      module: an `ir.Module` in StableHLO.
      name: its name in messages.

    Attributes:
      functions: those that have a body, by name.
      only_declared: the names of the others.
      lacked_number: an operation was refused because a number, such as a size, was not known while tracing.
    """

    def __init__(self, module: Any, name: str = "the module") -> None:
        self._module = module  # which owns the functions
        declared = match.functions(module)
        self.functions: dict[str, Any] = {name: op for name, op in declared.items() if len(op.regions[0].blocks)}
        self.only_declared = declared.keys() - self.functions.keys()
        self.lacked_number = False
        self._name = name
        self._locations: dict[str, Location] = {}
        self._sizes: dict[str, int] = {}
        self._running = threading.local()

    def call(self, name: str, values: Sequence[Value]) -> list[Value]:
        """Run a function of the module.

        Args:
          name: of the function.
          values: one for each parameter.

        Raises:
          UnsupportedError: it has branches between blocks, or runs too many operations.
        """
        before = self._running.__dict__.get("names", ())
        function = self.functions[name]
        if len(function.regions[0].blocks) > 1:
            fix = "write the branches as conditionals and loops of StableHLO"
            raise refuse(function, "has branches between several blocks", fix)
        if not before and self._size(name) > _MOST_OPERATIONS:
            what = f"runs {self._size(name):.3g} operations, counting each call of a function"
            fix = f"call functions in a stablehlo.while, so that at most {_MOST_OPERATIONS} operations are traced"
            raise refuse(function, what, fix)
        self._running.names = (*before, name)
        try:
            return self.block(function.regions[0].blocks[0], values, {})
        finally:
            self._running.names = before

    def _size(self, name: str) -> int:
        """How many operations a call of the function runs, with those of the functions that it calls."""
        if name not in self._sizes:
            self._sizes[name] = 0  # for a recursion, which the call refuses
            operations = match.operations_in(self.functions[name])
            called = [callee for op in operations for callee in _called(op) if callee in self.functions]
            self._sizes[name] = len(operations) + sum(map(self._size, called))
        return self._sizes[name]

    @cached_property
    def resources(self) -> dict[str, bytes]:
        """The blobs to which `dense_resource<name>` refers, by these names."""
        _, mark, rest = self._module.operation.get_asm(large_elements_limit=8).rpartition("{-#\n")
        return printed.resources(rest.rpartition("#-}")[0]) if mark else {}

    def is_running(self, name: str) -> bool:
        """Whether this thread is inside a call of the function."""
        return name in self._running.__dict__.get("names", ())

    def block(self, block: Any, values: Sequence[Value], outer: dict[Any, Value]) -> list[Value]:
        """Run a block on its arguments and the values around it; returns the operands of its terminator."""
        env = dict(outer)
        env.update(zip(block.arguments, values, strict=True))
        operations = list(block.operations)
        for op in operations[:-1]:
            op = op.operation
            results = self._results(op, [env[v] for v in op.operands], env)
            env.update(zip(op.results, results, strict=True))
        last = operations[-1].operation
        if last.name not in _RETURNS:
            raise refuse(last, "does not return from a block", "end the block with a return")
        return [env[v] for v in last.operands]

    def value(self, value: Any, env: dict[Any, Value]) -> Value:
        """A value of a block, computed with the operations that it depends on; their results are added to `env`."""
        if value not in env:
            op = value.owner
            results = self._results(op, [self.value(v, env) for v in op.operands], env)
            env.update(zip(op.results, results, strict=True))
        return env[value]

    def _results(self, op: Any, operands: list[Value], env: dict[Any, Value]) -> list[Value]:
        before = location.ambient.location
        location.ambient.location = self._line(op) or before
        try:
            return self._recorded(op, operands, env)
        finally:
            location.ambient.location = before

    def _line(self, op: Any) -> Location | None:
        """The line of an operation, in the module's text or in what it was made from; None if it is not known."""
        text = location_text(op)
        if text and text not in self._locations:
            file, line, _ = text.rsplit(":", 2)
            self._locations[text] = Location(self._name if file == "-" else file, int(line), "StableHLO")
        return self._locations.get(text)

    def _recorded(self, op: Any, operands: list[Value], env: dict[Any, Value]) -> list[Value]:
        known = _folded(op, operands)
        if known is not None:
            return known
        rule = RULES.get(op.name)
        if rule is None:
            raise refuse(op, "is not an operation that stagec has", "export the program without this operation")
        try:
            found = rule(Site(op, self, env), *operands)
        except InterpretError as error:
            what = f"cannot be evaluated: {str(error).splitlines()[0]}"
            raise refuse(op, what, "export the program without this operation") from error
        except (StagecError, RecursionError):
            raise
        except Exception as error:  # attributes that MLIR does not check may have any form
            what = f"is not of a form that stagec can import: {type(error).__name__}: {error}"
            raise refuse(op, what, "export the program without this operation") from error
        return list(found) if isinstance(found, list) else [found]


def _called(op: Any) -> list[str]:
    """The names of the functions that an operation calls."""
    found = [op.attributes[name] for name in _CALLS if name in op.attributes]
    listed = [x for a in found for x in (a if isinstance(a, bindings.ir.ArrayAttr) else [a])]
    return [x.value for x in listed if isinstance(x, bindings.ir.FlatSymbolRefAttr)]


def _folded(op: Any, operands: list[Value]) -> list[Value] | None:
    if op.name not in _FOLDED or not operands:
        return None
    for value in operands:
        if not isinstance(value, np.ndarray) or value.size > _SMALL or value.dtype.kind not in "iub":
            return None
    try:
        return list(evaluate(op, operands))
    except (InterpretError, ValueError):
        return None
