"""Writes StableHLO as VHLO, its versioned form: each operation in the oldest version that can express it.

Readers upgrade old versions of operations, so every StableHLO from the needed version on reads such a module. The
versions are those of https://openxla.org/stablehlo/compatibility.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, bindings, match, printed
from passes.match import UNINITIALIZED
from passes.patterns import location_text
from passes.types import spelled
from stagec.core import errors
from stagec.lowering.refusal import refusal

Version = tuple[int, int, int]
OLDEST: Version = (0, 9, 0)
_LATER: dict[str, Version] = {"tan": (1, 4, 0)}
_BATCHING: Version = (1, 1, 0)


class Versioned:
    """A module of VHLO.

    Args:
      module: an `ir.Module` in StableHLO, whose operations of CHLO are written out in it.
      locations: whether operations keep theirs.

    Attributes:
      module: an `ir.Module` in VHLO, in the same context.
      needs: the version from which StableHLO reads it.
      because: the operation that needs that version, or None.
    """

    def __init__(self, module: Any, locations: bool = False) -> None:
        self.needs: Version = OLDEST
        self.because: Any = None
        ir = bindings.ir
        with module.context, ir.Location.unknown() as unknown:
            self._location = None if locations else unknown
            bindings.run_passes(module, "func.func(chlo-legalize-to-stablehlo)")
            for op in match.operations_in(module):
                if op.name == "shape.shape_of":  # which the pass uses for open dimensions
                    _write_shape(op)
            self._types: dict[str, Any] = {}
            self.module = ir.Module.create()
            with ir.InsertionPoint(self.module.body):
                for op in module.body.operations:
                    self._function(op.operation)
            if not self.module.operation.verify():
                raise AssertionError("the module of VHLO does not verify")

    def _function(self, op: Any) -> None:
        assert len(op.regions[0].blocks), "a program that calls Python is refused before"
        type_ = op.attributes["function_type"].value
        # `(())` stands for no parameters, and there are no parentheses around several results.
        arguments, results = (", ".join(map(_type, types)) or "()" for types in (type_.inputs, type_.results))
        made = self._create(
            "func_v1",
            op,
            [],
            {
                "sym_name": _string(op.attributes["sym_name"].value),
                "function_type": f"#vhlo.type_v1<!vhlo.func_v1<({arguments}) -> {results}>>",
                "sym_visibility": _string(op.attributes["sym_visibility"].value),
                "arg_attrs": "#vhlo.array_v1<[]>",
                "res_attrs": "#vhlo.array_v1<[]>",
            },
        )
        self._regions(op, made, {})

    def _regions(self, op: Any, made: Any, values: dict[Any, Any]) -> None:
        for region, into in zip(op.regions, made.regions):
            for block in region.blocks:
                types = [self._parsed(_type(a.type)) for a in block.arguments]
                copy = into.blocks.append(*types, arg_locs=[self._location or a.location for a in block.arguments])
                values.update(zip(block.arguments, copy.arguments))
                with bindings.ir.InsertionPoint(copy):
                    for inner in block.operations:
                        self._operation(inner.operation, values)

    def _operation(self, op: Any, values: dict[Any, Any]) -> None:
        dialect, _, name = op.name.partition(".")
        if op.name != "func.return" and dialect != "stablehlo":
            raise refuse(op, "is not an operation of StableHLO")
        if name in _LATER:
            self._need(_LATER[name], op)
        given = {key: _text(op, i) for i, key in enumerate(op.attributes)}
        attributes, batching = _attributes(op, name, given)
        if batching:
            self._need(_BATCHING, op)
        made = self._create(f"{name}_v{2 if batching else 1}", op, [values[v] for v in op.operands], attributes)
        values.update(zip(op.results, made.results))
        self._regions(op, made, values)

    def _create(self, name: str, op: Any, operands: list[Any], attributes: dict[str, str]) -> Any:
        ir = bindings.ir
        return ir.Operation.create(
            f"vhlo.{name}",
            [self._parsed(_type(v.type)) for v in op.results],
            operands,
            {key: ir.Attribute.parse(text) for key, text in attributes.items()},
            regions=len(op.regions),
            loc=self._location or op.location,
        )

    def _parsed(self, text: str) -> Any:
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = bindings.ir.Type.parse(text)
        return found

    def _need(self, version: Version, op: Any) -> None:
        if version > self.needs:
            self.needs, self.because = version, op


def _write_shape(op: Any) -> None:
    """Replace the shape of an array by operations of StableHLO."""
    ir, rank = bindings.ir, op.operands[0].type.rank
    size, vector, shape = (ir.RankedTensorType.get(n, ir.IntegerType.get_signless(32)) for n in ([], [1], [rank]))

    def made(name: str, type_: Any, operands: Sequence[Any], **numbers: int) -> Any:
        i64 = ir.IntegerType.get_signless(64)
        attributes = {key: ir.IntegerAttr.get(i64, n) for key, n in numbers.items()}
        return ir.Operation.create(f"stablehlo.{name}", [type_], operands, attributes, loc=op.location).result

    with ir.InsertionPoint(op):
        sizes = [made("get_dimension_size", size, [op.operands[0]], dimension=i) for i in range(rank)]
        sizes = [made("reshape", vector, [n]) for n in sizes]
        op.result.replace_all_uses_with(made("concatenate", shape, sizes, dimension=0))
    op.erase()


def refuse(op: Any, what: str, fix: str = "") -> errors.UnsupportedError:
    """The error for an operation that other readers of StableHLO do not have."""
    return refusal(op, what, fix, location_text(op))


def _type(type_: Any) -> str:
    """A type's text in VHLO."""
    shape = "".join("?x" if type_.is_dynamic_dim(i) else f"{n}x" for i, n in enumerate(type_.shape))
    return f"!vhlo.tensor_v1<{shape}{_element(spelled(type_.element_type))}>"


