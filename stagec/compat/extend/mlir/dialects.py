"""`jax.extend.mlir.dialects`: constructors of the operations of a dialect, by the names of MLIR's bindings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from passes import bindings, operations

__all__ = ["chlo", "hlo", "stablehlo"]

# Operations whose classes have other names.
_CLASSES = {
    "clz": "count_leading_zeros",
    "div": "divide",
    "exp": "exponential",
    "expm1": "exponential_minus_one",
    "log1p": "log_plus_one",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "neg": "negate",
    "population_count": "popcnt",
    "pow": "power",
    "rem": "remainder",
    "round": "round_nearest_afz",
}


class Dialect:
    """Constructors by name: of operations, as `AddOp`, and of the results of one, as `add`.

    They take types of results, which may be left out where the operation implies them, then operands, and attributes by
    their keywords.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        is_class = name.endswith("Op") and name[0].isupper()
        short = re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Op")).lower() if is_class else name
        short = _CLASSES.get(short, short) if is_class and self._name == "stablehlo" else short
        if f"{self._name}.{short}" not in operations.names(self._name):
            raise AttributeError(f"dialect {self._name} has no operation {short}")

        def make(*given: Any, loc: Any = None, ip: Any = None, **attributes: Any) -> Any:
            types: list[Any] = []
            operands: list[Any] = []
            for x in given:
                for part in x if isinstance(x, (list, tuple)) else [x]:
                    if isinstance(part, bindings.ir.Type):
                        types.append(part)
                    else:
                        operands.extend([part] if isinstance(part, bindings.ir.Value) else part.results)
            made = bindings.ir.Operation.create(
                f"{self._name}.{short}",
                results=types or None,
                operands=operands,
                attributes={k: v for k, v in attributes.items() if v is not None},
                loc=loc,
                ip=ip,
                infer_type=not types,
            )
            if is_class:
                return made
            return made.result if len(made.results) == 1 else list(made.results)

        return make


stablehlo = hlo = Dialect("stablehlo")
chlo = Dialect("chlo")
