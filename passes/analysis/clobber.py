"""Which arguments a compiled program may overwrite in the caller's memory.

IREE updates in place: an argument that reaches `sort`, `dynamic_update_slice`
or `scatter` with nothing between that computes is overwritten, zero-copy NumPy
memory included. What counts as nothing is decided by the compiler's folding, so
the analysis errs on one side: an argument is safe only behind an op that must
produce new memory.
"""

from __future__ import annotations

import math
from typing import Any

from passes import attributes as attrs, bindings
from passes.match import (
    HOST_MODULE,
    IN_PLACE,
    dtype_of,
    functions,
    is_boolean,
    is_floating,
    shape_of,
    splat_of,
    written,
)
from passes.simplify.casts import is_lossless

# Results of these never share memory with an operand, whatever is folded: no
# input makes the whole op the identity in a way that a compiler can know.
_COMPUTING = (
    "cbrt ceil cholesky constant convolution cosine count_leading_zeros exponential exponential_minus_one fft "
    "floor iota is_finite log log_plus_one logistic popcnt rng_bit_generator round_nearest_afz round_nearest_even "
    "rsqrt sign sine sqrt tan tanh triangular_solve"
)
_CHLO_COMPUTING = "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc sinh"
_FRESH = frozenset(f"stablehlo.{name}" for name in _COMPUTING.split()) | frozenset(
    f"chlo.{name}" for name in _CHLO_COMPUTING.split()
)
# Kernels of our own (`passes.kernels`) read their operands, and their results are new memory.
_FRESH |= {"flow.dispatch"}
_BINARY = "add subtract multiply divide maximum minimum and or xor power"
_ARITHMETIC = frozenset(f"stablehlo.{name}" for name in _BINARY.split())


def clobbered_arguments(module: Any, function: str = "main") -> tuple[int, ...]:
    """Indices of a function's arguments that the compiled program may overwrite.

    Args:
      module: an `ir.Module` of StableHLO, as it goes to the compiler.
      function: the entry point's name.

    Returns:
      Sorted indices. An argument that is not among them is never written; one
      that is may be, and has to be copied unless the caller gave it up.
    """
    return tuple(sorted(Flow(functions(module)).clobbered(function)))


class Flow:
    """Follows which arguments a value may share its memory with."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self.functions = functions
        self.roots: dict[Any, frozenset[int]] = {}
        self.found: set[int] = set()
        self.calls: list[str] = []

    def clobbered(self, name: str) -> set[int]:
        block = self.functions[name].regions[0].blocks[0]
        for i, argument in enumerate(block.arguments):
            self.roots[argument] = frozenset((i,))
        self.block(block)
        return self.found

    def of(self, value: Any) -> frozenset[int]:
        return self.roots.get(value, frozenset())

    def union(self, values: Any) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        for value in values:
            found |= self.of(value)
        return found

    def block(self, block: Any) -> None:
        for op in block.operations:
            self.op(op)

    def op(self, op: Any) -> None:
        operation = op.operation
        name = operation.name
        operands = list(operation.operands)
        if name in IN_PLACE:
            self.found |= self.union(value for _, value in written(operation))
        if operation.regions and name not in ("stablehlo.reduce", "stablehlo.reduce_window"):
            self.regions(op)
            return
        if name == "func.call":
            self.call(op)
            return
        roots = frozenset() if name in _FRESH else self.union(_sources(op, operands))
        if roots and _computes(op):
            roots = frozenset()
        for result in operation.results:
            self.roots[result] = roots

    def regions(self, op: Any) -> None:
        """Everything that enters a region may be any of its arguments and any result.

        A while's state is found by repeating until nothing grows.
        """
        operation = op.operation
        roots = self.union(operation.operands)
        while True:
            before = (len(roots), len(self.found))
            for region in operation.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        self.roots[argument] = roots
                    self.block(block)
                    last = list(block.operations)[-1].operation
                    roots |= self.union(last.operands)
            if before == (len(roots), len(self.found)):
                break
        for result in operation.results:
            self.roots[result] = roots

    def call(self, op: Any) -> None:
        operation = op.operation
        name = operation.attributes["callee"].value
        roots = self.union(operation.operands)
        target = self.functions.get(name)
        if name.startswith(HOST_MODULE):
            # They read their operands, and return new memory.
            roots = frozenset()
        elif target is None or name in self.calls or not len(target.regions[0].blocks):
            self.found |= roots  # a callee that cannot be read may do anything
        else:
            self.calls.append(name)
            block = target.regions[0].blocks[0]
            for argument, operand in zip(block.arguments, operation.operands):
                self.roots[argument] = self.of(operand)
            self.block(block)
            roots = self.union(list(block.operations)[-1].operation.operands)
            self.calls.pop()
        for result in operation.results:
            self.roots[result] = roots


def _sources(op: Any, operands: list[Any]) -> list[Any]:
    """The operands that a result may share memory with, if the op folds away."""
    name = op.operation.name
    if name == "stablehlo.dynamic_update_slice":
        return [op.operand, op.update]
    if name in ("stablehlo.dynamic_slice", "stablehlo.gather", "stablehlo.pad"):
        return operands[:1]
    if name == "stablehlo.select":
        return operands[1:]
    return operands


def _computes(op: Any) -> bool:
    """Whether an op certainly makes new values or a new layout, so that its result is new memory.

    Arithmetic on a constant may be with an identity (x + 0, x * 1, x & -1), and
    on two equal values the choice of one; otherwise it computes.
    """
    operation = op.operation
    name = operation.name
    operands = list(operation.operands)
    if name == "stablehlo.dot_general":
        return not any(_is_small(value) for value in operands)
    if name == "stablehlo.compare":
        return not is_boolean(operands[0])  # p == true is p
    if name == "stablehlo.convert":
        # There and back through a wider type is nothing, and so is a change of sign alone.
        source, target = dtype_of(operands[0]), dtype_of(operation.results[0])
        resigned = source.kind in "iu" and target.kind in "iu" and source.itemsize == target.itemsize
        return not resigned and not is_lossless(source, target)
    if name == "stablehlo.reduce":
        return len(operation.results) == 1 and any(shape_of(operands[0])[d] > 1 for d in attrs.ints(op, "dimensions"))
    if name not in _ARITHMETIC or operands[0] == operands[1]:
        return False
    constants = [splat_of(value) for value in operands]
    if constants == [None, None]:
        return all(isinstance(value.owner, bindings.ir.Block) for value in operands)
    if name not in _FIELD or not is_floating(operands[0]) or None not in constants:
        return False
    number = next(float(value) for value in constants if value is not None)
    return math.isfinite(number) and number not in (0.0, 1.0)


_FIELD = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "multiply", "divide"))


def _is_small(value: Any) -> bool:
    return all(size == 1 for size in value.type.shape)
