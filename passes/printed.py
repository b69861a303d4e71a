"""Parsers of MLIR's printed text, for what its Python bindings cannot return; the passes and stagec have no others.

MLIR does not guarantee the text, so it may change with a release. Each parser matches the whole form of what it reads,
and raises `PrintedError` for any other form, so that it never overlooks a part.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
from typing import Any, NamedTuple, NoReturn

import numpy as np

from passes.errors import PassError, message


class PrintedError(PassError, RuntimeError):
    """MLIR prints something in a form that this version of stagec cannot parse."""


def _refuse(what: str, expected: str, printed: str) -> NoReturn:
    try:
        release = importlib.metadata.version("iree-base-compiler")
    except importlib.metadata.PackageNotFoundError:
        release = "of unknown version"
    raise PrintedError(
        message(
            f"iree-base-compiler {release} prints {what} in a form that stagec does not read",
            values=[("expected", expected), ("printed", printed if len(printed) <= 200 else printed[:197] + "...")],
            fix="install the release that stagec requires, or correct the reader in passes/printed.py",
        )
    )


_ENUMERATION = re.compile(r"#(?:stablehlo|chlo)<\w+ (\w+)>")


def enumeration(attribute: Any) -> str:
    """The case of an enumeration.

    >>> enumeration("#stablehlo<comparison_direction LT>")
    'LT'
    """
    return _case(str(attribute))


@functools.lru_cache(maxsize=256)
def _case(text: str) -> str:
    found = _ENUMERATION.fullmatch(text)
    return found[1] if found else _refuse("an enumeration", "#stablehlo<comparison_direction LT>", text)


_NUMBERS = re.compile(r"#(?:stablehlo|chlo)\.(\w+)<(.*)>", re.DOTALL)
_FIELD = re.compile(r"\s*(\w+) = (?:\[((?:-?\d+(?:, )?)*)\]|(-?\d+))\s*(?:,|$)")
_DOT = frozenset(f"{side}_{kind}_dimensions" for side in ("lhs", "rhs") for kind in ("batching", "contracting"))
# The fields of a gather's and of a scatter's dimension numbers.
GATHER_FIELDS = tuple(
    "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map "
    "index_vector_dim".split()
)
SCATTER_FIELDS = tuple(
    "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
    "scatter_dims_to_operand_dims index_vector_dim".split()
)
_FIELDS = {
    "dot": _DOT,
    "ragged_dot": _DOT | {"lhs_ragged_dimensions", "rhs_group_dimensions"},
    "gather": frozenset(GATHER_FIELDS),
    "scatter": frozenset(SCATTER_FIELDS),
}


def dimension_numbers(attribute: Any) -> dict[str, Any]:
    """The fields of `#stablehlo.dot<...>`, `gather<...>` or `scatter<...>`: lists as tuples; absent fields have no key.

    >>> dimension_numbers("#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>")
    {'lhs_contracting_dimensions': (1,), 'rhs_contracting_dimensions': (0,)}
    """
    return _fields(str(attribute))


@functools.lru_cache(maxsize=512)
def _fields(text: str) -> dict[str, Any]:
    found = _NUMBERS.fullmatch(text)
    remainder, fields = (found[2], {}) if found else (text, {})
    while found and remainder:
        field = _FIELD.match(remainder)
        if field is None or field[1] not in _FIELDS.get(found[1], ()):
            found = None
            break
        listed, number = field[2], field[3]
        fields[field[1]] = int(number) if listed is None else tuple(int(n) for n in listed.split(", ") if n)
        remainder = remainder[field.end() :]
    if found is None:
        known = ", ".join(f"{kind}<{', '.join(sorted(names))}>" for kind, names in _FIELDS.items())
        _refuse("dimension numbers", f"name = number, or name = [numbers], of {known}", text)
    return fields


_MESH = re.compile(r'#stablehlo\.mesh<axes=\[((?:<name = "[^"]*", size = \d+>(?:, )?)+)\]>')
_SIZE = re.compile(r", size = (\d+)>")


def mesh_sizes(attribute: Any) -> list[int]:
    """The sizes of a mesh of processes along its axes.

    >>> mesh_sizes('#stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>]>')
    [2, 4]
    """
    found = _MESH.search(str(attribute))
    if found is None:
        _refuse("a mesh of processes", '#stablehlo.mesh<axes=[<name = "x", size = 2>]>', str(attribute))
    return [int(n) for n in _SIZE.findall(found[1])]


_CONVOLUTION = re.compile(r"#stablehlo\.conv<\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]>")


def convolution(attribute: Any) -> tuple[list[str], list[str], list[str]]:
    """The names of the dimensions of a convolution's operands and of its result.

    >>> convolution("#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>")
    (['b', '0', 'f'], ['0', 'i', 'o'], ['b', '0', 'f'])
    """
    found = _CONVOLUTION.fullmatch(str(attribute))
    sides = [[name.strip() for name in side.split(",")] for side in found.groups()] if found else []
    if [_without_spatial(side) for side in sides] != [["b", "f"], ["i", "o"], ["b", "f"]]:
        _refuse("the dimensions of a convolution", "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>", str(attribute))
    lhs, rhs, out = sides
    return lhs, rhs, out


def _without_spatial(side: list[str]) -> list[str] | None:
    """The names of the dimensions that are not spatial, sorted; None unless the spatial ones are 0, 1, ..."""
    named = sorted(name for name in side if not name.isdigit())
    spatial = sorted(int(name) for name in side if name.isdigit())
    return named if spatial == list(range(len(spatial))) else None


_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)"> : tensor<')
_DENSE = re.compile(r"dense<([^<>]*)> : tensor<")
_NUMBER = re.compile(r"[^\s,()\[\]]+")
_BOOLEANS = {"false": "0", "true": "1"}


def dense(text: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """The elements of `dense<...>` in the text of an attribute, or of an operation with one such attribute.

    One number is broadcast, without a copy for each element.

    >>> dense("dense<[1.0, 0x7F80]> : tensor<2xbf16>", np.dtype("bfloat16"), (2,))
    array([1, inf], dtype=bfloat16)
    """
    size = int(np.prod(shape))
    try:
        flat = _elements(text, dtype)
    except ValueError:  # a number in an unknown form
        flat = None
    if flat is None or flat.size not in (size, 1) or (flat.size == 0) != (size == 0):
        _refuse("a constant", f"dense<one number, or {size} of them> : tensor<...>", text)
    return np.broadcast_to(flat.reshape(()), shape) if flat.size == 1 else flat.reshape(shape).copy()


def _elements(text: str, dtype: np.dtype[Any]) -> np.ndarray | None:
    found = _HEX.search(text)
    if found:
        return np.frombuffer(bytes.fromhex(found[1]), dtype)
    found = _DENSE.search(text)
    if found is None:
        return None
    parts = np.dtype({"c": f"f{dtype.itemsize // 2}"}[dtype.kind]) if dtype.kind == "c" else dtype
    unsigned = np.dtype(f"u{parts.itemsize}")

    def number(token: str) -> Any:
        if token.startswith("0x") and parts.kind in "fV":
            return np.array(int(token, 16), unsigned).view(parts)
        return np.array(float(token) if parts.kind in "fV" else int(_BOOLEANS.get(token, token))).astype(parts)

    return np.array([number(token) for token in _NUMBER.findall(found[1])], parts).view(dtype)


_CONSTANT = re.compile(r".*\b(dense|dense_resource|sparse)<(.*)> : tensor<.*", re.DOTALL)


def constant(text: str) -> tuple[str, str]:
    """In which form a printed `stablehlo.constant` has its elements, and what is in the brackets.

    >>> constant('%0 = stablehlo.constant dense_resource<"a b"> : tensor<2xf32>')
    ('dense_resource', '"a b"')
    """
    found = _CONSTANT.fullmatch(text)
    return (found[1], found[2]) if found else _refuse("a constant", "stablehlo.constant dense<1> : tensor<2xf32>", text)


_RESOURCE = re.compile(r' +("(?:[^"\\]|\\.)*"|[\w.$-]+): "0x([0-9A-Fa-f]*)",?')
_AROUND_RESOURCES = re.compile(r" *(?:\w+: \{|\},?|)")


def resources(text: str) -> dict[str, bytes]:
    """The blobs between `{-#` and `#-}` after a module, by their names in `dense_resource<name>`.

    >>> resources('  dialect_resources: {\\n    builtin: {\\n      w: "0x04000000FF00"\\n    }\\n  }\\n')
    {'w': b'\\xff\\x00'}
    """
    found = {}
    for row in text.split("\n"):
        blob = _RESOURCE.fullmatch(row)
        if blob is None and not _AROUND_RESOURCES.fullmatch(row):
            _refuse("the resources of a module", 'name: "0x04000000FF00"', row)
        if blob is not None:
            found[blob[1]] = bytes.fromhex(blob[2][8:])  # the first four bytes are the alignment
    return found


class Line(NamedTuple):
    """A position in a source file."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


