"""Loops, conditionals and calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec import lax, numpy as snp
from stagec.api.batching import vmap
from stagec.foreign.site import Site, Value, rule


@rule("while")
def _while(site: Site, *state: Value) -> list[Value]:
    condition, body = site.region(0), site.region(1)
    return list(lax.while_loop(lambda values: condition(*values)[0], lambda values: tuple(body(*values)), tuple(state)))


@rule("if")
def _if(site: Site, predicate: Value) -> list[Value]:
    return list(lax.cond(predicate, lambda: tuple(site.region(0)()), lambda: tuple(site.region(1)())))


@rule("case")
def _case(site: Site, index: Value) -> list[Value]:
    count = len(site.op.regions)
    # An index out of range takes the last branch.
    outside = lax.bitwise_or(lax.lt(index, _int(0)), lax.ge(index, _int(count)))
    index = lax.select(outside, _int(count - 1), index)
    return list(lax.switch(index, [_branch(site, i) for i in range(count)]))


def _branch(site: Site, index: int) -> Any:
    return lambda: tuple(site.region(index)())


def _int(number: int) -> Value:
    return np.asarray(number, np.int32)


@rule("chlo.scan")
def _scan(site: Site, *operands: Value) -> list[Value]:
    count, _ = site.ints("operandSegmentSizes")
    outputs, _ = site.ints("resultSegmentSizes")
    axis, body = site.integer("dimension"), site.region()
    rows = tuple([snp.moveaxis(x, axis, 0) for x in operands[:count]])

    def step(carry: Any, row: Any) -> Any:
        found = body(*row, *carry)
        return tuple(found[outputs:]), tuple(found[:outputs])

    length = rows[0].shape[0] if rows else site.shape()[axis]
    carry, stacked = lax.scan(step, tuple(operands[count:]), rows, length, site.boolean("is_reverse"))
    return [*[snp.moveaxis(y, 0, axis) for y in stacked], *carry]


@rule("func.call")
def _call(site: Site, *operands: Value) -> list[Value]:
    return site.call(site.op.attributes["callee"].value, operands)


@rule("composite")
def _composite(site: Site, *operands: Value) -> list[Value]:
    return site.call(site.op.attributes["decomposition"].value, operands)


@rule("after_all", "create_token")
def _token(site: Site, *tokens: Value) -> Value:
    return None


@rule("map")
def _map(site: Site, *operands: Value) -> Value:
    return elementwise(site.region(), *operands)[0]


def elementwise(function: Any, *operands: Value) -> list[Value]:
    """Apply a function of scalars to each element of arrays of one shape."""
    shape = operands[0].shape
    flat = [lax.reshape(x, (int(np.prod(shape, dtype=np.int64)),)) for x in operands]
    return [lax.reshape(y, shape) for y in vmap(lambda *values: tuple(function(*values)))(*flat)]
