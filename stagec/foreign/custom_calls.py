"""Rules for `custom_call`, by the name of its target."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from passes import bindings
from stagec import lax, numpy as snp
from stagec.foreign.site import Site, Value, rule

TARGETS: dict[str, Callable[..., Any]] = {}


def target(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the rule for calls of these targets."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        TARGETS.update(dict.fromkeys(names, function))
        return function

    return register


@rule("custom_call")
def _custom_call(site: Site, *operands: Value) -> Any:
    name = site.text("call_target_name")
    found = TARGETS.get(name)
    if found is None:
        raise site.refusal(f"calls {name!r}, which stagec does not have", "export the program without this function")
    # Operands that are the shapes of results are read by `site.shape`.
    shapes = site.ints("indices_of_shape_operands")
    given = [x for i, x in enumerate(operands) if i not in shapes]
    try:
        inspect.signature(found).bind(site, *given)
    except TypeError:
        what = f"calls {name!r} with {len(given)} operands, which it does not take"
        raise site.refusal(what, "export the program without this function") from None
    return found(site, *given)


@target("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding")
@target("annotate_device_placement", "LayoutConstraint")
def _same(site: Site, *operands: Value) -> list[Value]:
    return list(operands)


@target("mhlo.topk", "TopK", "stablehlo.dynamic_top_k")
def _top_k(site: Site, x: Value, count: Value = None) -> list[Value]:
    values, positions = lax.top_k(x, site.shape()[-1] if count is None else int(site.known(count, "count")))
    return [values, lax.convert_element_type(positions, site.dtype(1))]


@target("ApproxTopK", "stablehlo.dynamic_approx_top_k")
def _approximate_top_k(site: Site, x: Value, positions: Value, *others: Value) -> list[Value]:
    """The exact largest or smallest elements, which any recall allows, and the elements of `positions` at their
    positions. `others` are two initial values, and the count if it is an operand.
    """
    options = bindings.ir.DictAttr(site.op.attributes["mhlo.backend_config"])
    axis = int(options["reduction_dim"].value)
    count = int(options["top_k"].value) if "top_k" in options else int(site.known(others[2], "count"))
    if site.shape()[axis] != count:
        raise site.refusal("returns more candidates than asked for", "aggregate to the top k in the call")
    comparator = site.op.attributes["called_computations"][0].value
    descending = site.compares(comparator) == "GT"
    keys = x if descending else lax.neg(x)
    _, order = lax.top_k(snp.moveaxis(keys, axis, -1), count)
    order = snp.moveaxis(order, -1, axis)
    return [snp.take_along_axis(v, order, axis) for v in (x, positions)]


@target("shape_assertion")
def _shape_assertion(site: Site, holds: Value, *values: Value) -> list[Value]:
    """A condition on shapes that `jax.export` wrote, and a message with placeholders for numbers."""
    if not bool(site.known(holds, "condition").all()):
        text = site.text("error_message")
        numbers = [site.known(v, "numbers").item() for v in values]
        for i, number in enumerate(numbers):
            text = text.replace(f"{{{i}}}", str(number))
        what = f"does not hold for the shapes of these arguments: {text}"
        raise site.refusal(what, "pass arrays of the shapes that the program was exported for")
    return []
