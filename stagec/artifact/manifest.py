"""The manifest of an artifact, as checked values.

Nothing in a file is trusted: every field is checked here for its type, its
range, and whether it fits the others, before anything is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from passes.errors import PipelineError
from passes.fast_math import setting
from stagec.artifact import checked, trees
from stagec.artifact.container import Container, refuse
from stagec.artifact.parameters import KINDS, Parameter, check_defaults
from stagec.artifact.trees import Malformed
from stagec.backends import BACKENDS, CPU
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_text import Scope, limits
from stagec.core.dims_values import symbols as symbols_in
from stagec.core.duration import Duration
from stagec.runtime.packing import Packing
from stagec.runtime.traits import Traits

_TEXT_LIMIT = 1 << 30
_SIGNATURE = (
    *("doc", "in_tree", "out_tree", "names", "parameters", "in", "out", "weights"),
    *("used", "plan", "donated", "reuse", "results", "bounds", "sizes", "fast_math", "stablehlo", "variants"),
)
_VARIANT = (
    *("target", "machine", "features", "flags", "section"),
    *("driver", "clobbered", "packed", "may_alias", "anywhere", "branches", "duration"),
)
CPU_DRIVERS = CPU.queues
DRIVERS = tuple(queue for backend in BACKENDS.values() for queue in backend.queues)


@dataclass(frozen=True)
class Weight:
    """An array that functions of the file close over; `section` is None if the file leaves it out."""

    aval: ShapedArray
    section: int | None


@dataclass(frozen=True)
class Variant:
    """A signature compiled for one target.

    Args:
      target: as `Target.parse` reads it.
      machine: the architecture that the code is for; empty for GPUs.
      features: CPU features that it may use, in the kernel's spelling.
      flags: the compiler's flag set.
      section: the compiled module.
    """

    target: str
    machine: str
    features: frozenset[str]
    flags: str
    traits: Traits
    section: int


@dataclass(frozen=True)
class Text:
    """StableHLO, compressed, for machines that no variant is for.

    Args:
      length: bytes of the text itself.
      driver: the CPU queue for the program.
      branches: whether its control flow may differ from call to call.
      duration: how long a call may take.
    """

    section: int
    length: int
    driver: str
    branches: bool
    duration: Duration


@dataclass(frozen=True)
class Signature:
    """A function for one structure and one list of avals.

    Args:
      in_tree, out_tree: structures as JSON values, already checked.
      names: what the leaves of the arguments are called.
      parameters: those of the function, in their order.
      weights: the file's weights that lead the inputs.
      used: inputs, weights first, that the program takes.
      plan: where each result comes from: `("computed", i)`, `("input", i)` or `("constant", array)`.
      donated: positions among the leaves.
      reuse: pairs of a program's argument and the result that reuses its memory.
      results: avals of what the program computes.
      sizes: where dimensions are open, the sizes that have to be whole and not 0, and the lines that they are from.
      doc: the function's docstring; empty if it has none.
    """

    in_tree: Any
    out_tree: Any
    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    weights: tuple[int, ...]
    used: tuple[int, ...]
    plan: tuple[tuple[str, Any], ...]
    donated: tuple[int, ...]
    reuse: tuple[tuple[int, int], ...]
    results: tuple[ShapedArray, ...]
    fast_math: bool | str
    stablehlo: Text | None
    variants: tuple[Variant, ...]
    sizes: tuple[tuple[Dim, str], ...] = ()
    doc: str = ""


@dataclass(frozen=True)
class Manifest:
    """The whole manifest of a file."""

    versions: dict[str, str]
    functions: dict[str, tuple[Signature, ...]]
    weights: tuple[Weight, ...] = field(default=())


# ---------------------------------------------------------------- writing


def encode_aval(aval: ShapedArray) -> list[Any]:
    return [aval.dtype.name, [str(n) if is_open(n) else n for n in aval.shape], aval.weak_type]


def encode_constant(value: np.ndarray[Any, Any], aval: ShapedArray) -> list[Any]:
    return ["constant", encode_aval(aval), np.ascontiguousarray(value).tobytes().hex()]


def encode_parameter(parameter: Parameter) -> list[Any]:
    default = parameter.default
    rows = None
    if default is not None:
        rows = [encode_constant(value, ShapedArray.of(value.shape, value.dtype)) for value in default]
    return [parameter.name, parameter.kind, parameter.fixed, rows]


def encode_signature(signature: Signature) -> dict[str, Any]:
    """A signature as a JSON value; constants of its plan are arrays with an aval."""
    rows = [
        encode_constant(np.asarray(value), value.aval) if kind == "constant" else [kind, value]
        for kind, value in signature.plan
    ]
    text = signature.stablehlo
    return {
        "doc": signature.doc,
        "in_tree": signature.in_tree,
        "out_tree": signature.out_tree,
        "names": list(signature.names),
        "parameters": [encode_parameter(p) for p in signature.parameters],
        "in": [encode_aval(a) for a in signature.in_avals],
        "out": [encode_aval(a) for a in signature.out_avals],
        "weights": list(signature.weights),
        "used": list(signature.used),
        "plan": rows,
        "donated": list(signature.donated),
        "reuse": [list(pair) for pair in signature.reuse],
        "results": [encode_aval(a) for a in signature.results],
        "bounds": limits([a.shape for a in signature.in_avals]),
        "sizes": [[str(size), line] for size, line in signature.sizes],
        "fast_math": signature.fast_math,
        "stablehlo": None
        if text is None
        else [text.section, text.length, text.driver, text.branches, text.duration.value],
        "variants": [_encode_variant(v) for v in signature.variants],
    }


def _encode_variant(variant: Variant) -> dict[str, Any]:
    row = variant.traits.stored()
    return {
        "target": variant.target,
        "machine": variant.machine,
        "features": sorted(variant.features),
        "flags": variant.flags,
        "section": variant.section,
        "clobbered": row.pop("mutated"),
        **row,
    }


def encode(manifest: Manifest) -> dict[str, Any]:
    """The manifest as a JSON value."""
    return {
        "versions": manifest.versions,
        "functions": {name: [encode_signature(s) for s in rows] for name, rows in manifest.functions.items()},
        "weights": [[encode_aval(w.aval), w.section] for w in manifest.weights],
    }


# ---------------------------------------------------------------- reading


def read(container: Container) -> Manifest:
    """Check a file's manifest, all of it.

    Raises:
      ArtifactError: a field is missing, of another type, or does not fit the rest of the file.
    """
    try:
        return _Reader(container).manifest(container.manifest)
    except Malformed as problem:
        raise refuse(container.path, f"its manifest is not sound ({problem})") from None


class _Reader:
    """Reads one manifest; raises `Malformed` with the name of the field that is wrong."""

    def __init__(self, container: Container) -> None:
        self._sections = len(container)
        self._size = container.size
        self._weights: tuple[Weight, ...] = ()

    def manifest(self, value: Any) -> Manifest:
        versions, functions, weights = checked.fields(value, "manifest", "versions", "functions", "weights")
        if not isinstance(versions, dict) or not all(checked.is_name(n) for pair in versions.items() for n in pair):
            raise Malformed("versions")
        self._weights = tuple([self._weight(row) for row in checked.listed(weights, "weights")])
        if not isinstance(functions, dict) or not functions or not all(map(checked.is_name, functions)):
            raise Malformed("functions")
        found = {
            name: tuple([self._signature(s) for s in checked.listed(rows, "signatures")])
            for name, rows in functions.items()
        }
        if not all(found.values()):
            raise Malformed("signatures")
        return Manifest(versions, found, self._weights)

    def _weight(self, row: Any) -> Weight:
        aval_row, section = checked.listed(row, "weights", 2)
        aval = checked.aval(aval_row)
        if section is not None and self._size(self._section(section)) != aval.nbytes:
            raise Malformed("the size of a weight")
        return Weight(aval, section)

    def _section(self, value: Any) -> int:
        return checked.index(value, self._sections, "the number of a section")

    def _signature(self, value: Any) -> Signature:
        row = dict(zip(_SIGNATURE, checked.fields(value, "signature", *_SIGNATURE)))
        symbols = checked.scope(row["bounds"])
        in_avals, out_avals = checked.avals(row["in"], symbols), checked.avals(row["out"], symbols)
        computed = checked.avals(row["results"], symbols)
        hidden = checked.indices(row["weights"], len(self._weights), "weights")
        inputs = [*[self._weights[w].aval for w in hidden], *in_avals]
        taken = checked.indices(row["used"], len(inputs), "used", increasing=True)
        weights = [inputs[i] for i in taken if i < len(hidden)]
        signature = Signature(
            row["in_tree"],
            row["out_tree"],
            checked.names(row["names"], "names", len(in_avals)),
            tuple([_parameter(p) for p in checked.listed(row["parameters"], "parameters")]),
            in_avals,
            out_avals,
            hidden,
            taken,
            tuple([self._source(r, inputs, computed, aval) for r, aval in _paired(row["plan"], out_avals)]),
            checked.indices(row["donated"], len(in_avals), "donated", increasing=True),
            self._reuse(row["reuse"], [inputs[i] for i in taken], computed),
            computed,
            _fast_math(row["fast_math"]),
            self._text(row["stablehlo"]),
            tuple([self._variant(v, weights, len(taken)) for v in checked.listed(row["variants"], "variants")]),
            tuple([self._size_and_line(s, symbols) for s in checked.listed(row["sizes"], "sizes")]),
            checked.text(row["doc"], "doc"),
        )
        given = symbols_in([a.shape for a in in_avals])
        found = [a.shape for a in (*out_avals, *computed)], [size for size, _ in signature.sizes]
        if not set(symbols_in(found)) <= set(given):
            raise Malformed("a dimension that no argument has")
        _check_trees(signature)
        if len({v.target for v in signature.variants}) != len(signature.variants):
            raise Malformed("two variants for one target")
        # The program's own donations are of arguments that the caller gives up.
        if not {taken[i] - len(hidden) for i, _ in signature.reuse} <= set(signature.donated):
            raise Malformed("reuse")
        return signature

    def _size_and_line(self, row: Any, symbols: Scope) -> tuple[Dim, str]:
        text, line = checked.listed(row, "sizes", 2)
        if not checked.is_name(line):
            raise Malformed("sizes")
        return checked.size(text, symbols), line

    def _source(
        self, row: Any, inputs: list[ShapedArray], computed: tuple[ShapedArray, ...], wanted: ShapedArray
    ) -> tuple[str, Any]:
        if not isinstance(row, list) or len(row) not in (2, 3):
            raise Malformed("plan")
        if row[0] == "constant" and len(row) == 3:
            aval, value = _constant(row)
            if not _same(aval, wanted):
                raise Malformed("a constant")
            return "constant", value
        sources: Mapping[str, Any] = {"computed": computed, "input": inputs}
        if len(row) != 2 or not isinstance(row[0], str) or row[0] not in sources:
            raise Malformed("plan")
        avals = sources[row[0]]
        index = checked.index(row[1], len(avals), "plan")
        if not _same(avals[index], wanted):
            raise Malformed("plan")
        return row[0], index

    def _reuse(
        self, value: Any, taken: list[ShapedArray], computed: tuple[ShapedArray, ...]
    ) -> tuple[tuple[int, int], ...]:
        pairs = []
        for row in checked.listed(value, "reuse"):
            first, second = checked.listed(row, "reuse", 2)
            pair = checked.index(first, len(taken), "reuse"), checked.index(second, len(computed), "reuse")
            if not _same(taken[pair[0]], computed[pair[1]]):
                raise Malformed("reuse")
            pairs.append(pair)
        if len({i for i, _ in pairs}) != len(pairs) or len({j for _, j in pairs}) != len(pairs):
            raise Malformed("reuse")
        return tuple(pairs)

    def _text(self, value: Any) -> Text | None:
        if value is None:
            return None
        section, length, driver, branches, duration = checked.listed(value, "stablehlo", 5)
        if driver not in CPU_DRIVERS:
            raise Malformed("stablehlo")
        return Text(
            self._section(section),
            checked.index(length, _TEXT_LIMIT, "stablehlo"),
            driver,
            checked.boolean(branches, "stablehlo"),
            checked.duration(duration, "stablehlo"),
        )

    def _variant(self, value: Any, weights: list[ShapedArray], arguments: int) -> Variant:
        target, machine, features, flags, section, driver, mutated, packed, *rest = checked.fields(
            value, "variant", *_VARIANT
        )
        may_alias, anywhere, branches, duration = rest
        if (
            not all(checked.is_name(text) for text in (target, driver, flags))
            or driver not in DRIVERS
            or not (machine == "" or checked.is_name(machine))
        ):
            raise Malformed("variant")
        return Variant(
            target,
            machine,
            frozenset(checked.names(features, "features")),
            flags,
            Traits(
                driver,
                checked.indices(mutated, arguments, "clobbered", increasing=True),
                tuple([_packing(row, weights) for row in checked.listed(packed, "packed")]),
                checked.boolean(may_alias, "may_alias"),
                checked.boolean(anywhere, "anywhere"),
                checked.boolean(branches, "branches"),
                checked.duration(duration, "duration"),
            ),
            self._section(section),
        )


def _packing(row: Any, weights: list[ShapedArray]) -> Packing:
    argument, element, shape, strides, width, group, lines, size = checked.fields(row, "packed", *Packing._fields)
    numbers = [checked.integers(found, "packed") for found in (shape, strides, [width, group, size])]
    if not isinstance(element, str) or any(max(found, default=0) > checked.BYTES_LIMIT for found in numbers):
        raise Malformed("packed")
    weight = weights[checked.index(argument, len(weights), "packed")]
    checked.boolean(lines, "packed")
    found = Packing.parse(row)
    if not found.fits(weight):
        raise Malformed("packed")
    return found


def _fast_math(value: Any) -> bool | str:
    try:
        if isinstance(value, (bool, str)) and setting(value) == value:
            return value
    except PipelineError:
        pass
    raise Malformed("fast_math")


def _constant(row: Any) -> tuple[ShapedArray, np.ndarray[Any, Any]]:
    word, aval_row, text = checked.listed(row, "a constant", 3)
    aval = checked.aval(aval_row)
    if word != "constant" or not isinstance(text, str) or len(text) != 2 * aval.nbytes:
        raise Malformed("a constant")
    try:
        return aval, np.ndarray(aval.shape, aval.dtype, bytes.fromhex(text)).copy()
    except (ValueError, TypeError):
        raise Malformed("a constant") from None


def _parameter(row: Any) -> Parameter:
    name, kind, fixed, default = checked.listed(row, "a parameter", 4)
    if not checked.is_name(name) or not isinstance(kind, str) or kind not in KINDS:
        raise Malformed("a parameter")
    if fixed is not None and (not checked.is_name(fixed) or default is not None):
        raise Malformed("a parameter")
    values = None if default is None else tuple([_constant(v)[1] for v in checked.listed(default, "a default")])
    return Parameter(name, kind, fixed, values)


def _check_trees(signature: Signature) -> None:
    for value, leaves, what in (
        (signature.in_tree, len(signature.in_avals), "in_tree"),
        (signature.out_tree, len(signature.plan), "out_tree"),
    ):
        try:
            tree = trees.decode(value)
        except trees.ClassMissing:
            continue  # said when the function is asked for
        if tree.num_leaves != leaves:
            raise Malformed(what)
        if what == "in_tree":
            kinds = [child._type for child in tree._children]
            if tree._type is not tuple or kinds != [list, dict]:
                raise Malformed(what)
            if not all(isinstance(name, str) for name in tree._children[1]._data):
                raise Malformed(what)
            check_defaults(signature.parameters, tree, signature.in_avals)


def _same(a: ShapedArray, b: ShapedArray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype


def _paired(value: Any, avals: tuple[ShapedArray, ...]) -> list[tuple[Any, ShapedArray]]:
    return list(zip(checked.listed(value, "plan", len(avals)), avals))