_LINE = re.compile(r'"([^"]*)":(\d+):(\d+)')
_LOCATION = re.compile(r'loc\((?:"[^"]*"|unknown|callsite|fused(?:<.*?>)?|at|to|[\d:,()\[\]\s])+\)', re.DOTALL)


def location(value: Any) -> Line | None:
    """The first line of a file that a location names, or None if it names none.

    >>> location('loc(callsite("f"("user.py":3:1) at "user.py":9:1))')
    Line(file='user.py', line=3, column=1)
    >>> location("loc(unknown)")
    """
    return next(iter(lines(value)), None)


def lines(value: Any) -> list[Line]:
    """All lines of files that a location names.

    >>> [line.line for line in lines('loc(fused["user.py":3:1, "user.py":9:1])')]
    [3, 9]
    """
    text = str(value)
    found = [Line(file, int(line), int(column)) for file, line, column in _LINE.findall(text)]
    if not found and not _LOCATION.fullmatch(text):
        _refuse("a location", 'loc("file":line:column), loc("name") or loc(unknown)', text)
    return found


_ALIAS = re.compile(r"(#loc\d*) = (loc\(.*\))")
_AN_ALIAS = re.compile(r"#loc\d*\b")
# A location as it stands after an operation or a block's argument; those of modules printed with aliases nest twice.
_PLACED = re.compile(r' loc\(((?:"(?:[^"\\]|\\.)*"|[^()"]|\((?:"(?:[^"\\]|\\.)*"|[^()"])*\))*)\)')

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LEFT = re.compile(r"\bloc\(|#loc\d*\b")


