"""Reads a module as a direct program: calls of kernels and of Python, loops, conditionals, and host integers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, operations
from passes.analysis.aliases import has_same_bytes
from passes.analysis.counters import trip_count
from passes.analysis.host_scalars import HostScalars, is_host_scalar
from passes.analysis.in_place import ATTRIBUTE as OUTPUT, DONATED, OWN_ELEMENTS
from passes.match import HOST_MODULE, STACKS, constant_of, functions, splat_of
from passes.operations import CONDITIONALS, Memory
from passes.types import spelled
from stagec.compiler.direct.program import (
    Call,
    Conditional,
    Constant,
    Copy,
    Fill,
    HostCall,
    Loop,
    NotDirectError,
    Number,
    Program,
    Read,
    State,
    Step,
    Tensor,
    written,
)

# The largest constant of one number, in bytes, that is written out; larger values are filled.
_SPLAT_BYTES = 1 << 16


def read(module: Any) -> Program:
    """The program that a module's `main` is.

    Raises:
      NotDirectError: an operation is not a call of a kernel or of a Python function.
    """
    found = functions(module)
    if [name for name in found if not name.startswith(HOST_MODULE)] != ["main"]:
        raise NotDirectError("the module has several functions")
    function = found["main"]
    (block,) = function.regions[0].blocks
    given = function.attributes.get("arg_attrs", ())
    donated = frozenset(i for i, row in enumerate(given) if OUTPUT in row or DONATED in row)
    has_stacks = STACKS in module.operation.attributes
    return dataclasses.replace(_Reader(function).program(block), donated=donated, has_stacks=has_stacks)


def is_direct(module: Any) -> bool:
    """Whether all of a module's computation is in its kernels and callbacks."""
    try:
        read(module)
    except NotDirectError:
        return False
    return True


