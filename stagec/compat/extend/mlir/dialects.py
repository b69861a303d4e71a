"""`jax.extend.mlir.dialects`: constructors of the operations of a dialect, by the names of MLIR's bindings."""

from __future__ import annotations

import re
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
# The attributes that constructors take without a keyword, in this order.
_ATTRIBUTES = {
    "broadcast_in_dim": "broadcast_dimensions",
    "cholesky": "lower",
    "compare": "comparison_direction compare_type",
    "concatenate": "dimension",
    "constant": "value",
    "dot_general": "dot_dimension_numbers precision_config algorithm",
    "dynamic_slice": "slice_sizes",
    "fft": "fft_type fft_length",
    "gather": "dimension_numbers slice_sizes indices_are_sorted",
    "iota": "iota_dimension",
    "pad": "edge_padding_low edge_padding_high interior_padding",
    "reduce": "dimensions",
    "reduce_precision": "exponent_bits mantissa_bits",
    "reverse": "dimensions",
    "slice": "start_indices limit_indices strides",
    "transpose": "permutation",
}
# Operations with two functions in themselves; others have one or none.
_TWO_REGIONS = ("if", "select_and_scatter", "while")


class Choice:
    """Attributes that are one of several words, such as `ComparisonDirectionAttr.get("LT")`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def get(self, value: str) -> Any:
        """The attribute for a word, in the context that is current."""
        return bindings.ir.Attribute.parse(f"#stablehlo<{self._name} {value}>")


class Dialect:
    """Constructors by name: of operations, as `AddOp`, and of the results of one, as `add`.

    They take types of results, which may be left out where the operation implies them, then operands, then attributes,
    most of which need their keywords.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        is_class = name.endswith(("Op", "Attr")) and name[0].isupper()
        short = name.rstrip("_")  # `return_`
        if is_class:
            short = re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub("(Op|Attr)$", "", name)).lower()
        if is_class and name.endswith("Attr"):
            return Choice(short)
        short = _CLASSES.get(short, short) if is_class and self._name == "stablehlo" else short
        if f"{self._name}.{short}" not in operations.names(self._name):
            raise AttributeError(f"dialect {self._name} has no operation {short}")
        row = operations.of(f"{self._name}.{short}")
        regions = 0 if row.regions is operations.Regions.NONE else 2 if short in _TWO_REGIONS else 1

        def make(*given: Any, loc: Any = None, ip: Any = None, **attributes: Any) -> Any:
            types: list[Any] = []
            operands: list[Any] = []
            count = attributes.pop("num_branches", regions)
            names = iter(_ATTRIBUTES.get(short, "").split())
            for x in given:
                for part in x if isinstance(x, (list, tuple)) else [x]:
                    if isinstance(part, bindings.ir.Type):
                        types.append(part)
                    elif isinstance(part, bindings.ir.Attribute):
                        keyword = next(names, None)
                        if keyword is None:
                            raise TypeError(f"{self._name}.{short}: pass the attribute {part} by its keyword")
                        attributes[keyword] = part
                    else:
                        operands.extend([part] if isinstance(part, bindings.ir.Value) else part.results)
            made = bindings.ir.Operation.create(
                f"{self._name}.{short}",
                results=types or None,
                operands=operands,
                attributes={k: v for k, v in attributes.items() if v is not None},
                regions=count,
                loc=loc,
                ip=ip,
                infer_type=not types and short != "return",
            )
            if is_class:
                return made
            return made.result if len(made.results) == 1 else list(made.results)

        return make


stablehlo = hlo = Dialect("stablehlo")
chlo = Dialect("chlo")
