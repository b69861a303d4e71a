"""One StableHLO operation, as its rule sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings
from passes.patterns import location_text
from passes.types import numpy_dtype
from stagec.core import errors
from stagec.lowering.refusal import refusal

Value = Any  # an array, a tracer, a NumPy array for what is known, a token, or a tuple of these
Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the one that records operations of these names.

    It is called with a `Site` and the operands, and returns the result, or a list of several results.
    """

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name if "." in name else f"stablehlo.{name}"] = function
        return function

    return register


def refuse(op: Any, what: str, fix: str = "") -> errors.UnsupportedError:
    """The error for an operation that stagec does not support: it names the operation, its line, and its text."""
    return refusal(op.operation, what, fix, _where(op))


def _where(op: Any) -> str:
    """The line of an operation: of the user's source where the module knows it, else of the module's text."""
    text = location_text(op)
    return text if text and not text.startswith("-:") else "line " + text[2:] if text else "the module"


class Site:
    """An operation with what its rule needs: attributes, types of results, and regions as functions.

    Args:
      op: the operation.
      replay: what runs its blocks.
      env: the values that are known where the operation stands.
    """

    def __init__(self, op: Any, replay: Any, env: dict[Any, Value]) -> None:
        self.op = op.operation
        self._replay = replay
        self._env = env

    def call(self, name: str, values: Sequence[Value]) -> list[Value]:
        """Run a function of the module.

        Raises:
          UnsupportedError: it calls itself, or has no body.
        """
        if name not in self._replay.functions:
            raise refuse(self.op, f"calls {name}, which has no body", "define the function in the module")
        if self._replay.is_running(name):
            fix = "write the recursion as a stablehlo.while, or repeat the function's text as often as it is called"
            raise refuse(self.op, f"makes {name} call itself, and compiled programs have no recursion", fix)
        found: list[Value] = self._replay.call(name, values)
        return found

    def resource(self, name: str) -> bytes:
        """The content of `dense_resource<name>`; empty if the module does not have it."""
        found: bytes = self._replay.resources.get(name, b"")
        return found

    def compares(self, name: str) -> str:
        """The direction of the comparison that a function of the module returns."""
        block = self._replay.functions[name].regions[0].blocks[0]
        return attrs.word(list(block.operations)[-1].operation.operands[0].owner, "comparison_direction")

    def ints(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        return attrs.ints(self.op, name, default)

    def integer(self, name: str) -> int:
        return attrs.integer(self.op, name)

    def boolean(self, name: str, default: bool = False) -> bool:
        return attrs.boolean(self.op, name, default)

    def word(self, name: str, default: str = "") -> str:
        return attrs.word(self.op, name, default)

    def text(self, name: str, default: str = "") -> str:
        return attrs.text(self.op, name, default)

    def dimension_numbers(self, name: str) -> dict[str, Any]:
        return attrs.dimension_numbers(self.op, name)

    def pairs(self, name: str, rank: int) -> list[tuple[int, int]]:
        return attrs.pairs(self.op, name, rank)

    def has(self, name: str) -> bool:
        return name in self.op.attributes

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of a result, which must be static or an operand of a call by name."""
        if self.is_static(index):
            return tuple(self._type(index).shape)
        operands = self.ints("indices_of_shape_operands")
        if not operands:
            raise self.refusal("has a result of dynamic shape", "give it a static shape")
        return self.numbers(self.operand(self.op.operands[operands[index]]), "shape")

    def dtype(self, index: int = 0) -> np.dtype[Any]:
        """The dtype of a result."""
        try:
            return numpy_dtype(self._type(index).element_type)
        except TypeError as error:
            what = f"has a result of a type that stagec does not have: {error}"
            raise self.refusal(what, "compute it in another dtype") from None

    def _type(self, index: int) -> Any:
        type_ = self.op.results[index].type
        if not isinstance(type_, bindings.ir.RankedTensorType):
            what = f"has a result of type {type_}, which is not an array of known rank"
            raise self.refusal(what, "export the program with arrays of known rank")
        return type_

    def is_static(self, index: int = 0) -> bool:
        """Whether the type of a result has no open dimension."""
        return bool(self._type(index).has_static_shape)

    def operand(self, value: Any) -> Value:
        """What a value of the module is, where the operation stands."""
        return self._env[value]

    def region(self, index: int = 0) -> Callable[..., list[Value]]:
        """A region as a function of its block's arguments; values from outside are captured."""
        block = self.op.regions[index].blocks[0]
        return lambda *values: self._replay.block(block, values, self._env)

    def function(self, name: str) -> Callable[..., list[Value]]:
        """A function of the module."""
        return lambda *values: self.call(name, values)

    def evaluate(self, block: Any, value: Any, arguments: dict[int, Value]) -> Value:
        """A value of a block that needs no more than these arguments, by their numbers."""
        env = dict(self._env)
        env.update((block.arguments[number], found) for number, found in arguments.items())
        return self._replay.value(value, env)

    def region_block(self, index: int = 0) -> Any:
        return self.op.regions[index].blocks[0]

    def known(self, value: Value, what: str) -> np.ndarray[Any, Any]:
        """An operand whose value has to be known while tracing."""
        if not isinstance(value, (np.ndarray, np.generic)):
            self._replay.lacked_number = True
            raise self.refusal(
                f"needs its {what} while the program is traced, and it depends on the arguments",
                "make it a constant in the module, or a parameter of at most 64 integers",
            )
        return np.asarray(value)

    def numbers(self, value: Value, what: str) -> tuple[int, ...]:
        """The elements of an operand that has to be known while tracing."""
        return tuple(int(v) for v in self.known(value, what).reshape(-1))

    def sizes(self, given: Value, index: int = 0) -> tuple[int, ...]:
        """The shape of a result: the elements of an operand that says it, or, without one, that of its type."""
        return self.shape(index) if given is None else self.numbers(given, "shape")

    def refusal(self, what: str, fix: str = "") -> errors.UnsupportedError:
        return refuse(self.op, what, fix)