class _Reader:
    def __init__(self, function: Any) -> None:
        self.host = HostScalars(function)
        self.memory: dict[Any, int] = {}
        self.numbers: dict[Any, int] = {}
        self.constants: dict[int, Constant] = {}
        # Values that get memory only where they are read: constants, and values whose elements are all one number.
        self.deferred: dict[Any, Any] = {}
        # The one number of such a value.
        self.splats: dict[Any, Any] = {}
        self.counted: dict[int, tuple[int, str]] = {}
        self._count = 0
        self._number_memory: dict[int, int] = {}

    def program(self, block: Any) -> Program:
        """The program of a function's block."""
        for argument in block.arguments:
            self._new(argument)
        steps, last = self._steps(block)
        returned = []
        for value in last.operands:
            # The bytes of a constant belong to the module, and are freed with it.
            is_constant = value in self.deferred or self.memory.get(value) in self.constants
            returned.append(self._copied(value, steps) if is_constant else self._kept(value, steps))
        arguments, results = ([Tensor.of(v.type) for v in values] for values in (block.arguments, last.operands))
        return Program(
            tuple(arguments), tuple(results), self.constants, tuple(steps), tuple(returned), counted=self.counted
        )

    # Values.

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _new(self, value: Any) -> int:
        Tensor.of(value.type)
        self.memory[value] = n = self._next()
        return n

    def _memory(self, value: Any) -> int:
        """The memory of a value; for a number of the host, the memory through which kernels read it."""
        if value in self.memory:
            return self.memory[value]
        if value in self.deferred and self.deferred[value].owner.name == "stablehlo.constant":
            n = self._new(value)
            found = constant_of(self.deferred[value])
            assert found is not None, "the operation is a constant"
            self.constants[n] = Constant.of(found)
            return n
        if value in self.numbers:
            number = self.numbers[value]
            if number not in self._number_memory:
                self._number_memory[number] = n = self._next()
                self.counted[n] = number, spelled(value.type.element_type)
            return self._number_memory[number]
        raise NotDirectError(f"{value.owner.name} outside of kernels", str(value.location))

    def _kept(self, value: Any, steps: list[Step]) -> int:
        """The memory of a value that lasts: the memory of a host's number is reused after the next part, so it is
        copied.
        """
        n = self._memory(value)
        return self._copied(value, steps) if n in self.counted else n

    def _copied(self, value: Any, steps: list[Step]) -> int:
        """New memory with the contents of a value."""
        tensor, known = Tensor.of(value.type), self.deferred.get(value, value)
        number, n = self.splats.get(known), self._next()
        if number is not None and (pattern := _pattern(number)):
            steps.append(Fill(n, pattern, tensor.bytes))
        elif number is not None and (tensor.bytes > _SPLAT_BYTES or known.owner.name != "stablehlo.constant"):
            part, count = self._next(), min(tensor.bytes, _SPLAT_BYTES) // number.nbytes
            self.constants[part] = Constant.of(np.full(count, number))
            steps.append(Copy(part, n, tensor.bytes))
        else:
            steps.append(Copy(self._memory(value), n, tensor.bytes))
        return n

    def _number(self, value: Any, steps: list[Step]) -> int:
        """A value as a number of the host, which reads it from memory if kernels compute it."""
        if value not in self.numbers:
            self.numbers[value] = n = self._next()
            type_ = spelled(value.type.element_type)
            if value in self.deferred:
                steps.append(Number(n, "constant", (), type_, type_, int(self.splats[self.deferred[value]])))
            elif is_host_scalar(value):
                steps.append(Read(n, self._memory(value), type_))
            else:
                raise NotDirectError(f"a condition of type {type_}")
        return self.numbers[value]

    # Operations.

    def _steps(self, block: Any) -> tuple[list[Step], Any]:
        """The steps of a block, and its terminator."""
        *body, last = [op.operation for op in block.operations]
        steps: list[Step] = []
        for op in body:
            self._read(op, steps)
        return steps, last

    def _read(self, op: Any, steps: list[Step]) -> None:
        name = op.name
        if name == "flow.dispatch":
            steps.append(self._call(op, steps))
        elif name == "func.call":
            steps.append(self._call_host(op, steps))
        elif name == "stablehlo.constant":
            Tensor.of(op.results[0].type)
            self.deferred[op.results[0]] = op.results[0]
            self._record_splat(op)
        elif name == "stablehlo.while":
            self._loop(op, steps)
        elif name in CONDITIONALS:
            self._conditional(op, steps)
        elif operations.of(name).memory is not Memory.SAME and _is_hosts(op, self.host.found):
            self._compute(op, steps)
        elif has_same_bytes(op):
            for value, operand in zip(op.results, op.operands):
                Tensor.of(value.type)
                self._alias([value], operand)
        elif self._record_splat(op):
            # It may be the initial value of a loop's state, or a result.
            self.deferred[op.results[0]] = op.results[0]
        else:
            raise NotDirectError(f"{name} outside of kernels", str(op.location))

    def _record_splat(self, op: Any) -> bool:
        """Record the one number of a constant, of a broadcast, or of a complex value made of two such parts.

        Returns:
          whether all elements of the result are one number.
        """
        if len(op.results) != 1:
            return False
        number, known = splat_of(op.results[0]), [self.splats.get(v) for v in op.operands]
        if op.name == "stablehlo.complex" and None not in known:
            parts = np.array(known)
            number = parts.view(f"c{2 * parts.itemsize}")[0]
        elif op.name == "stablehlo.broadcast_in_dim" and number is None:
            number = known[0]
        if number is not None:
            self.splats[op.results[0]] = number
        return number is not None

    def _call(self, op: Any, steps: list[Step]) -> Call:
        (entry,) = op.attributes["entry_points"]
        read = tuple(self._copied(v, steps) if self._is_filled(v) else self._memory(v) for v in op.operands)
        written = tuple(self._new(v) for v in op.results)
        types = tuple([Tensor.of(v.type) for v in (*op.operands, *op.results)])
        own = tuple(op.attributes[OWN_ELEMENTS]) if OWN_ELEMENTS in op.attributes else ()
        sizes = tuple([t.bytes for t in types])
        return Call(entry.value[0], read, written, sizes, own, types, op.location)

    def _is_filled(self, value: Any) -> bool:
        """Whether memory is filled with the one number of a value, which no constant of the program holds."""
        known = self.deferred.get(value)
        if known is None or value in self.memory or known not in self.splats:
            return False
        return known.owner.name != "stablehlo.constant" or Tensor.of(value.type).bytes > _SPLAT_BYTES

    def _call_host(self, op: Any, steps: list[Step]) -> HostCall:
        symbol = op.attributes["callee"].value
        operands, results = ([Tensor.of(v.type) for v in values] for values in (op.operands, op.results))
        read = tuple(self._kept(v, steps) for v in op.operands)
        written = tuple(self._new(v) for v in op.results)
        return HostCall(symbol, read, written, tuple(operands), tuple(results))

    def _compute(self, op: Any, steps: list[Step]) -> None:
        operands = tuple(self._number(value, steps) for value in op.operands)
        operation = op.name.removeprefix("stablehlo.")
        direction = attrs.word(op, "comparison_direction") if operation == "compare" else 0
        types = [spelled(value.type.element_type) for value in (op.operands[-1], op.results[0])]
        self.numbers[op.results[0]] = n = self._next()
        steps.append(Number(n, operation, operands, types[0], types[1], direction))

    def _loop(self, op: Any, steps: list[Step]) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        following = list(list(body.operations)[-1].operation.operands)
        counted: list[int] = []
        arrays: list[int] = []
        for i, argument in enumerate(body.arguments):
            if following[i] == argument:
                if argument in self.host.found:
                    self._number(op.operands[i], steps)
                self._alias((condition.arguments[i], argument, op.results[i]), op.operands[i])
            else:
                (counted if argument in self.host.found else arrays).append(i)
        self._read_ahead(op, steps)
        starts = {i: self._number(op.operands[i], steps) for i in counted}
        starts |= {i: self._copied(op.operands[i], steps) for i in arrays}
        for i in (*counted, *arrays):
            table = self.numbers if i in counted else self.memory
            n, after = self._next(), self._next()
            table[condition.arguments[i]] = table[body.arguments[i]] = n
            table[op.results[i]] = after
        before, last = self._steps(condition)
        test = self._number(last.operands[0], before)
        known = dict(self.numbers)
        inner, last = self._steps(body)
        numbers = tuple(
            State(
                starts[i],
                self.numbers[body.arguments[i]],
                self._number(following[i], inner),
                self.numbers[op.results[i]],
                type=spelled(body.arguments[i].type.element_type),
            )
            for i in counted
        )
        free = {n for step in inner for n in _made(step)} | {self.memory[body.arguments[i]] for i in arrays}
        states = []
        for i in arrays:
            n = self.memory.get(following[i], -1)
            if n in free:
                free.remove(n)
            else:
                n = self._copied(following[i], inner)
            during, after = self.memory[body.arguments[i]], self.memory[op.results[i]]
            states.append(State(starts[i], during, n, after, Tensor.of(op.results[i].type).bytes))
        # Numbers that a round reads from memory are not available after the loop.
        self.numbers = known
        steps.append(Loop(tuple(before), test, tuple(inner), tuple(states), numbers, trip_count(op)))

    def _alias(self, values: Sequence[Any], given: Any) -> None:
        """Let values stand for what another value stands for."""
        for table in (self.memory, self.numbers, self.deferred, self.splats):
            if given in table:
                table.update(dict.fromkeys(values, table[given]))

    def _read_ahead(self, op: Any, steps: list[Step]) -> None:
        """Read the numbers that kernels computed before the loop, and that the host needs in it, once for all
        rounds.
        """
        depth = self.host.depth[op.results[0]] if len(op.results) else 0
        stack = [op]
        while stack:
            for region in stack.pop().regions:
                for inner in (o.operation for block in region.blocks for o in block.operations):
                    values = list(inner.operands) if _is_hosts(inner, self.host.found) else []
                    if inner.name == "stablehlo.while":
                        states = zip(inner.regions[1].blocks[0].arguments, inner.operands)
                        values += [first for argument, first in states if argument in self.host.found]
                    if inner.name == "stablehlo.return":
                        values += [v for v in inner.operands if is_host_scalar(v)]
                    for value in values:
                        known = value in self.memory and value not in self.host.found
                        if known and value not in self.numbers and self.host.depth.get(value, 0) <= depth:
                            self._number(value, steps)
                    stack.append(inner)

    def _conditional(self, op: Any, steps: list[Step]) -> None:
        index = self._number(op.operands[0], steps)
        regions = list(op.regions)
        if op.name == "stablehlo.if":
            # Counted from the branch for false.
            regions.reverse()
        branches, taken = [], set[int]()
        ends: list[list[int]] = []
        for region in regions:
            known = dict(self.numbers)
            inner, last = self._steps(region.blocks[0])
            ends.append([])
            for value, result in zip(last.operands, op.results):
                if result in self.host.found:
                    n = self._number(value, inner)
                else:
                    n = self.memory.get(value, -1)
                    if n in taken or not any(n in written(step) for step in inner):
                        n = self._copied(value, inner)
                    taken.add(n)
                ends[-1].append(n)
            branches.append(tuple(inner))
            self.numbers = known
        numbers, arrays = [], []
        for result, *values in zip(op.results, *ends):
            if result in self.host.found:
                self.numbers[result] = n = self._next()
                numbers.append((n, tuple(values), spelled(result.type.element_type)))
            else:
                arrays.append((self._new(result), tuple(values), Tensor.of(result.type).bytes))
        steps.append(Conditional(index, tuple(branches), tuple(arrays), tuple(numbers)))


def _is_hosts(op: Any, found: set[Any]) -> bool:
    return op.name != "stablehlo.while" and len(op.results) == 1 and op.results[0] in found


def _made(step: Step) -> tuple[int, ...]:
    """The values that a step writes, and that steps after it may read."""
    if isinstance(step, Loop):
        return tuple(state.after for state in step.arrays)
    return tuple(n for n, _, _ in step.arrays) if isinstance(step, Conditional) else written(step)


def _pattern(number: Any) -> bytes:
    """The shortest pattern of bytes that repeats to a number; empty if it is too long to fill memory with."""
    data = number.tobytes()
    while len(data) > 1 and data[: len(data) // 2] == data[len(data) // 2 :]:
        data = data[: len(data) // 2]
    return data if len(data) <= 4 else b""
