"""Blocked summation: sums of blocks, and of blocks of blocks, so that rounding errors grow with the depth only."""

from __future__ import annotations

from collections.abc import Callable

from passes.kernels.code import Code
from passes.kernels.linear import Linear

# The additions of a block.
BLOCK = 64

Body = Callable[[Linear, list[str]], list[str]]


def in_blocks(
    code: Code,
    low: Linear,
    high: Linear,
    step: int,
    body: Body,
    state: list[str],
    types: list[str],
    start: list[str],
    added: Callable[[list[str], list[str]], list[str]],
) -> list[str]:
    """A loop of whole steps that carries sums.

    Args:
      start: the initial sums of a block: identity elements.
      added: adds the sums of two blocks.
    """
    bounds = code.symbols.bounds(low), code.symbols.bounds(high)
    rounds = 0 if bounds[0] is None or bounds[1] is None else (bounds[1][1] - bounds[0][0]) // step
    sizes = [step]
    while rounds > 2 * BLOCK:
        sizes.append(sizes[-1] * BLOCK)
        rounds = -(-rounds // BLOCK)

    def level(depth: int, first: Linear, last: Linear, sums: list[str]) -> list[str]:
        if not depth:
            return code.loop(first, last, step, body, sums, types, whole=True)
        size = sizes[depth]

        def block(i: Linear, total: list[str]) -> list[str]:
            return added(total, level(depth - 1, i, _smaller(code, i + size, last), start))

        return code.loop(first, last, size, block, sums, types)

    return level(len(sizes) - 1, low, high, state)


def _smaller(code: Code, a: Linear, b: Linear) -> Linear:
    if b.is_constant:
        return code.at_most(a, b.constant)
    bounds = code.symbols.bounds(b)
    name = code.op("arith.minsi", (code.position(a), code.position(b)), "index")
    return code.symbols.new(name, 0, bounds[1] if bounds else None)