def _element(name: str) -> str:
    if name.startswith("complex<"):
        return f"!vhlo.complex_v1<{_element(name[8:-1])}>"
    return f"!vhlo.{'bool' if name == 'i1' else name}_v1"


def _text(op: Any, index: int) -> str:
    """An attribute's text. The bindings print what they cannot return, such as complex elements."""
    return str(op.attributes[index]).partition("=")[2][:-1]


_ENUMERATION = re.compile(r"#stablehlo<(\w+) (\w+)>$")
_INTEGER = re.compile(r"-?\d+ : i\d+$")
_ARRAY = re.compile(r"array<(i64|i1)(?:: (.*))?>$")


def _attribute(text: str) -> str | None:
    """An attribute in VHLO; None for a kind that StableHLO's operations do not have."""
    found = _ENUMERATION.match(text)
    if found is not None:
        return f"#vhlo<{found[1]}_v1 {found[2]}>"
    if _INTEGER.match(text):
        return f"#vhlo.integer_v1<{text}>"
    if text in ("true", "false"):
        return f"#vhlo.bool_v1<{text}>"
    found = _ARRAY.match(text)
    if found is not None:
        return _numbers(found[2].split(", ") if found[2] else [], found[1])
    if text.startswith("dense<"):
        return f"#vhlo.tensor_v1<{text}>"
    if text.startswith('"'):
        return f"#vhlo.string_v1<{text}>"
    if text.startswith("@"):
        return f'#vhlo.string_v1<"{text[1:]}">'
    if text.startswith("["):
        items = [_attribute(item) for item in text[1:-1].split(", ") if item]
        return None if None in items else f"#vhlo.array_v1<[{', '.join(map(str, items))}]>"
    return None


def _string(text: str) -> str:
    return f'#vhlo.string_v1<"{text}">'


def _number(value: int) -> str:
    return f"#vhlo.integer_v1<{value} : i64>"


def _numbers(values: Sequence[Any], element: str = "i64") -> str:
    return f"#vhlo.tensor_v1<dense<[{', '.join(map(str, values))}]> : tensor<{len(values)}x{element}>>"


