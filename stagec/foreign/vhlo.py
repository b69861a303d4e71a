"""StableHLO's portable artifacts: VHLO, the versioned dialect, written again as StableHLO.

VHLO has each operation of StableHLO with a version after its name, and its types and attributes under names of its own.
Operations whose attributes StableHLO groups (`#stablehlo.gather<...>`) have these one by one. A newer version of an
operation may add attributes, and renames none of those read here, so all versions are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from passes import bindings, printed
from stagec.foreign.site import refuse

# Operations that declare devices or place values on them; the placement is left out.
_SHARDING = ("sdy.mesh", "sdy.sharding_constraint", "builtin.unrealized_conversion_cast")
_VERSION = re.compile(r"_v\d+$")


def as_stablehlo(module: Any) -> str:
    """The text in StableHLO of a module of VHLO.

    Raises:
      UnsupportedError: an operation, a type or an attribute is not known.
    """
    writer = _Writer()
    writer.operations(module.body, "builtin.module")
    attributes = ", ".join(
        f"{name} = {text}"
        for name, text in (
            (a, writer.attribute(str(module.operation.attributes[a]))) for a in module.operation.attributes
        )
        if text is not None and "." in name
    )
    return f"module attributes {{{attributes}}} {{\n{''.join(writer.lines)}\n}}"


class _Writer:
    """Writes operations in MLIR's generic form."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}

    def operations(self, block: Any, parent: str) -> None:
        for op in block.operations:
            op = op.operation
            if op.name in _SHARDING:
                # Its result is its operand.
                self._names.update((result, self._name(op.operands[0])) for result in op.results)
            else:
                self._operation(op, parent)

    def _name(self, value: Any) -> str:
        return self._names.setdefault(value, f"%v{len(self._names)}")

    def _operation(self, op: Any, parent: str) -> None:
        short = _VERSION.sub("", op.name.removeprefix("vhlo."))
        name = {"func": "func.func", "call": "func.call"}.get(short, f"stablehlo.{short}")
        if short == "return" and parent == "func.func":
            name = "func.return"
        if not op.name.startswith("vhlo."):
            what = "is among operations of VHLO, but belongs to another dialect"
            raise refuse(op, what, "serialize the program as a portable artifact of StableHLO again")
        if len(op.results):
            self.lines.append(", ".join(self._name(v) for v in op.results) + " = ")
        self.lines.append(f'"{name}"({", ".join(self._name(v) for v in op.operands)})')
        try:
            attributes = _attributes(short, {a: str(op.attributes[a]) for a in op.attributes}, self.attribute)
            types = [[type_text(str(v.type)) for v in values] for values in (op.operands, op.results)]
        except _Unknown as unknown:
            what = f"has {unknown}, which is not known"
            raise refuse(op, what, "serialize the program for an older version of StableHLO") from None
        if len(op.regions):
            self.lines.append(" (")
            for i, region in enumerate(op.regions):
                self.lines.append(", {" if i else "{")
                for block in region.blocks:
                    arguments = [f"{self._name(a)}: {type_text(str(a.type))}" for a in block.arguments]
                    self.lines.append(f"\n^bb0({', '.join(arguments)}):\n")
                    self.operations(block, name)
                self.lines.append("}")
            self.lines.append(")")
        # MLIR finds the attributes that the operation defines among all others.
        shown = [f"{k} = {v}" for k, v in attributes.items()]
        if shown:
            self.lines.append(f" {{{', '.join(shown)}}}")
        self.lines.append(f" : ({', '.join(types[0])}) -> ({', '.join(types[1])}) {_location(op.location)}\n")

    def attribute(self, text: str) -> str | None:
        """An attribute in StableHLO's spelling; None for one that can be left out."""
        return _Reader(text).attribute()


def _location(location: Any) -> str:
    found = printed.location(location)
    return f'loc("{found.file}":{found.line}:{found.column})' if found else "loc(unknown)"


class _Unknown(Exception):
    """An attribute or a type that is not known."""