def located(text: str) -> list[tuple[str, tuple[Line, ...]]]:
    """The lines of a module that was printed with locations, each without them, and the lines of files that it names.

    >>> located('%0 = "f"() loc(#loc1)\\n#loc = loc("user.py":3:1)\\n#loc1 = loc("g"(#loc))')
    [('%0 = "f"()', (Line(file='user.py', line=3, column=1),))]
    >>> located("%0 = stablehlo.constant dense<1> loc(unknown)")
    [('%0 = stablehlo.constant dense<1>', ())]
    >>> [text for text, lines in located('"f"() ({\\n}) : () -> () loc("user.py":3:1)') if lines]
    ['"f"() ({', '}) : () -> ()']
    """
    rows = text.splitlines()
    found = [_ALIAS.fullmatch(row) for row in rows]
    aliases = {alias[1]: alias[2] for alias in found if alias is not None}
    known: dict[str, tuple[Line, ...]] = {}

    def lines_in(body: str) -> tuple[Line, ...]:
        if body not in known:
            known[body] = ()  # should an alias name itself
            direct = [Line(file, int(line), int(column)) for file, line, column in _LINE.findall(body)]
            named = [line for alias in _AN_ALIAS.findall(body) for line in lines_in(aliases.get(alias, ""))]
            known[body] = tuple(dict.fromkeys([*direct, *named]))
        return known[body]

    made: list[tuple[str, tuple[Line, ...]]] = []
    opened: list[list[int]] = []
    for row, alias in zip(rows, found):
        if alias is not None:
            continue
        # Arguments of a block have locations too; the last one is the operation's.
        places = _PLACED.findall(row)
        text = _PLACED.sub("", row)
        if _LEFT.search(_QUOTED.sub("", text)):
            _refuse("an operation with its location", "operation loc(location), nested twice at most", row)
        made.append((text, lines_in(places[-1]) if places else ()))
        # An operation with regions has its location after the last one.
        bare, at = text.strip(), len(made) - 1
        if bare.endswith("{") and not bare.startswith("}"):
            opened.append([at - 1, at] if bare == "cond {" else [at])
        elif bare.startswith("}") and opened:
            if bare.endswith("{"):
                opened[-1].append(at)
            else:
                for begin in opened.pop():
                    made[begin] = (made[begin][0], made[begin][1] or made[at][1])
    return made


class ExecutableTarget(NamedTuple):
    """The target of kernels: a backend of the compiler, a format of executables, and attributes as printed."""

    backend: str
    format: str
    attributes: dict[str, str]


_TARGET = re.compile(r'#hal\.executable\.target<"([^"]*)", "([^"]*)"(?:, \{(.*?)\})?>', re.DOTALL)
_STRING_OR_INTEGER = re.compile(r'(\w+) = ("[^"]*"|-?\d+ : i\d+)')


def executable_target(value: Any) -> ExecutableTarget:
    """The first `#hal.executable.target<...>` in a text, with its string and integer attributes.

    >>> executable_target('#hal.executable.target<"llvm-cpu", "static", {cpu = "generic", size = 8 : i64}>').attributes
    {'cpu': '"generic"', 'size': '8 : i64'}
    """
    text = str(value)
    found = _TARGET.search(text)
    if found is None:
        _refuse("what kernels are compiled for", '#hal.executable.target<"backend", "format", {name = value}>', text)
    return ExecutableTarget(found[1], found[2], dict(_STRING_OR_INTEGER.findall(found[3] or "")))


_PIPELINE = re.compile(r"#iree_codegen\.translation_info<pipeline = #?(\w+)(?:[ .<>,].*)?", re.DOTALL)


def pipeline_dialect(attribute: Any) -> str:
    """The dialect of the pipeline that compiles a kernel, such as `iree_cpu`.

    >>> pipeline_dialect("#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>")
    'iree_cpu'
    """
    found = _PIPELINE.fullmatch(str(attribute))
    if found is None:
        _refuse("the pipeline of a kernel", "#iree_codegen.translation_info<pipeline = #dialect.name>", str(attribute))
    return found[1]