# Default attributes, which StableHLO leaves out and VHLO does not.
_PRECISION = {"precision_config": "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"}
_DEFAULTS = {
    "custom_call": {
        "backend_config": '""',
        "called_computations": "[]",
        "has_side_effect": "false",
        "operand_layouts": "[]",
        "output_operand_aliases": "[]",
        "result_layouts": "[]",
    },
    "compare": {"compare_type": "#stablehlo<comparison_type NOTYPE>"},
    "dot_general": _PRECISION,
    "dynamic_broadcast_in_dim": dict.fromkeys(
        ("known_expanding_dimensions", "known_nonexpanding_dimensions"), "array<i64>"
    ),
    "gather": {"indices_are_sorted": "false"},
    "dynamic_gather": {"indices_are_sorted": "false"},
    "scatter": {"indices_are_sorted": "false", "unique_indices": "false"},
    "sort": {"dimension": "-1 : i64", "is_stable": "false"},
}
# The versions of the interface of `custom_call` that are written here.
_INTERFACES = {"1": "API_VERSION_ORIGINAL", "2": "API_VERSION_STATUS_RETURNING"}
# Attributes that are left out: groups whose fields are attributes of their own in VHLO, and default accuracies.
_GROUPS = ("dimension_numbers", "scatter_dimension_numbers", "dot_dimension_numbers")
_ANY_ACCURACY = "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>"


def _attributes(op: Any, name: str, given: dict[str, str]) -> tuple[dict[str, str], bool]:
    """The attributes of an operation in VHLO, and whether it has batching dimensions of indices."""
    made: dict[str, str] = {}
    batching = False
    defaults = _DEFAULTS.get(name, {})
    if name in ("gather", "dynamic_gather"):
        made, batching = _indexing(op, "dimension_numbers", printed.GATHER_FIELDS)
    elif name == "scatter":
        made, batching = _indexing(op, "scatter_dimension_numbers", printed.SCATTER_FIELDS)
    elif name == "dot_general":
        dimensions = attrs.dot_dimensions(op)
        for side in ("lhs", "rhs"):
            made[f"{side}_batching_dimensions"] = _numbers(getattr(dimensions, f"{side}_batch"))
            made[f"{side}_contracting_dimensions"] = _numbers(getattr(dimensions, f"{side}_contract"))
    elif name in ("convolution", "dynamic_conv"):
        made = _convolution(op)
        rank = len(attrs.convolution_dimensions(op).lhs_spatial)
        reversal = {"window_reversal": f"dense<false> : tensor<{rank}xi1>"}
        defaults = _PRECISION | reversal | _window(rank, "lhs_dilation", "rhs_dilation")
    elif name == "reduce_window":
        defaults = _window(len(attrs.ints(op, "window_dimensions")), "base_dilations", "window_dilations")
    if name == "custom_call":
        version = given.pop("api_version").partition(" ")[0]
        made["api_version"] = f"#vhlo<api_version_v1 {_INTERFACES[version]}>"
    for key, text in (defaults | given).items():
        if key in _GROUPS or key == UNINITIALIZED or text == _ANY_ACCURACY:
            continue
        found = _attribute(text)
        if found is None:
            raise refuse(op, f"has an attribute {key} that a portable artifact does not hold")
        made[key] = found
    return made, batching


def _window(rank: int, *dilations: str) -> dict[str, str]:
    """Steps of one and no padding along each dimension."""
    steps = dict.fromkeys(("window_strides", *dilations), f"dense<1> : tensor<{rank}xi64>")
    return {"padding": f"dense<0> : tensor<{rank}x2xi64>"} | steps


def _indexing(op: Any, name: str, known: Sequence[str]) -> tuple[dict[str, str], bool]:
    """Dimension numbers as separate attributes, and whether there are batching dimensions, which came in a later
    version.
    """
    fields = attrs.dimension_numbers(op, name)
    batched = any(fields.get(key) for key in known if "batching" in key)
    lists = [key for key in known if key != "index_vector_dim" and (batched or "batching" not in key)]
    made = {key: _numbers(fields.get(key, ())) for key in lists}
    return made | {"index_vector_dim": _number(fields.get("index_vector_dim", 0))}, batched


def _convolution(op: Any) -> dict[str, str]:
    d = attrs.convolution_dimensions(op)
    return {
        "input_batch_dimension": _number(d.lhs_batch),
        "input_feature_dimension": _number(d.lhs_feature),
        "input_spatial_dimensions": _numbers(d.lhs_spatial),
        "kernel_input_feature_dimension": _number(d.rhs_input),
        "kernel_output_feature_dimension": _number(d.rhs_output),
        "kernel_spatial_dimensions": _numbers(d.rhs_spatial),
        "output_batch_dimension": _number(d.out_batch),
        "output_feature_dimension": _number(d.out_feature),
        "output_spatial_dimensions": _numbers(d.out_spatial),
    }