# The names of the versions of `custom_call`, and StableHLO's numbers for them.
_INTERFACES = {
    "API_VERSION_UNSPECIFIED": 0,
    "API_VERSION_ORIGINAL": 1,
    "API_VERSION_STATUS_RETURNING": 2,
    "API_VERSION_STATUS_RETURNING_UNIFIED": 3,
    "API_VERSION_TYPED_FFI": 4,
}
# The most elements of an attribute that is not a constant. Even one number may be repeated any number of times.
_MOST_ELEMENTS = 1 << 16
# Attributes that name functions.
_SYMBOLS = {"callee", "decomposition"}
# Attributes that are not needed, or that are left out if they have their default.
_LEFT_OUT = {"result_accuracy", "output_operand_aliases", "use_global_device_ids", "has_side_effect"}
_DOT = tuple(f"{side}_{kind}_dimensions" for kind in ("batching", "contracting") for side in ("lhs", "rhs"))
# Groups of attributes: the operations that have them, StableHLO's name and kind, and the fields.
_GROUPS = {
    "gather": ("dimension_numbers", "gather", printed.GATHER_FIELDS),
    "dynamic_gather": ("dimension_numbers", "gather", printed.GATHER_FIELDS),
    "scatter": ("scatter_dimension_numbers", "scatter", printed.SCATTER_FIELDS),
    "dot_general": ("dot_dimension_numbers", "dot", _DOT),
}
_ALGORITHM = (
    "lhs_precision_type",
    "rhs_precision_type",
    "accumulation_type",
    "lhs_component_count",
    "rhs_component_count",
    "num_primitive_operations",
    "allow_imprecise_accumulation",
)


def _attributes(op: str, given: dict[str, str], read: Callable[[str], str | None]) -> dict[str, str]:
    """The attributes of an operation, in StableHLO's terms."""
    found: dict[str, str] = {}
    given = {k: v for k, v in given.items() if k not in _LEFT_OUT and not _EMPTY.match(v)}
    if op == "func" and read(given.get("sym_visibility", "")) == '""':
        del given["sym_visibility"]
    if op == "dot_general":
        given = {k: v for k, v in given.items() if k not in _ALGORITHM}
    if op in _GROUPS:
        name, kind, fields = _GROUPS[op]
        shown = [f"{f} = {_plain(given.pop(f))}" for f in fields if f in given]
        found[name] = f"#stablehlo.{kind}<{', '.join(shown)}>"
    if op in ("convolution", "dynamic_conv"):
        found["dimension_numbers"] = _convolution(given)
    if "channel_id" in given:
        number = _plain(given.pop("channel_id"))
        kind = _plain(given.pop("channel_type")) if "channel_type" in given else "0"
        if number != "0":
            found["channel_handle"] = f"#stablehlo.channel_handle<handle = {number}, type = {kind}>"
    for name, text in given.items():
        if name == "value":
            value = read(text)
        elif name in _SYMBOLS:
            value = f"@{read(text)}"
        elif name == "called_computations":
            value = str(read(text)).replace('"', '@"', 1).replace(', "', ', @"')
        elif name == "api_version":
            value = f"{_INTERFACES[_Reader(text).word()]} : i32"
        else:
            value = _as_array(read(text), name)
        if value is not None:
            found[name] = value
    return found


_EMPTY = re.compile(r"#vhlo\.array_v\d+<\[\]>$")
_DENSE = re.compile(r"dense<(.*)> : tensor<(\d+)x(i64|i1)>$", re.DOTALL)


def _as_array(text: str | None, name: str) -> str | None:
    """Numbers along one axis as StableHLO keeps them."""
    found = _DENSE.match(text or "")
    if found is None or name in ("padding", "replica_groups", "source_target_pairs"):
        return text
    values = _elements(str(text))
    if found[3] == "i1":
        return f"array<i1: {', '.join('true' if v else 'false' for v in values)}>" if len(values) else "array<i1>"
    return f"array<i64: {', '.join(str(int(v)) for v in values)}>" if len(values) else "array<i64>"


def _elements(text: str) -> np.ndarray[Any, Any]:
    with bindings.new_context():
        found = bindings.ir.Attribute.parse(text)
        if len(found) > _MOST_ELEMENTS:
            raise _Unknown(f"an attribute of {len(found)} elements")
        return np.asarray(found).reshape(-1)


def _plain(text: str) -> str:
    """A number or a list of numbers as a group of attributes prints it."""
    read = str(_Reader(text).attribute())
    if read.startswith("dense"):
        return "[" + ", ".join(str(int(v)) for v in _elements(read)) + "]"
    return read.split(" : ")[0]


def _convolution(given: dict[str, str]) -> str:
    parts = []
    for side, first, second in (
        ("input", "batch", "feature"),
        ("kernel", "output_feature", "input_feature"),
        ("output", "batch", "feature"),
    ):
        letters = {"batch": "b", "feature": "f", "output_feature": "o", "input_feature": "i"}
        positions = {int(_plain(given.pop(f"{side}_{name}_dimension"))): letters[name] for name in (first, second)}
        space = _elements(str(_Reader(given.pop(f"{side}_spatial_dimensions")).attribute()))
        positions.update({int(axis): str(i) for i, axis in enumerate(space)})
        parts.append("[" + ", ".join(positions[i] for i in sorted(positions)) + "]")
    return f"#stablehlo.conv<{parts[0]}x{parts[1]}->{parts[2]}>"


