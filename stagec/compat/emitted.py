"""Lowerings of users' primitives that emit operations of StableHLO.

What a lowering emits is imported as a function of arrays. So the program has its operations, and not the code of the
lowering, in its key, and it runs wherever the program does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from passes import bindings
from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.foreign.function import from_stablehlo
from stagec.lowering.lower import thread_types
from stagec.primitives.operand import aval_of


@dataclasses.dataclass(frozen=True)
class ModuleContext:
    """The module that is made."""

    context: Any
    module: Any
    platforms: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class LoweringRuleContext:
    """What a lowering is told."""

    module_context: ModuleContext
    primitive: Any
    avals_in: Sequence[ShapedArray]
    avals_out: Sequence[ShapedArray]


def function_of(primitive: Any, rule: Callable[..., Any], platform: str) -> Callable[..., list[Any]]:
    """The function of arrays that a lowering emits."""

    def function(*operands: Any, **params: Any) -> list[Any]:
        avals = [aval_of(x) for x in operands]
        out = primitive.shape(*avals, **params)
        out_avals = list(out) if primitive.multiple else [out]
        found = from_stablehlo(_emitted(primitive, rule, platform, avals, out_avals, params))(*operands)
        return list(found) if isinstance(found, tuple) else [found]

    return function


def _emitted(
    primitive: Any,
    rule: Callable[..., Any],
    platform: str,
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    params: dict[str, Any],
) -> str:
    """A module with what a lowering emits as its function `main`."""
    ir, types = bindings.ir, thread_types()
    inputs, outputs = ([types.tensor(a) for a in avals] for avals in (avals_in, avals_out))
    with types.context, types.unknown:
        module = ir.Module.create()
        attributes = {
            "sym_name": ir.StringAttr.get("main"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs)),
        }
        with ir.InsertionPoint(module.body):
            main = ir.Operation.create("func.func", [], [], attributes, regions=1)
        block = main.regions[0].blocks.append(*inputs)
        with ir.InsertionPoint(block):
            cx = LoweringRuleContext(ModuleContext(types.context, module, (platform,)), primitive, avals_in, avals_out)
            results = list(values_of(rule(cx, *block.arguments, **params)))
            if [r.type for r in results] != outputs:
                made, wanted = (", ".join(map(str, found)) for found in ([r.type for r in results], outputs))
                raise location.error(
                    errors.ShapeError,
                    f"{primitive.name}: its lowering returns ({made}), and its rule for shapes says ({wanted})",
                    fix="let def_abstract_eval say what the lowering returns",
                )
            ir.Operation.create("func.return", [], results)
    return str(module)


def values_of(results: Any) -> Any:
    """The values that a rule returns, which may be in sequences, or operations."""
    if isinstance(results, bindings.ir.Value):
        yield results
    elif not hasattr(results, "results"):
        for result in results:
            yield from values_of(result)
    else:
        yield from results.results
