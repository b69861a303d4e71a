"""Calls of functions that other systems supply, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec import lax
from stagec.foreign.site import Site, Value, rule

TARGETS: dict[str, Callable[..., Any]] = {}


def target(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what stands for calls of these names."""

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
    return found(site, *operands)


@target("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint")
def _same(site: Site, *operands: Value) -> list[Value]:
    return list(operands)


@target("mhlo.topk", "TopK")
def _top_k(site: Site, x: Value) -> list[Value]:
    values, places = lax.top_k(x, site.shape()[-1])
    return [values, lax.convert_element_type(places, site.dtype(1))]


@target("shape_assertion")
def _shape_assertion(site: Site, holds: Value, *values: Value) -> list[Value]:
    """A condition on shapes that `jax.export` wrote, with a text that has places for numbers."""
    if not bool(site.known(holds, "condition").all()):
        text = site.text("error_message")
        numbers = [site.known(v, "numbers").item() for v in values]
        for i, number in enumerate(numbers):
            text = text.replace(f"{{{i}}}", str(number))
        raise site.refusal(f"does not hold for the shapes of these arguments: {text}")
    return []