class _Reader:
    """Reads one attribute of VHLO, as MLIR prints it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def word(self) -> str:
        """The case of an enumeration, `#vhlo<fft_type_v1 RFFT>`."""
        found = re.match(r"#vhlo<(\w+)_v\d+ (\w+)>", self._text)
        if found is None:
            raise _Unknown(f"the attribute {self._text}")
        return found[2]

    def attribute(self) -> str | None:
        """The attribute that begins here."""
        if self._skip("#vhlo<"):
            case = self._match(r"(\w+)_v\d+ (\w+)>")
            return None if case[2] == "NOTYPE" else f"#stablehlo<{case[1]} {case[2]}>"
        if not self._text.startswith("#vhlo.", self._at):
            return self._other()
        kind = self._match(r"#vhlo\.(\w+?)_v\d+<")[1]
        inside = self._inside()
        if kind == "type":
            return None if inside.startswith("!vhlo.none") else type_text(inside)
        if kind in ("float", "integer"):
            value, _, type_ = inside.partition(" : ")
            return f"{value} : {type_text(type_)}"
        if kind == "bool":
            return inside
        if kind in ("string", "flat_symbol_ref", "tensor"):
            return inside
        if kind == "array":
            return "[" + ", ".join(str(_Reader(item).attribute()) for item in _items(inside[1:-1])) + "]"
        if kind == "dict":
            return "{" + ", ".join(_entry(item) for item in _items(inside[1:-1])) + "}"
        raise _Unknown(f"the attribute #vhlo.{kind}")

    def _other(self) -> str:
        if "vhlo" in self._text:
            raise _Unknown(f"the attribute {self._text[:80]}")
        return self._text

    def _skip(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _match(self, pattern: str) -> re.Match[str]:
        found = re.compile(pattern).match(self._text, self._at)
        if found is None:
            raise _Unknown(f"the attribute {self._text[:80]}")
        self._at = found.end()
        return found

    def _inside(self) -> str:
        """The text before the closing bracket at the end."""
        return self._text[self._at : -1]


def _entry(item: str) -> str:
    """One entry of a dictionary, `#vhlo.string_v1<"name"> = value`."""
    depth = 0
    for i in range(len(item)):
        depth += {"<": 1, "[": 1, "{": 1, ">": -1, "]": -1, "}": -1}.get(item[i], 0)
        if depth == 0 and item.startswith(" = ", i):
            value = _Reader(item[i + 3 :]).attribute()
            return f"{_Reader(item[:i]).attribute()} = {value}"
    raise _Unknown(f"the entry {item}")


def _items(text: str) -> list[str]:
    """The parts between commas outside of brackets and strings."""
    parts, depth, quoted, start, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "<[{(":
            depth += 1
        elif c in ">]})" and not (c == ">" and text[i - 1] == "-"):
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def type_text(text: str) -> str:
    """A type of VHLO as StableHLO writes it.

    >>> type_text("!vhlo.tensor_v1<4x?x!vhlo.f32_v1>"), type_text("!vhlo.func_v1<(!vhlo.i1_v1) -> !vhlo.token_v1>")
    ('tensor<4x?xf32>', '(i1) -> (!stablehlo.token)')
    """
    found = re.match(r"!vhlo\.(\w+?)_v\d+(?:<(.*)>)?$", text, re.DOTALL)
    if found is None:
        if "vhlo" in text:
            raise _Unknown(f"the type {text}")
        return text
    kind, inside = found[1], found[2]
    if inside is None:
        return {"bool": "i1", "index": "index", "token": "!stablehlo.token"}.get(kind, kind)
    if kind == "tensor":
        at = inside.index("!")
        return f"tensor<{inside[:at]}{type_text(inside[at:])}>"
    if kind == "complex":
        return f"complex<{type_text(inside)}>"
    if kind == "tuple":
        return f"tuple<{', '.join(type_text(item) for item in _items(inside))}>"
    if kind == "func":
        arguments, results = _function(inside)
        return f"({', '.join(map(type_text, arguments))}) -> ({', '.join(map(type_text, results))})"
    raise _Unknown(f"the type {text}")


def _function(text: str) -> tuple[list[str], ...]:
    depth = 0
    for i, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0 and c == ")":
            results = text[i + 1 :].strip().removeprefix("->").strip()
            parts = _items(text[1:i]), _items(results[1:-1] if results.startswith("(") else results)
            # No parameters are printed as `(())`.
            return tuple([item for item in part if item != "()"] for part in parts)
    raise _Unknown(f"the type {text}")
