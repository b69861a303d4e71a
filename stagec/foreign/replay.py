"""Runs a StableHLO module on values; on tracers, each operation is recorded as calls of `stagec.lax`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import match
from passes.errors import InterpretError
from passes.numeric.interpreter import evaluate
from passes.patterns import location_text
from stagec.core import location
from stagec.core.location import Location
from stagec.foreign.site import RULES, Site, Value, refuse

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
      lacked_number: an operation was refused because a number, such as a size, was not known while tracing.
    """

    def __init__(self, module: Any, name: str = "the module") -> None:
        self._module = module  # which owns the functions
        self.functions: dict[str, Any] = dict(match.functions(module))
        self.lacked_number = False
        self._name = name
        self._locations: dict[str, Location] = {}
        self._running = threading.local()

    def call(self, name: str, values: Sequence[Value]) -> list[Value]:
        """Run a function of the module.

        Args:
          name: of the function.
          values: one for each parameter.
        """
        before = self._running.__dict__.get("names", ())
        self._running.names = (*before, name)
        try:
            return self.block(self.functions[name].regions[0].blocks[0], values, {})
        finally:
            self._running.names = before

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
        return [env[v] for v in operations[-1].operation.operands]

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
        found = rule(Site(op, self, env), *operands)
        return list(found) if isinstance(found, list) else [found]


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
